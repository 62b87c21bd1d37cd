// Method `icm`: iterated conditional modes, in double precision: each node in turn takes its best label given its
// neighbours.
#pragma once

#include <algorithm>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"
#include "task.hpp"

namespace neuralfactors {

// Best label of every row by itself; the first of equals.
template <class T>
void argmax_rows(const Problem<T>& p, std::vector<int>& labels) {
  labels.resize(p.graph->n_nodes);
  for (int i = 0; i < p.graph->n_nodes; ++i)
    labels[i] = static_cast<int>(std::max_element(p.row(i), p.row(i) + p.count(i)) - p.row(i));
}

// Sweeps of single-node moves until none helps; returns the number of sweeps.
template <class T>
int improve_by_icm(const Problem<T>& p, std::vector<int>& labels, int max_sweeps, Interrupt& interrupt) {
  std::vector<double> score(p.n_labels);
  bool changed = true;
  int sweep = 0;
  for (; sweep < max_sweeps && changed; ++sweep) {
    interrupt.check();
    changed = false;
    for (int i = 0; i < p.graph->n_nodes; ++i) {
      const int n_labels = p.count(i);
      const T* row = p.row(i);
      for (int a = 0; a < n_labels; ++a) score[a] = row[a];
      for (int k = p.graph->begin[i]; k < p.graph->begin[i + 1]; ++k) {
        const Graph::Arc& arc = p.graph->arcs[k];
        p.slice(arc, labels[arc.node]).add_to(score.data(), n_labels);
      }
      const int best = static_cast<int>(std::max_element(score.begin(), score.begin() + n_labels) - score.begin());
      if (!(score[best] > score[labels[i]])) continue;
      labels[i] = best;
      changed = true;
    }
  }
  return sweep;
}

// The incumbent, improved by single-node moves, or the best labels of the rows where there is none yet.
template <class T>
int polish_by_icm(Task<T>& task, int max_sweeps = 100) {
  std::vector<int> labels = task.out.labels;
  if (labels.empty()) argmax_rows(task.problem, labels);
  const int sweeps = improve_by_icm(task.problem, labels, max_sweeps, task.interrupt);
  task.offer(labels);
  return sweeps;
}

template <class T>
void solve_icm(Task<T>& task) {
  task.out.iterations = polish_by_icm(task, task.budget(100));
}

}  // namespace neuralfactors
