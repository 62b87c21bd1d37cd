// Method `trws`: sequential tree-reweighted message passing (Kolmogorov 2006).
#pragma once

#include "icm.hpp"
#include "relaxation.hpp"
#include "task.hpp"

namespace neuralfactors {

// No label of a node can be in a labelling that scores above bound - reduced cost; 0 where nothing is known.
template <class T>
void fill_reduced_costs(Task<T>& task, Relaxation<T>& relaxation) {
  const Model& m = task.work.model;
  const double bound = task.out.bound;
  task.out.bound = relaxation.certified();
  const double slack = task.survey.rounding() + std::max(task.out.bound - bound, 0.0);
  relaxation.sweep(false, true);
  task.out.bound = bound;
  task.out.reduced_costs.assign(static_cast<std::size_t>(m.n_nodes) * m.n_labels, 0);
  for (int p = 0; p < m.n_nodes; ++p)
    for (int a = 0; a < m.n_labels; ++a)
      task.out.reduced_costs[static_cast<std::size_t>(m.node[p]) * m.n_labels + a] =
          std::max(0.0, -m.unit * relaxation.belief[static_cast<std::size_t>(p) * m.stride + a] - slack);
}

template <class T>
void solve_trws(Task<T>& task) {
  const int budget = task.options.max_iterations ? task.options.max_iterations : 1000;
  Relaxation<T> relaxation(task, build_model(task));
  int stalled = 0;
  for (int k = 0; k < budget && !task.closed() && stalled < 5; ++k) {
    const double before = task.gap();
    relaxation.sweep(true);
    relaxation.sweep(false);
    task.out.iterations = k + 1;
    stalled = task.gap() > 0.9999 * before ? stalled + 1 : 0;
  }
  polish_by_icm(task);
  task.out.bound = relaxation.certified();
  if (task.options.reduced_costs) fill_reduced_costs(task, relaxation);
}

}  // namespace neuralfactors
