// Method `auto` on general graphs: relaxation and exact search in turn.
//
// TRW-S gives a bound and, for every label of every node, a belief: how much the bound would fall with that label.
// Where the bound is nearly tight, few labels have a belief above score - bound, and only these can be part of a better
// labelling. Eliminating variables over them therefore proves the optimum; over the best of them, when they are too
// many, it gives a labelling that is far better than rounding. Most sweeps run on the most promising labels of each
// node alone. Where the bound is loose (strong, frustrated tables) the beliefs of max-product are used instead, and
// forests of nodes are re-optimised in turn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "bp.hpp"
#include "candidates.hpp"
#include "forest.hpp"
#include "proof.hpp"
#include "random.hpp"
#include "relaxation.hpp"
#include "task.hpp"
#include "trws.hpp"

namespace neuralfactors {

template <class T>
class AutoSearch {
 public:
  explicit AutoSearch(Task<T>& task)
      : task_(task), model_(task.work.model), relaxation_(task, build_model(task)), random_(task.options.seed) {}

  void run() {
    const bool patient = task_.options.max_iterations > 0;  // a budget that is given is spent
    const int budget = patient ? task_.options.max_iterations : kIterations;
    iterate(relaxation_, std::min(kFirstIterations, budget));
    if (task_.clip()) {
      relaxation_.restart();
      iterate(relaxation_, std::min(kFirstIterations, budget));
    }
    if (is_coarse() && is_restrictable() && !is_loose(kVeryLoose))
      search_restricted();  // a bound that satisfies comes long before a labelling that is nearly as good as can be
    else if (!is_loose(kVeryLoose) && !is_wide())
      iterate(relaxation_, std::min(kSecondIterations, budget - task_.out.iterations));
    double gap_before = std::numeric_limits<double>::infinity();
    while (!satisfied() && !search(relaxation_, model_, is_restrictable())) {
      if (task_.closed()) break;
      const double hoped_for = (is_loose(kNear) ? kWorthIt : kWorthItNear) * gap_before;
      const bool promising = (patient || task_.gap() < hoped_for) && !is_loose(kVeryLoose);
      gap_before = task_.gap();
      if (task_.out.iterations >= budget || !promising) {
        if (is_loose(kLoose)) search_by_max_product();
        break;
      }
      const bool restricted = is_restrictable() && is_loose(kNear);
      if (restricted) search_restricted();
      if (is_coarse() && task_.closed()) break;
      iterate(relaxation_, restricted ? 1 : is_restrictable() ? kMoreOfMany : kMoreOfFew);
    }
    if (!task_.closed() && is_loose(kExpand)) expand_labels();
    certify();
  }

 private:
  static constexpr int kFirstIterations = 3, kSecondIterations = 2, kIterations = 60;
  static constexpr double kCoarse = 2.5e-3;  // a tolerance beside which float32's errors are nothing: it takes no proof
  static constexpr int kMoreOfMany = 2, kMoreOfFew = 6;         // further iterations with many labels and with few
  static constexpr double kWorthIt = 0.3, kWorthItNear = 0.85;  // a round must bring the gap down to this part of it
  static constexpr int kRestricted = 8;                         // labels of a node in the restricted model
  static constexpr int kWide = 24;  // with more labels a restricted sweep costs next to nothing beside a full one
  static constexpr int kRestrictedIterations = 6, kRestrictedIterationsWide = 12;
  static constexpr double kMaxTable = 4000;                   // entries of one elimination
  static constexpr double kNear = 2.5e-3;                     // a gap, relative to the regret, that may well be closed
  static constexpr double kLoose = 0.03, kVeryLoose = 0.125;  // gaps at which beliefs say little, or nothing
  static constexpr double kExpand = 0.0125;                   // a gap at which expansion moves may still find something
  static constexpr int kExpansionSweeps = 3;
  static constexpr int kAttempts = 4;    // eliminations in a row, each from the labelling of the last one
  static constexpr int kMaxPerNode = 8;  // candidates of one node
  static constexpr double kCandidatesPerNode = 0.4, kLooseCandidatesPerNode = 0.6;
  static constexpr int kMaxProductIterations = 16, kWarmUp = 3;
  static constexpr int kMaxProductPatience = 48;  // iterations until the first improvement, where nothing is known
  static constexpr int kPatience = 5;             // forests in a row that bring nothing
  static constexpr float kReinforcement = 0.03f;

  Task<T>& task_;
  Model& model_;
  Relaxation<T> relaxation_;
  Random random_;
  bool settled_ = false;  // the bound stands as it is
  CandidateChooser chooser_;

  bool is_loose(double limit) const { return task_.gap() > limit * task_.regret(); }
  bool is_restrictable() const { return model_.n_labels > kRestricted; }
  bool satisfied() { return is_coarse() ? task_.closed() : task_.optimal(); }
  bool is_coarse() const { return task_.options.tolerance > kCoarse; }
  bool is_wide() const { return model_.n_labels > kWide; }

  // n forward sweeps with the backward ones before and between them; the last two round, the last keeps its beliefs.
  void iterate(Relaxation<T>& relaxation, int n) {
    for (int k = n - 1; k >= 0; --k) {
      if (!relaxation.next_is_forward()) relaxation.sweep(false);
      relaxation.sweep(k < 2, k == 0);
      ++task_.out.iterations;
    }
  }

