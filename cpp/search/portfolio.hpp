// What goes on where the relaxation over edges has come to its end: ways to better labellings and to a lower bound side
// by side, each with as much of the effort as it has earned; at least half of it goes to labellings.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"
#include "messages/triplets.hpp"
#include "search/belief_search.hpp"
#include "search/fusion.hpp"
#include "search/neighbourhoods.hpp"
#include "search/tabu_runs.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class Portfolio {
 public:
  Portfolio(Task<T>& task, Model& model, Random& random, BeliefSearch<T>& search)
      : task_(task), model_(model), random_(random), search_(search), neighbourhoods_(task, model, random) {
    open_[kNeighbourhoods] = true;
    open_[kTabu] = TripletRelaxation::fits(model);  // it keeps copies of tables, too
  }

  double bound() const { return bound_; }  // over triplets

  // Bounds over triplets too, and labellings that they suggest.
  void tighten_too() {
    if (!TripletRelaxation::fits(model_)) return;
    triplets_ = std::make_unique<TripletRelaxation>(model_, task_.deadline);
    open_[kTriplets] = true;
  }

  // How often a search that knows nothing of the incumbent has come as far, since there is a better one.
  int meetings() const { return meetings_; }

  // One step of the way that has cost least for what it has brought.
  void step() {
    const Way way = cheapest();
    const double effort = task_.effort, gap = task_.gap(), score = task_.out.score;
    const bool meets = follow(way);
    const bool better = task_.out.score > score;
    effort_[way] += task_.effort - effort;
    credit_[way] = kMemory * credit_[way] + (better || gap - task_.gap() > kWorth * gap ? 1 : 0);
    meetings_ = better ? 0 : meetings_ + (meets ? 1 : 0);
  }

 private:
  enum Way { kNeighbourhoods, kTabu, kTriplets, kRounding, kWays };
  static constexpr double kMemory = 0.9;       // of a success, by the next step of the same way
  static constexpr double kMostOnBound = 0.5;  // of the effort: labellings are searched while a bound falls slowly
  static constexpr double kWorth = 0.01;       // of the gap: what the bound must come down to count as one
  static constexpr double kLeastGain = 1e-4;   // of the gap, for which to go on with triplets when none was added
  static constexpr double kLoudest = 16;       // times the gap: the most noise on a label
  static constexpr int kScales = 16;           // of noise, each half as much as the one before
  static constexpr int kTripletSweeps = 20;    // before more triplets are added
  // Of an entry of triplets in a sweep over them and in rounding, beside one of a sweep over edges (measured).
  static constexpr double kTripletCost = 13, kRoundingCost = 4;

  Task<T>& task_;
  Model& model_;
  Random& random_;
  BeliefSearch<T>& search_;
  NeighbourhoodSearch<T> neighbourhoods_;
  std::unique_ptr<TabuRuns<T>> tabu_;
  std::unique_ptr<TripletRelaxation> triplets_;
  std::array<bool, kWays> open_{};
  std::array<double, kWays> effort_{}, credit_{};
  int meetings_ = 0;
  double bound_ = std::numeric_limits<double>::infinity();
  std::vector<float> belief_;
  std::vector<int> labels_;

  // Tabu search, which alone meets the incumbent, has earned something by that until there is a better one.
  Way cheapest() const {
    const auto price = [&](int way) {
      const double earned = credit_[way] + (way == kTabu ? meetings_ : 0);
      return open_[way] ? effort_[way] / (1 + earned) : std::numeric_limits<double>::infinity();
    };
    const double all = std::accumulate(effort_.begin(), effort_.end(), 0.0);
    int best = kNeighbourhoods;
    for (int way = best + 1; way < kWays; ++way)
      if (price(way) < price(best) && !(way == kTriplets && effort_[way] > kMostOnBound * all)) best = way;
    return static_cast<Way>(best);
  }

  bool follow(Way way) {
    if (way == kTabu && !tabu_) tabu_ = std::make_unique<TabuRuns<T>>(task_, model_, random_);
    if (way == kTabu) return tabu_->step();
    if (way == kNeighbourhoods) neighbourhoods_.step();
    if (way == kTriplets) tighten();
    if (way == kRounding)
      round(random_.below(2) == 0, kLoudest * task_.gap() / (1 << random_.below(kScales)) / model_.unit);
    return false;
  }

  // The bound over triplets, some more of them than before.
  void tighten() {
    const int added = triplets_->add_triplets();
    const double before = task_.gap();
    for (int k = 0; k < kTripletSweeps && !task_.out_of_time(); ++k) {
      task_.interrupt.check();
      triplets_->sweep();
      task_.effort += kTripletCost * triplets_->sweep_cost();
    }
    const double bound = triplets_->bound();
    bound_ = std::min(bound_, bound);
    task_.tighten(bound);
    triplets_->beliefs(belief_);
    search_.improve(model_, belief_, kLooseCandidatesPerNode);
    if (search_.prove_if_few(belief_, bound)) return;
    open_[kTriplets] = added > 0 || before - task_.gap() > kLeastGain * before;
    open_[kRounding] = true;
    round(true, 0);
    round(false, 0);
  }

  // A labelling from the tables of the triplets; its good parts become those of the incumbent.
  void round(bool forward, double noise) {
    triplets_->round(forward, static_cast<float>(noise), random_, labels_);
    task_.effort += kRoundingCost * triplets_->sweep_cost();
    neighbourhoods_.polish(labels_);
    task_.offer(model_, labels_);
    if (task_.out_of_time()) return;
    fuse(task_, model_, labels_, random_);
    if (noise == 0) neighbourhoods_.suggest(labels_);
  }
};

}  // namespace neuralfactors
