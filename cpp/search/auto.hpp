// Method `auto` on general graphs: relaxation and exact search in turn.
//
// TRW-S gives a bound and, for every label of every node, a belief: how much the bound would fall with that label.
// Labels whose belief lies below score - bound cannot be part of a better labelling and leave the model, so that sweeps
// become cheaper as the bound improves. What is left is searched by eliminating variables: over all of these labels it
// proves the optimum; over the best of them, when they are too many, it gives a labelling that is far better than
// rounding. The iterations are doubled for as long as that brings a better labelling or closes the gap fast; where it
// does not, the relaxation is not tight, and only the search for labellings goes on: by max-product, by expansion moves
// and in large neighbourhoods.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "expansion/alpha_expansion.hpp"
#include "messages/bp.hpp"
#include "messages/certificate.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "messages/triplets.hpp"
#include "messages/trws.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "search/local_search.hpp"
#include "search/neighbourhoods.hpp"
#include "search/proof.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class AutoSearch {
 public:
  explicit AutoSearch(Task<T>& task)
      : task_(task), model_(task.work.model), relaxation_(task, build_model(task)), random_(task.options.seed) {}

  void run() {
    relax(kFirst);
    if (task_.clip()) {
      relaxation_.restart();
      now_ = {};
      relax(kFirst);
    }
    const bool hasty = is_wide() || (has_many_labels() && is_coarse());
    if (!hasty) relax(kSecond);
    // With a coarse tolerance a bound that satisfies comes long before a labelling that is nearly as good as can be.
    const bool proved = !is_coarse() && prove_if_few();
    if (!proved && (has_many_labels() || !done()) && !warm_up()) close_gap();
    if (!done()) search_further();
    if (task_.deadline.limited()) go_on();
    certify();
  }

 private:
  // Iterations before the labelling tells large penalties from scores, and before it is worth looking at.
  static constexpr int kFirst = 3, kSecond = 2;
  // With many more labels than kFew, kWarmUp iterations on the kFew best of them come first. With more than kWide, an
  // iteration on all of them costs so much more that kSecond is left to these.
  static constexpr int kFew = 8, kWide = 24, kWarmUp = 6;
  // Halvings of the gap by twice the iterations: so many that they are worth as much time as was spent so far; so few
  // that the relaxation is not tight if kLoose of the regret is still open; so few that it has ended. Measured after
  // five iterations: 0.6 to 5 on learned, protein, segmentation and stereo problems; 0.1 to 0.5 on random tables; below
  // 0.08 on frustrated grids, object detection and constraint problems.
  static constexpr double kWorthwhile = 4, kStalled = 0.1, kEnded = 0.05;
  static constexpr double kLoose = 0.0125;
  // One part in kInVain of the effort so far, or of a little effort that nobody notices (some milliseconds), may bring
  // nothing before a search for labellings ends. Half of that, and max-product alone beats `auto` on small problems.
  static constexpr double kInVain = 4, kLittle = 1e8;
  static constexpr double kLeastGain = 1e-4;  // of the gap, by twice the iterations, for which to go on
  static constexpr double kCoarse = 2.5e-3;  // a tolerance beside which float32's errors are nothing: it takes no proof
  static constexpr double kMaxTable = 4000;  // entries of one elimination
  static constexpr double kProofCost = 600;  // as kEliminationCost, in double precision
  static constexpr int kExpansionSweeps = 3;
  static constexpr int kTripletSweeps = 20;   // before more triplets are added
  static constexpr int kTightening = 2;       // times the effort on triplets goes into the search for labellings
  static constexpr double kTripletCost = 50;  // as kEliminationCost (17 to 145 measured)
  static constexpr int kAttempts = 4;         // eliminations in a row, each from the labelling of the last one
  static constexpr int kMaxPerNode = 8;       // candidates of one node
  static constexpr double kCandidatesPerNode = 0.4, kLooseCandidatesPerNode = 0.6;
  static constexpr int kMaxProductIterations = 16, kMaxProductWarmUp = 3;
  static constexpr int kMaxProductPatience = 48;  // iterations until the first improvement, where nothing is known
  static constexpr float kReinforcement = 0.03f;

  Task<T>& task_;
  Model& model_;
  Relaxation<T> relaxation_;
  Random random_;
  struct Progress {
    int iterations = 0;
    double bound = std::numeric_limits<double>::infinity();
  };
  Progress before_, now_;                                         // of the relaxation, at its last two stops
  double searched_ = 0;                                           // effort spent on eliminations
  double search_rate_ = std::numeric_limits<double>::infinity();  // by how much the last ones closed the gap, an effort
  int rounds_ = 0;                                                // of close_gap
  double gain_ = 0;                                               // of the score in the last one, a part of the gap
  double tight_ = std::numeric_limits<double>::infinity();        // bound over triplets
  std::vector<float> belief_;
  bool settled_ = false;  // the bound stands as it is
  CandidateChooser chooser_;

  bool is_loose() const { return task_.gap() > kLoose * task_.regret(); }
  bool has_many_labels() const { return task_.problem.n_labels > 2 * kFew; }
  bool is_wide() const { return task_.problem.n_labels > kWide; }
  bool is_coarse() const { return task_.options.tolerance > kCoarse; }
  bool done() { return task_.out_of_time() || (is_coarse() ? task_.closed() : task_.optimal()); }

  // Where the bound no longer helps, the other methods' ways to good labellings, then effort on the bound and on large
  // neighbourhoods in equal parts.
  void search_further() {
    const bool stalled = is_stalled();
    if (stalled) {
      offer_icm();
      search_by_max_product();
    }
    if (!done() && is_loose() && AlphaExpansion::suits(task_.problem)) expand_labels();
    if (done() || !stalled || is_coarse()) return;
    if (!is_stalled()) close_gap();  // the labelling was to blame, not the bound
    if (done() || !is_stalled()) return;
    const double effort = std::max(task_.effort, kLittle);
    lower_bound(effort / 2);
    improve_nodes(model_);
    search_neighbourhoods(effort);
  }

  void relax(int n) {
    relax(relaxation_, n);
    before_ = now_;
    now_ = {now_.iterations + n, task_.out.bound};
  }

  // n forward sweeps with the backward ones before and between them; the last two round, the last keeps its beliefs.
  void relax(Relaxation<T>& relaxation, int n) {
    for (int k = n - 1; k >= 0; --k) {
      if (k > 0 && task_.out_of_time()) k = 0;
      if (!relaxation.next_is_forward()) relaxation.sweep(false);
      relaxation.sweep(k < 2 || is_stalled(), k == 0);
      ++task_.out.iterations;
    }
  }

  // Iterations until the labelling is good. With many labels they are on the most promising ones of each node alone,
  // at a fraction of the cost: no bound comes of them, but messages that are nearly right. Returns whether that will
  // do.
  bool warm_up() {
    if (!has_many_labels()) {
      if (!is_coarse()) relax(kWarmUp);
      return search();
    }
    Model& small = task_.work.small_model;
    std::vector<int> first, labels;
    chooser_.best_of_each(model_, relaxation_.belief, kFew, first, labels);
    small.build(model_, first, labels);
    Relaxation<T> relaxation(task_, small, false);
    relax(relaxation, is_wide() ? 2 * kWarmUp : kWarmUp);
    improve_by_beliefs(small, relaxation.belief, task_.gap(), kCandidatesPerNode);
    small.return_messages(model_, first, labels);
    if (is_coarse() && task_.closed()) return true;
    relax(relaxation_, 1);
    return prove_if_few();
  }

  void improve_by_beliefs(const Model& model, const std::vector<float>& belief, double threshold, double per_node) {
    improve_nodes(model);
    for (int k = 0; k < kAttempts && !task_.out_of_time(); ++k) {
      choose_candidates(model, belief, threshold, per_node);
      eliminate(model);
      if (!task_.offer(model, task_.work.by_position)) break;
    }
  }

  // Twice the iterations again and again, while they pay; searches in between, while these close the gap faster.
  void close_gap() {
    bool searched = true;  // since the last iterations
    while (!done() && !prune()) {
      if (!relaxing_pays()) {
        const double before = task_.out.score;
        if (searched || search() || task_.out.score == before || !relaxing_pays()) return;
      }
      const double score = task_.out.score, gap = task_.gap(), effort = task_.effort;
      relax(std::min(now_.iterations, iterations_left()));
      if (prove_if_few()) return;
      searched = search_rate_ >= (gap - task_.gap()) / (task_.effort - effort);
      if (searched && search()) return;
      gain_ = (task_.out.score - score) / gap;
      ++rounds_;
    }
  }

  int iterations_left() const {
    const int budget = task_.options.max_iterations;
    return budget > 0 ? budget - task_.out.iterations : std::numeric_limits<int>::max();
  }

  // A labelling that has just become better may do so again; a bound has to come down fast, unless it is far off. A
  // budget that is given is spent.
  bool relaxing_pays() const {
    if (task_.options.max_iterations > 0) return iterations_left() > 0;
    if (task_.gap() < 4 * model_.rounding) return false;
    if (is_stalled()) return false;
    const double cost = 2 * now_.iterations * model_.sweep_cost() / task_.effort;
    const bool first = rounds_ == 0 && !has_many_labels() && !is_coarse();
    return first || gain_ > kLeastGain || speed() > kWorthwhile * cost || is_loose();
  }

  // Leaves labels out, unless their costs are asked for; returns whether that proves the incumbent optimal.
  bool prune() {
    if (task_.options.reduced_costs) return false;
    relaxation_.prune();
    return model_.n_nodes == 0 && prove_if_few();
  }

  // How often the gap halves when the iterations are doubled, by the last two stops and the score that is known now.
  double speed() const {
    if (before_.iterations == 0) return std::numeric_limits<double>::infinity();
    const double doublings = std::log2(static_cast<double>(now_.iterations) / before_.iterations);
    const double left = (now_.bound - task_.out.score) / (before_.bound - task_.out.score);
    return -std::log2(std::max(left, 1e-9)) / doublings;
  }

  // The relaxation is not tight, and its beliefs say little.
  bool is_stalled() const { return is_loose() && speed() < kStalled; }

  // The proof where few labels are left; costs next to nothing where they are many.
  bool prove_if_few() {
    improve_nodes(model_);
    const double gap = relaxation_.bound_of_belief() - task_.out.score;
    return choose_candidates(model_, relaxation_.belief, gap + 2 * model_.rounding, 0) && prove_optimal();
  }

  // The bound where it is not tight: twice the iterations while they bring it down and `effort` lasts.
  void lower_bound(double effort) {
    const double most = task_.effort + effort;
    while (!done() && task_.effort < most) {
      const double before = task_.gap();
      relax(now_.iterations);
      if (before - task_.gap() < kLeastGain * before) break;
    }
  }

  // Moves until a part of `effort` has been in vain, or all of it has been spent.
  void search_neighbourhoods(double effort) {
    NeighbourhoodSearch<T> search(task_, model_, random_);
    const double most = task_.effort + effort;
    double last_success = task_.effort;
    while (!done() && task_.effort < std::min(most, last_success + effort / kInVain))
      if (search.step()) last_success = task_.effort;
  }

  // With time left: the gap is closed as far as it can be, then better labellings are looked for.
  void go_on() {
    while (!done() && speed() > kEnded) {
      if (prune()) return;
      relax(now_.iterations);
      if (search()) return;
    }
    lower_bound(std::numeric_limits<double>::infinity());
    NeighbourhoodSearch<T> neighbourhoods(task_, model_, random_);
    std::unique_ptr<TripletRelaxation> triplets;
    if (TripletRelaxation::fits(model_)) triplets = std::make_unique<TripletRelaxation>(model_, task_.deadline);
    double tightening = 0, searching = 0;  // by effort, not by the clock: more time then goes on where less has ended
    for (bool pays = triplets != nullptr; !done();) {
      const double start = task_.effort;
      const bool tightens = pays && kTightening * tightening <= searching;
      if (tightens)
        pays = tighten(*triplets);
      else
        neighbourhoods.step();
      (tightens ? tightening : searching) += task_.effort - start;
    }
  }

  // The bound over triplets, some more of them than before; returns whether it pays to go on.
  bool tighten(TripletRelaxation& triplets) {
    const int added = triplets.add_triplets();
    const double before = task_.gap();
    for (int k = 0; k < kTripletSweeps && !task_.out_of_time(); ++k) {
      task_.interrupt.check();
      triplets.sweep();
      task_.effort += kTripletCost * triplets.sweep_cost();
    }
    const double bound = triplets.bound();
    tight_ = std::min(tight_, bound);
    task_.tighten(bound);
    triplets.beliefs(belief_);
    improve_by_beliefs(model_, belief_, task_.gap(), kLooseCandidatesPerNode);
    const double gap = bound - task_.out.score + 2 * model_.rounding;
    if (choose_candidates(model_, belief_, gap, 0) && prove_optimal()) return false;
    return added > 0 || before - task_.gap() > kLeastGain * before;
  }

  // Exact search over the labels that a better labelling could have, or over the best of them, for about as long as the
  // relaxation has taken; returns whether the incumbent is proved optimal.
  bool search() {
    improve_nodes(model_);
    const double score = task_.out.score, before = searched_;
    bool proved = false;
    for (int attempt = 0; attempt < kAttempts && (attempt == 0 || 2 * searched_ < task_.effort); ++attempt) {
      const double gap = relaxation_.bound_of_belief() - task_.out.score;
      const bool complete =
          choose_candidates(model_, relaxation_.belief, gap + 2 * model_.rounding, kCandidatesPerNode);
      proved = complete && prove_optimal();
      if (proved) break;
      eliminate(model_);
      if (!task_.offer(model_, task_.work.by_position)) break;
    }
    search_rate_ = (task_.out.score - score) / std::max(searched_ - before, 1.0);
    return proved;
  }

  // The candidates are all labels that a better labelling could have. If the best of them can be found, the incumbent
  // is proved optimal: in double precision, unless the tolerance makes that a waste.
  bool prove_optimal() {
    const double max_total = std::min(task_.effort / kProofCost, kEntries);
    if (!is_coarse()) return settled_ = search_candidates(task_, model_, max_total);
    Elimination<ModelScores>& elimination = task_.work.elimination;
    settled_ =
        elimination.solve(ModelScores{model_}, task_.work.candidates, task_.work.by_position, max_total, random_);
    if (!settled_) return false;
    task_.offer(model_, task_.work.by_position);
    task_.tighten(task_.out.score + model_.rounding);
    return true;
  }

  // The bound in double precision, and the proof where the rounding of float32 was in its way.
  void certify() {
    const bool wanted = task_.options.reduced_costs;
    if ((settled_ || is_coarse()) && !wanted) return;
    const bool in_reach = !settled_ && task_.gap() < 4 * model_.rounding;
    const Certificate certificate = relaxation_.certificate(in_reach || wanted);
    if (!settled_ && !is_coarse()) task_.out.bound = task_.statistics.top;  // in place of the bounds in float32
    task_.tighten(std::min(certificate.bound, tight_));
    if (in_reach) prove(task_, model_, certificate);
    if (wanted) fill_reduced_costs(task_, model_, certificate);
  }

  // Single-node moves from the incumbent, in float32.
  void improve_nodes(const Model& model) {
    LocalSearch& local_search = task_.work.local_search;
    task_.incumbent(model, task_.work.by_position);
    local_search.start(model, task_.work.by_position);
    if (local_search.icm(100) > 0) task_.offer(model, local_search.labels);
    task_.effort += 2 * model.sweep_cost();
  }

  // May take about as long as everything before it.
  int eliminate(const Model& model, double max_table = kMaxTable) {
    Elimination<ModelScores>& elimination = task_.work.elimination;
    const double max_total = std::min(task_.effort / kEliminationCost, kEntries);
    const int frozen = elimination.improve(ModelScores{model}, task_.work.candidates, task_.work.by_position, max_table,
                                           max_total, random_);
    const double spent = kEliminationCost * elimination.total() + kPlanningCost * elimination.n_variables();
    task_.effort += spent;
    searched_ += spent;
    return frozen;
  }

  // Candidates from the incumbent and the beliefs above -threshold; returns whether none had to be left out.
  bool choose_candidates(const Model& model, const std::vector<float>& belief, double threshold, double per_node) {
    task_.incumbent(model, task_.work.by_position);
    const float floor = static_cast<float>(-threshold / model.unit);
    const CandidateChooser::Limits limits{kProofPerNode, per_node, kMaxPerNode};
    return chooser_.choose(model, belief, task_.work.by_position, floor, limits, task_.work.candidates);
  }

  // Single-node moves from the best labels of the rows: where tables are strong, as good a start as any.
  void offer_icm() {
    std::vector<int> labels;
    argmax_rows(task_.problem, labels);
    improve_by_icm(task_.problem, labels, 100, task_.interrupt);
    task_.offer(labels);
  }

  // The relaxation is far from tight: max-product may know better.
  void search_by_max_product() {
    std::vector<float> belief;
    {
      const KeptMessages kept(model_);
      Relaxation<T> max_product(task_, model_, false);
      const double patience = std::max(task_.effort, kLittle) / kInVain / (2 * model_.sweep_cost());
      iterate_bp(task_, max_product, std::numeric_limits<int>::max(), kBpPatience + static_cast<int>(patience));
      improve_nodes(model_);
      max_product.start_max_product();
      bool helps = false;
      for (int k = 0; k < (helps ? kMaxProductIterations : kMaxProductPatience) && !task_.out_of_time(); ++k) {
        helps |= max_product.max_product_sweep(kDamping, true);
        if (k >= kMaxProductWarmUp) max_product.reinforce(kReinforcement);
        max_product.max_product_sweep(kDamping);
        ++task_.out.iterations;
      }
      if (!helps) return;
      belief = std::move(max_product.belief);
    }
    improve_by_beliefs(model_, belief, task_.gap(), kLooseCandidatesPerNode);
  }

  // Expansion moves reach labellings that differ from the incumbent over large regions.
  void expand_labels() {
    std::vector<int> labels = task_.out.labels;
    task_.work.expansion.run(task_.problem, labels, kExpansionSweeps, task_.interrupt, task_.deadline);
    task_.offer(labels);
  }
};

}  // namespace neuralfactors
