// Method `exhaustive`: every labelling is tried. Slow, obvious, never optimised: the oracle of the tests.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "core/task.hpp"

namespace neuralfactors {

// Of `problem`, in which forbidden entries are -inf.
template <class T>
void solve_exhaustive(Task<T>& task, const Problem<T>& problem) {
  const int n = problem.graph->n_nodes, n_labels = problem.n_labels;
  std::vector<int> labels(n, 0);
  task.out.labels = labels;
  task.out.score = problem.score(labels.data());
  for (long count = 0;; ++count) {
    if (count % 4096 == 0) task.interrupt.check();
    const double score = problem.score(labels.data());
    if (score > task.out.score) {
      task.out.score = score;
      task.out.labels = labels;
    }
    int i = n - 1;
    while (i >= 0 && ++labels[i] == n_labels) labels[i--] = 0;
    if (i < 0) break;
  }
  task.settle();
}

}  // namespace neuralfactors
