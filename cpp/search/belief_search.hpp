// Search among the labels that beliefs speak for: by elimination over the best of them, and over all that a better
// labelling could have, which is a proof.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"
#include "search/bucket_elimination.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "search/elimination_order.hpp"
#include "search/local_search.hpp"
#include "search/proof.hpp"
#include "task.hpp"

namespace neuralfactors {

constexpr double kCandidatesPerNode = 0.4, kLooseCandidatesPerNode = 0.6;

template <class T>
class BeliefSearch {
 public:
  CandidateChooser chooser;

  BeliefSearch(Task<T>& task, Model& model, Random& random) : task_(task), model_(model), random_(random) {}

  bool settled() const { return settled_; }  // the bound stands as it is
  double rate() const { return rate_; }      // by how much the last search closed the gap, an effort
  bool is_coarse() const { return task_.options.is_coarse(); }

  bool done() { return task_.out_of_time() || (is_coarse() ? task_.closed() : task_.optimal()); }

  // Single-node moves from the incumbent, in float32, unless that is what the last ones have led to.
  void improve_nodes(const Model& model) {
    const bool all = &model == &model_;
    if (all && task_.out.score == still_) return;
    LocalSearch& local_search = task_.work.local_search;
    task_.incumbent(model, task_.work.by_position);
    local_search.start(model, task_.work.by_position);
    if (local_search.icm(100) > 0) task_.offer(model, local_search.labels);
    task_.effort += 2 * model.sweep_cost();
    if (all) still_ = task_.out.score;
  }

  // Eliminations in a row over the labels of highest belief, while they bring better labellings.
  void improve(const Model& model, const std::vector<float>& belief, double per_node) {
    const double gap = task_.gap();
    improve_nodes(model);
    for (int k = 0; k < kAttempts && !task_.out_of_time(); ++k) {
      choose_candidates(model, belief, gap, per_node);
      eliminate(model);
      if (!task_.offer(model, task_.work.by_position)) break;
    }
  }

  // The proof where few labels are left; costs next to nothing where they are many.
  bool prove_if_few(const std::vector<float>& belief, double bound) {
    improve_nodes(model_);
    return choose_candidates(model_, belief, bound - task_.out.score + 2 * model_.rounding, 0) && prove_optimal();
  }

  // Exact search over the labels that a better labelling could have, or over the best of them, for about as long as the
  // relaxation has taken; returns whether the incumbent is proved optimal.
  bool search(const std::vector<float>& belief, double bound) {
    improve_nodes(model_);
    const double score = task_.out.score, before = searched_;
    bool proved = false;
    for (int attempt = 0; attempt < kAttempts && (attempt == 0 || 2 * searched_ < task_.effort); ++attempt) {
      const double gap = bound - task_.out.score + 2 * model_.rounding;
      proved = choose_candidates(model_, belief, gap, 0) && prove_optimal();
      if (proved) break;
      choose_candidates(model_, belief, gap, kCandidatesPerNode);
      eliminate(model_);
      if (!task_.offer(model_, task_.work.by_position)) break;
    }
    rate_ = (task_.out.score - score) / std::max(searched_ - before, 1.0);
    return proved;
  }

 private:
  static constexpr double kMaxTable = 4000;        // entries of one elimination
  static constexpr double kEliminationCost = 100;  // of an entry of elimination, beside one of a sweep (measured)
  static constexpr double kPlanningCost = 6000;    // of a node that is eliminated, beside the same
  static constexpr double kProofCost = 600;        // as kEliminationCost, in double precision
  static constexpr int kAttempts = 4;              // eliminations in a row, each from the labelling of the last one
  static constexpr int kMaxPerNode = 8;            // candidates of one node

  Task<T>& task_;
  Model& model_;
  Random& random_;
  double searched_ = 0;                                      // effort spent on eliminations
  double still_ = -std::numeric_limits<double>::infinity();  // of the labelling that single nodes cannot better
  double rate_ = std::numeric_limits<double>::infinity();
  bool settled_ = false;

  // The candidates are all labels that a better labelling could have. If the best of them can be found, the incumbent
  // is proved optimal: in double precision, unless the tolerance makes that a waste.
  bool prove_optimal() {
    const double max_total = std::min(task_.effort / kProofCost, kEntries);
    if (!is_coarse()) return settled_ = search_candidates(task_, model_, max_total);
    Elimination<ModelScores>& elimination = task_.work.elimination;
    settled_ = elimination.solve(ModelScores{model_}, task_.work.candidates, task_.work.by_position, max_total);
    if (!settled_) return false;
    task_.offer(model_, task_.work.by_position);
    task_.tighten(task_.out.score + model_.rounding);
    return true;
  }

  // May take about as long as everything before it.
  void eliminate(const Model& model) {
    Elimination<ModelScores>& elimination = task_.work.elimination;
    const double max_total = std::min(task_.effort / kEliminationCost, kEntries);
    elimination.improve(ModelScores{model}, task_.work.candidates, task_.work.by_position, Route::greedy, kMaxTable,
                        max_total, random_);
    const double spent = kEliminationCost * elimination.total() + kPlanningCost * elimination.n_variables();
    task_.effort += spent;
    searched_ += spent;
  }

  // Candidates from the incumbent and the beliefs above -threshold; returns whether none had to be left out.
  bool choose_candidates(const Model& model, const std::vector<float>& belief, double threshold, double per_node) {
    task_.incumbent(model, task_.work.by_position);
    const float floor = static_cast<float>(-threshold / model.unit);
    const CandidateChooser::Limits limits{per_node > 0 ? per_node : kProofPerNode, per_node, kMaxPerNode};
    return chooser.choose(model, belief, task_.work.by_position, floor, limits, task_.work.candidates);
  }
};

}  // namespace neuralfactors
