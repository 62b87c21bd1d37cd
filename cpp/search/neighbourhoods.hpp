// Large neighbourhood search: random parts of the graph are re-optimised exactly, given the labels of the rest.
//
// A move frees all nodes of a region and freezes as few of them as it takes for variable elimination to stay within a
// table size (elimination.hpp). Where moves bring nothing, tables grow; where the largest ones bring nothing, the
// search goes on from another labelling: the best one known with some labels changed, or that of max-product on
// disturbed scores, whichever has paid off more for its effort.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "messages/bp.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "search/bucket_elimination.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "search/elimination_order.hpp"
#include "search/fusion.hpp"
#include "search/local_search.hpp"
#include "search/proof.hpp"
#include "search/region.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class NeighbourhoodSearch {
 public:
  NeighbourhoodSearch(Task<T>& task, Model& model, Random& random)
      : task_(task), model_(model), random_(random), shortlist_(kMost) {
    start_from_incumbent();
  }

  // A labelling to search around when its turn comes.
  void suggest(const std::vector<int>& labels) {
    if (labels == suggested_) return;
    suggested_ = labels;
    fresh_ = true;
  }

  // Makes a labelling better by moves with the smallest tables.
  void polish(std::vector<int>& labels) {
    for (int k = 0; k < kPatience && !task_.out_of_time(); ++k) move(labels, kSmallest, false);
  }

  // One move; returns whether the incumbent has become better. A move that freezes nothing may settle the task.
  bool step() {
    task_.interrupt.check();
    const double effort = task_.effort;
    if (task_.out.score > known_) {  // another search has found it
      start_from_incumbent();
      origin_ = kDescent;
    }
    const int frozen = move(labels_, table_, !region_.nodes.empty());
    const double score = task_.score_of(model_, labels_);
    failures_ = score > score_ ? 0 : failures_ + 1;
    score_ = std::max(score, score_);
    const bool better = task_.offer(model_, labels_);
    known_ = task_.out.score;
    if (better) ++successes_[origin_];
    if (frozen == 0 && has_all_labels()) search_candidates(task_, model_);  // the optimum, but for rounding
    const bool exhausted = frozen == 0 && complete_;
    const bool is_large = task_.work.elimination.total() > kEntries / kGrowth;
    if (exhausted || failures_ >= kPatience) widen(exhausted || is_large);
    effort_[origin_] += task_.effort - effort;
    return better;
  }

 private:
  static constexpr double kSmallest = 256, kGrowth = 4;  // entries of tables
  static constexpr int kPatience = 2;                    // moves in a row that bring nothing
  static constexpr int kAll = 4;                         // with more labels only some of each node are candidates
  static constexpr int kMost = 8;                        // of one node
  static constexpr int kIterations = 20;                 // of max-product
  enum Origin { kDescent, kChanged, kDisturbed, kSuggested, kOrigins };

  Task<T>& task_;
  Model& model_;
  Random& random_;
  std::vector<int> labels_;       // by position
  double score_ = 0, known_ = 0;  // of labels_; of the incumbent when last seen
  double table_ = kSmallest;
  Route route_ = Route::sweep;  // of the last move; the next one takes the other
  int failures_ = 0;
  Origin origin_ = kDescent;               // of labels_
  std::array<double, kOrigins> effort_{};  // spent on labellings of each origin
  std::array<int, kOrigins> successes_{};
  Region region_;          // nodes that may move; empty: all
  bool complete_ = false;  // the candidates are all labels of the nodes that may move
  std::vector<int> suggested_;
  bool fresh_ = false;  // nobody has searched around it yet
  Shortlist shortlist_;

  // Labels become the best ones among the candidates, with no table larger than `table`; returns how many nodes were
  // frozen. In the region only, or everywhere.
  int move(std::vector<int>& labels, double table, bool in_region) {
    choose_candidates(labels, in_region);
    Elimination<ModelScores>& elimination = task_.work.elimination;
    route_ = route_ == Route::greedy ? Route::sweep : Route::greedy;
    const int frozen =
        elimination.improve(ModelScores{model_}, task_.work.candidates, labels, route_, table, kEntries, random_);
    task_.effort += 2 * model_.sweep_cost() + cost_of(elimination);
    return frozen;
  }

  // Larger tables, or another labelling once they are as large as they may be or as is of use.
  void widen(bool in_vain) {
    failures_ = 0;
    if (table_ < kLargestTable && !in_vain) {
      table_ *= kGrowth;
      return;
    }
    if (origin_ != kDescent && fuse(task_, model_, labels_, random_)) ++successes_[origin_];
    start_from_incumbent();
    switch (cheapest()) {
      case kSuggested:
        take_suggestion();
        break;
      case kDisturbed:
        disturb();
        break;
      default:
        change_labels();
    }
    score_ = task_.score_of(model_, labels_);
  }

  // Where the labelling should come from that has cost least for what it has brought.
  Origin cheapest() const {
    const auto price = [&](Origin o) { return effort_[o] / (1 + successes_[o]); };
    Origin best = kChanged;
    for (Origin o : {kDisturbed, kSuggested})
      if ((o != kSuggested || fresh_) && price(o) < price(best)) best = o;
    return best;
  }

  void start_from_incumbent() {
    task_.incumbent(model_, labels_);
    score_ = known_ = task_.out.score;
    region_.nodes.clear();
    table_ = kSmallest;
  }

  void take_suggestion() {
    origin_ = kSuggested;
    labels_ = suggested_;
    fresh_ = false;
  }

  // Random labels for some nodes that hang together; the search is for what lies around them.
  void change_labels() {
    origin_ = kChanged;
    const int n_changed = region_.grow(model_.n_nodes, random_, [&](int i, auto use) {
      for (int q = model_.out_begin[i]; q < model_.out_begin[i + 1]; ++q) use(model_.later[q]);
      for (int q = model_.in_begin[i]; q < model_.in_begin[i + 1]; ++q) use(model_.earlier[q]);
    });
    for (int k = 0; k < n_changed; ++k) labels_[region_.nodes[k]] = random_.below(model_.count[region_.nodes[k]]);
  }

  // Max-product from scratch; after the first time with noise on the rows, small or large beside what labellings give
  // up there.
  void disturb() {
    origin_ = kDisturbed;
    const KeptMessages kept(model_);
    const double regret = task_.regret() / std::max(model_.n_nodes, 1) / model_.unit;
    const bool first = effort_[kDisturbed] == 0;
    const auto noise = first ? 0.f : static_cast<float>(regret * std::pow(10.0, -random_.below(3)));
    for (int i = 0; i < model_.n_nodes; ++i)
      for (int a = 0; a < model_.count[i]; ++a) model_.unary[model_.begin[i] + a] += noise * random_.normal();
    Relaxation<T> max_product(task_, model_, false);
    max_product.start_max_product();
    for (int k = 0; k < kIterations && !task_.out_of_time(); ++k) {
      max_product.max_product_sweep(kDamping);
      max_product.max_product_sweep(kDamping);
    }
    labels_ = max_product.labels();
  }

  bool has_all_labels() const {
    const std::vector<int>& count = model_.count;
    return task_.work.candidates.label.size() == std::accumulate(count.begin(), count.end(), std::size_t{0});
  }

  // All labels where they are few; else those that are best given the neighbours, more or fewer of them.
  void choose_candidates(std::vector<int>& labels, bool in_region) {
    LocalSearch& local_search = task_.work.local_search;
    local_search.start(model_, labels);
    local_search.icm(100);
    labels = local_search.labels;
    const int most = 2 << random_.below(3);
    Candidates& out = task_.work.candidates;
    out.begin.assign(1, 0);
    out.label.clear();
    complete_ = true;
    for (int i = 0; i < model_.n_nodes; ++i) {
      out.label.push_back(labels[i]);
      if (!in_region || region_.contains(i)) add_candidates(i, labels[i], local_search.scores(i), most, out);
      out.begin.push_back(static_cast<int>(out.label.size()));
    }
  }

  void add_candidates(int i, int present, const float* scores, int most, Candidates& out) {
    shortlist_.clear();
    for (int a = 0; a < model_.count[i]; ++a)
      if (a != present) shortlist_.add(a, scores[a]);
    const int n = model_.count[i] <= kAll ? kAll : most;
    complete_ &= n >= model_.count[i];
    for (int k = 0; k < std::min(shortlist_.size(), n - 1); ++k) out.label.push_back(shortlist_[k]);
  }
};

}  // namespace neuralfactors
