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
#include "task.hpp"

namespace neuralfactors {

// One part in kInVain of the effort so far, or of a little effort that nobody notices (some milliseconds), may bring
// nothing before a search for labellings ends. Half of that, and max-product alone beats `auto` on small problems.
constexpr double kInVain = 4, kLittle = 1e8;

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

// The relaxation is far from tight: max-product may know better.
template <class T>
void search_by_max_product(Task<T>& task, Model& model, BeliefSearch<T>& search) {
  constexpr int kIterations = 16, kWarmUp = 3;
  constexpr int kPatience = 48;  // iterations until the first improvement, where nothing is known
  constexpr float kReinforcement = 0.03f;
  std::vector<float> belief;
  {
    const KeptMessages kept(model);
    Relaxation<T> max_product(task, model, false);
    const double patience = std::max(task.effort, kLittle) / kInVain / (2 * model.sweep_cost());
    iterate_bp(task, max_product, std::numeric_limits<int>::max(), kBpPatience + static_cast<int>(patience));
    search.improve_nodes(model);
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
