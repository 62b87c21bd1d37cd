// Tabu search from one labelling after the other: first the incumbent, then random ones.
#pragma once

#include <algorithm>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"
#include "search/fusion.hpp"
#include "search/tabu.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class TabuRuns {
 public:
  TabuRuns(Task<T>& task, const Model& model, Random& random)
      : task_(task), model_(model), random_(random), tabu_(model), labels_(model.n_nodes) {
    task_.incumbent(model_, labels_);
    tabu_.start(labels_);
    task_.effort += kCopyCost * tabu_.n_entries();
  }

  // About kStep of effort. Returns whether a run from a random labelling has come as far as the incumbent by itself: a
  // sign that it is a good way here, and that the incumbent is hard to beat.
  bool step() {
    const double end = task_.effort + kStep;
    bool meets = false;
    task_.interrupt.check();
    while (task_.effort < end && !task_.out_of_time()) meets |= look();
    return meets;
  }

 private:
  static constexpr int kParts = 4;           // of the nodes: moves between looks at what they have brought
  static constexpr double kVisitCost = 150;  // of a node, beside an entry of a sweep (100 to 200 measured)
  static constexpr double kCopyCost = 15;    // of an entry of its tables, beside the same
  static constexpr double kFusing = 0.1;     // of the effort on moves may go into mixtures
  static constexpr int kPersistence = 16;    // looks in vain more, after a better labelling
  static constexpr int kTries = 8;           // to find a label that a better labelling may have
  static constexpr double kStep = 1e6;       // a tenth of a millisecond
  static constexpr double kRounding = 1e-6;  // of the regret

  Task<T>& task_;
  const Model& model_;
  Random& random_;
  TabuSearch tabu_;
  std::vector<int> labels_;
  int runs_ = 1, in_vain_ = 0;
  double searching_ = 0, fusing_ = 0;

  // As good as a score or better, but for the rounding of float32.
  bool is_near(double score) const {
    return model_.unit * tabu_.score_of_best() + model_.offset > score - kRounding * task_.regret();
  }

  // Some moves. A run ends when so many of them have brought nothing: few as a rule, now and then many, since nobody
  // knows which it takes (the sequence of Luby, Sinclair and Zuckerman 1993). Its good parts go to the incumbent.
  bool look() {
    const double before = tabu_.visits, known = task_.out.score;
    bool meets = false;
    if (tabu_.run(std::max(model_.n_nodes / kParts, 1), random_)) {
      in_vain_ = is_near(known) && task_.offer(model_, tabu_.best) ? -kPersistence : 0;
    } else if (++in_vain_ >= patience(runs_)) {
      meets = runs_ > 1 && is_near(known);
      restart();
    }
    const double spent = kVisitCost * (tabu_.visits - before);
    searching_ += spent;
    task_.effort += spent;
    return meets;
  }

  static int patience(int run) {
    int power = 1;
    while (2 * power <= run + 1) power *= 2;
    return power == run + 1 ? power / 2 : patience(run - power + 1);
  }

  void restart() {
    const double before = task_.effort;
    fuse(task_, model_, tabu_.best, random_, kFusing * searching_ - fusing_);
    fusing_ += task_.effort - before;
    ++runs_;
    in_vain_ = 0;
    const double floor = -task_.regret() / model_.unit;  // no better labelling has labels that give up more
    for (int i = 0; i < model_.n_nodes; ++i) {
      int tries = kTries;
      do labels_[i] = random_.below(model_.count[i]);
      while (model_.row(i)[labels_[i]] < floor && --tries > 0);
    }
    tabu_.start(labels_);
  }
};

}  // namespace neuralfactors