  // Exact search over the labels that a better labelling could have; returns whether the incumbent is proved optimal.
  // With `only_proof` nothing is done unless all of these labels can be taken.
  bool search(const Relaxation<T>& relaxation, const Model& model, bool only_proof) {
    improve_nodes(model);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const double gap = relaxation.bound_of_belief() - task_.out.score;
      const bool complete =
          choose_candidates(relaxation.belief, model, gap + 2 * model.rounding, only_proof ? 0 : kCandidatesPerNode);
      if (only_proof && !complete) return false;
      const int frozen = eliminate(model, complete ? kProofTable : kMaxTable);
      const bool improved = task_.offer(model, task_.work.by_position);
      if (complete && frozen == 0 && model.label_of.empty()) return settle();
      if (!improved) break;
    }
    return false;
  }

  // The incumbent is the best among its candidates, and nothing else can be better, but for the rounding of float32:
  // that will do, or else the same is done in double precision.
  bool settle() {
    if (is_coarse()) task_.tighten(task_.out.score + model_.rounding);
    settled_ = is_coarse() || search_candidates(task_, model_);
    return settled_;
  }

  // The bound in double precision, and the proof where the rounding of float32 was in its way.
  void certify() {
    const bool wanted = task_.options.reduced_costs;
    if ((settled_ || is_coarse()) && !wanted) return;
    const bool in_reach = !settled_ && task_.gap() < 4 * model_.rounding;
    const Certificate certificate = relaxation_.certificate(in_reach || wanted);
    if (!settled_ && !is_coarse()) task_.out.bound = task_.survey.top;  // in place of the bounds in float32
    task_.tighten(certificate.bound);
    if (in_reach) prove(task_, model_, certificate);
    if (wanted) fill_reduced_costs(task_, model_, certificate);
  }

  // Single-node moves from the incumbent, in float32 and on the labels of the model.
  void improve_nodes(const Model& model) {
    LocalSearch& local_search = task_.work.local_search;
    task_.incumbent(model, task_.work.by_position);
    local_search.start(model, task_.work.by_position);
    if (local_search.icm(100) > 0) task_.offer(model, local_search.labels);
  }

  // Tables are smaller in large problems, so that all of them together stay within bounds.
  int eliminate(const Model& model, double max_table = kMaxTable) {
    max_table = std::min(max_table, kEntries / std::max(model.n_nodes, 1));
    return task_.work.elimination.improve(ModelScores{model}, task_.work.candidates, task_.work.by_position, max_table,
                                          random_);
  }

  // Candidates from the incumbent and the beliefs above -threshold; returns whether none had to be left out.
  bool choose_candidates(const std::vector<float>& belief, const Model& m, double threshold, double per_node) {
    task_.incumbent(m, task_.work.by_position);
    const float floor = static_cast<float>(-threshold / m.unit);
    const CandidateChooser::Limits limits{kProofPerNode, per_node, kMaxPerNode};
    return chooser_.choose(m, belief, task_.work.by_position, floor, limits, task_.work.candidates);
  }

  // The same with the best labels of each node only: a fraction of the work, and no bound.
  void search_restricted() {
    Model& small = task_.work.restricted;
    task_.incumbent(model_, task_.work.by_position);
    small.restrict_to(model_, kRestricted,
                      best_labels(model_, relaxation_.belief, task_.work.by_position, kRestricted));
    Relaxation<T> relaxation(task_, small);
    iterate(relaxation, is_wide() ? kRestrictedIterationsWide : kRestrictedIterations);
    search(relaxation, small, false);
    small.return_messages(model_);
  }

  // The relaxation is far from tight: max-product may know better. Returns false, everything as it was, if it does not;
  // else searches from its best labelling.
  bool search_by_max_product() {
    const std::vector<float> unary = model_.unary, weight = model_.weight;
    const std::vector<float> to_earlier = model_.to_earlier, to_later = model_.to_later;
    const double bound = relaxation_.certificate(false).bound;
    Relaxation<T> max_product(task_, model_);
    max_product.start_max_product();
    bool helps = false;
    for (int k = 0; k < (helps ? kMaxProductIterations : kMaxProductPatience); ++k) {
      helps |= max_product.max_product_sweep(kDamping, true);
      if (k >= kWarmUp) max_product.reinforce(kReinforcement);
      if (k == kWarmUp && !helps && !is_loose(kVeryLoose)) break;
      max_product.max_product_sweep(kDamping);
      ++task_.out.iterations;
    }
    model_.unary = unary;
    if (helps) search_beliefs(max_product.belief);
    model_.weight = weight;
    model_.to_earlier = to_earlier;
    model_.to_later = to_later;
    if (helps) {
      task_.out.bound = bound;
      settled_ = true;
    }
    return helps;
  }

  void search_beliefs(const std::vector<float>& belief) {
    improve_nodes(model_);
    for (int k = 0; k < kAttempts; ++k) {
      choose_candidates(belief, model_, task_.gap(), kLooseCandidatesPerNode);
      eliminate(model_);
      if (!task_.offer(model_, task_.work.by_position)) break;
    }
    improve_forests();
  }

  // Expansion moves reach labellings that differ from the incumbent over large regions.
  void expand_labels() {
    std::vector<int> labels = task_.out.labels;
    task_.work.expansion.run(task_.problem, labels, kExpansionSweeps, task_.interrupt);
    task_.offer(labels);
  }

  void improve_forests() {
    LocalSearch& search = task_.work.local_search;
    task_.incumbent(model_, task_.work.by_position);
    search.start(model_, task_.work.by_position);
    ForestBuilder builder;
    Forest forest;
    for (int moves = 0, failures = 0; moves < 200 && failures < kPatience; ++moves) {
      task_.interrupt.check();
      builder.build(model_, random_, forest);
      failures = search.optimise(forest) ? 0 : failures + 1;
    }
    task_.offer(model_, search.labels);
  }
};

}  // namespace neuralfactors
