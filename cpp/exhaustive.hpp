// Method `exhaustive`: every labelling is tried. Slow, obvious, never optimised: the oracle of the tests.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "problem.hpp"
#include "task.hpp"

namespace neuralfactors {

constexpr double kMaxLabellings = 1e8;

inline bool can_exhaust(int n_nodes, int n_labels) { return std::pow(n_labels, n_nodes) <= kMaxLabellings; }

template <class T>
void solve_exhaustive(Task<T>& task) {
  const int n = task.problem.graph->n_nodes, n_labels = task.problem.n_labels;
  std::vector<int> labels(n, 0);
  for (long count = 0;; ++count) {
    if (count % 4096 == 0) task.interrupt.check();
    task.offer(labels);
    int i = n - 1;
    while (i >= 0 && ++labels[i] == n_labels) labels[i--] = 0;
    if (i < 0) break;
  }
  task.out.bound = task.out.score;
}

}  // namespace neuralfactors
