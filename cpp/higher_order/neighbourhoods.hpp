// Large neighbourhood search on a factor graph: all nodes, or those of a region, are re-optimised exactly, but for as
// many as it takes to freeze so that tables stay small. Where moves bring nothing, tables grow; where the largest ones
// bring nothing, the search goes on from the best labelling known with some labels changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "core/random.hpp"
#include "higher_order/elimination.hpp"
#include "higher_order/incumbent.hpp"
#include "higher_order/model.hpp"
#include "search/bucket_elimination.hpp"
#include "search/elimination_order.hpp"
#include "search/region.hpp"

namespace neuralfactors::higher_order {

class NeighbourhoodSearch {
 public:
  NeighbourhoodSearch(const Model& model, Elimination& elimination, Incumbent& best, std::uint64_t seed,
                      Interrupt& interrupt)
      : model_(model),
        elimination_(elimination),
        best_(best),
        interrupt_(interrupt),
        random_(seed),
        labels_(best.labels),
        score_(best.score),
        scoring_(static_cast<double>(model.unary.size() + model.nodes.size())) {}

  double effort() const { return effort_; }  // entries of tables that have been looked at
  bool proved() const { return proved_; }    // no labelling is better than the incumbent

  // The incumbent becomes the best of all labellings, unless that takes too large tables; returns whether it is better
  // than before.
  bool prove() {
    region_.nodes.clear();
    labels_ = best_.labels;
    move(Route::greedy, kEntries);
    return best_.offer(labels_);
  }

  // One move; the same.
  bool step() {
    route_ = route_ == Route::greedy ? Route::sweep : Route::greedy;
    const bool exhausted = move(route_, table_);
    const double score = model_.score(labels_.data());
    failures_ = score > score_ ? 0 : failures_ + 1;
    score_ = std::max(score_, score);
    const bool better = score > best_.score && best_.offer(labels_);
    if (exhausted || failures_ >= kPatience) widen(exhausted);
    return better;
  }

 private:
  static constexpr double kSmallest = 256, kGrowth = 4;  // entries of tables
  static constexpr int kPatience = 2;                    // moves in a row that bring nothing
  static constexpr double kPlanning = 64;                // of a node, in entries of tables

  const Model& model_;
  Elimination& elimination_;
  Incumbent& best_;
  Interrupt& interrupt_;
  Random random_;
  Region region_;  // nodes that may move; empty: all
  std::vector<int> labels_;
  double score_ = 0, effort_ = 0;
  double scoring_ = 0;  // effort of finding the score of a labelling
  bool proved_ = false;
  double table_ = kSmallest;
  Route route_ = Route::sweep;  // of the last move; the next one takes the other
  int failures_ = 0;

  // Returns whether no node was frozen.
  bool move(Route route, double max_table) {
    const bool everywhere = region_.nodes.empty();
    const std::vector<int>& nodes = everywhere ? elimination_.all() : region_.nodes;
    const int frozen = elimination_.improve(nodes, labels_, route, max_table, random_, interrupt_);
    effort_ += elimination_.total() + kPlanning * static_cast<double>(nodes.size()) + scoring_;
    proved_ = everywhere && frozen == 0;
    return frozen == 0;
  }

  // Larger tables, or another labelling once they are as large as they may be or as is of use.
  void widen(bool exhausted) {
    failures_ = 0;
    if (exhausted || table_ >= kLargestTable)
      restart();
    else
      table_ *= kGrowth;
  }

  // The best labelling with random labels at some nodes that hang together; the search is for what lies around them.
  void restart() {
    labels_ = best_.labels;
    table_ = kSmallest;
    const int n_changed = region_.grow(model_.n_nodes, random_, [&](int i, auto use) {
      for (int k = model_.first_arc[i]; k < model_.first_arc[i + 1]; ++k) {
        const int f = model_.factor[model_.arcs[k]];
        std::for_each(model_.nodes_of(f), model_.nodes_of(f) + model_.order(f), use);
      }
    });
    for (int k = 0; k < n_changed; ++k) labels_[region_.nodes[k]] = random_.below(model_.count(region_.nodes[k]));
    score_ = model_.score(labels_.data());
  }
};

}  // namespace neuralfactors::higher_order
