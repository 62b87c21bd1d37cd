// Method `trws`: sequential tree-reweighted message passing (Kolmogorov 2006).
#pragma once

#include <algorithm>

#include "messages/certificate.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "search/icm.hpp"
#include "search/proof.hpp"
#include "task.hpp"

namespace neuralfactors {

// The costs of a certificate of a whole model, in terms of the bound that is returned, which may be lower than the
// certificate's.
template <class T>
void fill_reduced_costs(Task<T>& task, const Model& m, const Certificate& certificate) {
  const double slack = certificate.bound - task.out.bound;
  task.out.reduced_costs.assign(task.problem.row_at(task.problem.graph->n_nodes), 0);
  for (int p = 0; p < m.n_nodes; ++p) {
    double* costs = task.out.reduced_costs.data() + task.problem.row_at(m.node[p]);
    for (int a = 0; a < m.count[p]; ++a) costs[a] = std::max(0.0, certificate.cost[m.begin[p] + a] - slack);
  }
}

// Iterations until the gap is closed, stalls or the budget is spent.
template <class T>
void iterate_trws(Task<T>& task, Relaxation<T>& relaxation, int budget) {
  for (int stalled = 0; task.out.iterations < budget && !task.closed() && stalled < 5; ++task.out.iterations) {
    if (task.out_of_time()) break;
    const double before = task.gap();
    relaxation.sweep(true);
    relaxation.sweep(false);
    stalled = task.gap() > 0.9999 * before ? stalled + 1 : 0;
  }
}

template <class T>
void solve_trws(Task<T>& task) {
  constexpr int kFirst = 3;  // iterations after which the labelling tells large penalties from scores
  const int budget = task.budget(1000);
  Relaxation<T> relaxation(task, build_model(task));
  iterate_trws(task, relaxation, std::min(kFirst, budget));
  if (task.clip()) relaxation.restart();
  iterate_trws(task, relaxation, budget);
  polish_by_icm(task);
  task.out.bound = task.statistics.top;  // in place of the bounds in float32
  const Certificate certificate = relaxation.certificate(true);
  prove(task, relaxation.model(), certificate);
  if (task.options.reduced_costs) fill_reduced_costs(task, relaxation.model(), certificate);
}

}  // namespace neuralfactors
