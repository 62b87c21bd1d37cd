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
#include <vector>

#include "core/random.hpp"
#include "messages/certificate.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "messages/trws.hpp"
#include "search/belief_search.hpp"
#include "search/other_methods.hpp"
#include "search/portfolio.hpp"
#include "search/proof.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class AutoSearch {
 public:
  explicit AutoSearch(Task<T>& task)
      : task_(task),
        model_(task.work.model),
        relaxation_(task, build_model(task)),
        random_(task.options.seed),
        search_(task, model_, random_) {}

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
  // Of the part by which effort grows: how much of the gap a round with a better labelling must have closed. At 0 a
  // learned problem iterates twice as long for the same labelling; 81 problems of other kinds end with the same scores.
  static constexpr double kFair = 0.5;
  static constexpr int kMeetings = 16;  // of random starts with the incumbent, after which it is taken for the best
  static constexpr double kLeastGain = 1e-4;  // of the gap, by twice the iterations, for which to go on

  Task<T>& task_;
  Model& model_;
  Relaxation<T> relaxation_;
  Random random_;
  BeliefSearch<T> search_;
  struct Progress {
    int iterations = 0;
    double bound = std::numeric_limits<double>::infinity();
  };
  Progress before_, now_;                                   // of the relaxation, at its last two stops
  int rounds_ = 0;                                          // of close_gap
  double gain_ = 0;                                         // of the score in the last one, a part of the gap
  double closed_ = 0;                                       // in the last one, a part of the gap
  double tight_ = std::numeric_limits<double>::infinity();  // bound over triplets

  bool is_loose() const { return task_.gap() > kLoose * task_.regret(); }
  bool has_many_labels() const { return task_.problem.n_labels > 2 * kFew; }
  bool is_wide() const { return task_.problem.n_labels > kWide; }
  bool is_coarse() const { return search_.is_coarse(); }
  bool done() { return search_.done(); }

  // Where the bound no longer helps, the other methods' ways to good labellings, then effort on the bound, and twice as
  // much on better labellings.
  void search_further() {
    const bool stalled = is_stalled();
    if (stalled) {
      offer_icm(task_);
      search_by_max_product(task_, model_, search_);
    }
    if (!done() && is_loose()) offer_expansions(task_);
    if (done() || !stalled || is_coarse()) return;
    if (!is_stalled()) close_gap();  // the labelling was to blame, not the bound
    if (done() || !is_stalled()) return;
    const double effort = std::max(task_.effort, kLittle);
    lower_bound(effort / 2);
    search_.improve_nodes(model_);
    search_labellings(effort);
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
    search_.chooser.best_of_each(model_, relaxation_.belief, kFew, first, labels);
    small.build(model_, first, labels);
    Relaxation<T> relaxation(task_, small, false);
    relax(relaxation, is_wide() ? 2 * kWarmUp : kWarmUp);
    search_.improve(small, relaxation.belief, kCandidatesPerNode);
    small.return_messages(model_, first, labels);
    if (is_coarse() && task_.closed()) return true;
    relax(relaxation_, 1);
    return prove_if_few();
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
      searched = search_.rate() >= (gap - task_.gap()) / (task_.effort - effort);
      if (searched && search()) return;
      gain_ = (task_.out.score - score) / gap;
      closed_ = 1 - task_.gap() / gap;
      ++rounds_;
    }
  }

  int iterations_left() const {
    const int budget = task_.options.max_iterations;
    return budget > 0 ? budget - task_.out.iterations : std::numeric_limits<int>::max();
  }

  // A labelling that has just become better may do so again, if that has closed the gap by its share of the effort; a
  // bound has to come down fast, unless it is far off. A budget that is given is spent.
  bool relaxing_pays() const {
    if (task_.options.max_iterations > 0) return iterations_left() > 0;
    if (task_.gap() < 4 * model_.rounding) return false;
    if (is_stalled()) return false;
    const double cost = 2 * now_.iterations * model_.sweep_cost() / task_.effort;
    const bool first = rounds_ == 0 && !has_many_labels() && !is_coarse();
    const bool gains = gain_ > kLeastGain && closed_ > kFair * cost;
    return first || gains || speed() > kWorthwhile * cost || is_loose();
  }

  // Leaves labels out, unless their costs are asked for; returns whether that proves the incumbent optimal.
  bool prune() {
    if (task_.options.reduced_costs) return false;
    relaxation_.prune();
    return model_.n_nodes == 0 && prove_if_few();
  }

  bool prove_if_few() { return search_.prove_if_few(relaxation_.belief, relaxation_.bound_of_belief()); }

  // Search among the beliefs; returns whether the incumbent is proved optimal.
  bool search() { return search_.search(relaxation_.belief, relaxation_.bound_of_belief()); }

  // How often the gap halves when the iterations are doubled, by the last two stops and the score that is known now.
  double speed() const {
    if (before_.iterations == 0) return std::numeric_limits<double>::infinity();
    const double doublings = std::log2(static_cast<double>(now_.iterations) / before_.iterations);
    const double left = (now_.bound - task_.out.score) / (before_.bound - task_.out.score);
    return -std::log2(std::max(left, 1e-9)) / doublings;
  }

  // The relaxation is not tight, and its beliefs say little.
  bool is_stalled() const { return is_loose() && speed() < kStalled; }

  // The bound where it is not tight: twice the iterations while they bring it down and `effort` lasts.
  void lower_bound(double effort) {
    const double most = task_.effort + effort;
    while (!done() && task_.effort < most) {
      const double before = task_.gap();
      relax(now_.iterations);
      if (before - task_.gap() < kLeastGain * before) break;
    }
  }

  // Ways to better labellings, for as long as `effort`; twice as long where independent searches meet in the best one.
  // With half of it, the best labelling of a problem of object detection is found from 38 % of the random states, not
  // from 62 %, in a tenth less time.
  void search_labellings(double effort) {
    Portfolio<T> portfolio(task_, model_, random_, search_);
    const double start = task_.effort;
    const auto is_spent = [&] { return task_.effort - start > (portfolio.meetings() > 0 ? 2 : 1) * effort; };
    while (!done() && !is_spent() && portfolio.meetings() < kMeetings) portfolio.step();
  }

  // With time left: the gap is closed as far as it can be, then better labellings are looked for.
  void go_on() {
    while (!done() && speed() > kEnded) {
      if (prune()) return;
      relax(now_.iterations);
      if (search()) return;
    }
    lower_bound(std::numeric_limits<double>::infinity());
    Portfolio<T> portfolio(task_, model_, random_, search_);
    portfolio.tighten_too();
    while (!done()) portfolio.step();
    tight_ = portfolio.bound();
  }

  // The bound in double precision, and the proof where the rounding of float32 was in its way.
  void certify() {
    const bool wanted = task_.options.reduced_costs;
    const bool settled = search_.settled() || task_.proved;  // the bound stands as it is
    if ((settled || is_coarse()) && !wanted) return;
    const bool in_reach = !settled && task_.gap() < 4 * model_.rounding;
    const Certificate certificate = relaxation_.certificate(in_reach || wanted);
    if (!settled && !is_coarse()) task_.out.bound = task_.statistics.top;  // in place of the bounds in float32
    task_.tighten(std::min(certificate.bound, tight_));
    if (in_reach) prove(task_, model_, certificate);
    if (wanted) fill_reduced_costs(task_, model_, certificate);
  }
};

}  // namespace neuralfactors
