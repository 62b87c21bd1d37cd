// Labellings that `auto` takes from the other methods where the bound no longer helps.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "expansion/alpha_expansion.hpp"
#include "messages/bp.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "search/belief_search.hpp"
#include "search/icm.hpp"
#include "search/max_product_run.hpp"
#include "task.hpp"

namespace neuralfactors {

// Single-node moves from the best labels of the rows: where tables are strong, as good a start as any.
template <class T>
void offer_icm(Task<T>& task) {
  std::vector<int> labels;
  argmax_rows(task.problem, labels);
  improve_by_icm(task.problem, labels, 100, task.interrupt);
  task.offer(labels);
}

// Expansion moves reach labellings that differ from the incumbent over large regions.
template <class T>
void offer_expansions(Task<T>& task) {
  constexpr int kSweeps = 3;
  if (!AlphaExpansion::suits(task.problem)) return;
  std::vector<int> labels = task.out.labels;
  task.work.expansion.run(task.problem, labels, kSweeps, task.interrupt, task.deadline);
  task.offer(labels);
}

// The relaxation is far from tight: max-product may know better. It may go on in vain for as long as `effort`: with a
// quarter of that, `bp` alone has better labellings of 16 of 32 frustrated problems in the same time, and now of 4.
template <class T>
void search_by_max_product(Task<T>& task, Model& model, BeliefSearch<T>& search, MaxProductRun<T>& run, double effort) {
  constexpr int kIterations = 16, kWarmUp = 3;
  constexpr int kPatience = 48;  // iterations until the first improvement, where nothing is known
  constexpr double kMost = 1e6;  // where sweeps cost next to nothing
  constexpr float kReinforcement = 0.03f;
  const double patience = std::min(effort / (2 * model.sweep_cost()), kMost);
  run.iterate(std::numeric_limits<int>::max(), kBpPatience + static_cast<int>(patience));
  search.improve_nodes(model);
  std::vector<float> belief;
  {
    const KeptMessages kept(model);
    Relaxation<T> max_product(task, model, false);
    max_product.start_max_product();
    bool helps = false;
    for (int k = 0; k < (helps ? kIterations : kPatience) && !task.out_of_time(); ++k) {
      helps |= max_product.max_product_sweep(kDamping, true);
      if (k >= kWarmUp) max_product.reinforce(kReinforcement);
      max_product.max_product_sweep(kDamping);
      ++task.out.iterations;
    }
    if (!helps) return;
    belief = std::move(max_product.belief);
  }
  search.improve(model, belief, kLooseCandidatesPerNode);
}

}  // namespace neuralfactors
