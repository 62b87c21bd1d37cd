// Sharing out the couplings of a binary move until it is clear which nodes can gain by it: a maximum flow in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "interrupt.hpp"
#include "problem.hpp"

namespace neuralfactors {

// A move in which the nodes of a set X switch changes the score by  sum_{i in X} gain_i + sum_{e within X} coupling_e.
// Each coupling is split into shares of the two ends of its edge, and hope_i = gain_i + (positive shares of i).
// Whatever the split, the change is at most the sum of the hopes in X: where no hope is positive, no switch pays. Entry
// k of each array is at [k * stride].
struct Move {
  double* hope;   // (V)
  double* share;  // (2 E) of the tail and of the head of each edge; both negative where the coupling is
  std::size_t stride;

  double& hope_of(int i) const { return hope[i * stride]; }
  double& share_at(int slot) const { return share[slot * stride]; }
  double& mine(const Graph::Arc& arc) const { return share_at(slot_of(arc)); }
  double& theirs(const Graph::Arc& arc) const { return share_at(slot_of(arc) ^ 1); }

  // Where the share of the arc's own end is; that of the other end is at slot ^ 1.
  static int slot_of(const Graph::Arc& arc) { return 2 * arc.edge + !arc.from_tail; }
};

// Hands shares on from nodes of positive hope to nodes of negative hope, a maximum flow. What cannot be handed on is
// real: it is stuck in sets of nodes that share with none but each other, and switching such a set gains all of its
// hope, if no negative coupling interferes. All other nodes keep their labels in some best move.
//
// The flow is Dinic's: it goes along shortest paths, until none is left, from all hopeful nodes at a time. So its
// length is bounded by the graph, whatever the numbers are, and no tolerance is needed; and what lies beyond the
// nearest nodes with room is never looked at.
class Sharing {
 public:
  // Nodes that are stuck together with the hopeful ones among `seeds`.
  const std::vector<int>& settle(const Graph& graph, const Move& move, const std::vector<int>& seeds,
                                 Interrupt& interrupt) {
    graph_ = &graph;
    move_ = move;
    level_.resize(graph.n_nodes, 0);
    cursor_.resize(graph.n_nodes);
    hopeful_ = seeds;
    for (int depth = -1; depth != 0;) {
      interrupt.check();
      const auto calm = [&](int i) { return !(move_.hope_of(i) > 0); };
      hopeful_.erase(std::remove_if(hopeful_.begin(), hopeful_.end(), calm), hopeful_.end());
      depth = search();
      if (depth > 0) {
        for (int i : hopeful_) push(i, depth);
      }
      for (int i : visited_) level_[i] = 0;
    }
    return visited_;
  }

 private:
  // Goes breadth-first from the hopeful nodes along positive shares; returns the level of the nearest nodes with room,
  // or 0 where there are none.
  int search() {
    visited_ = hopeful_;
    for (int i : hopeful_) level_[i] = 1;
    int depth = 0;
    for (std::size_t k = 0; k < visited_.size() && level_[visited_[k]] != depth; ++k) {
      const int i = visited_[k];
      cursor_[i] = graph_->begin[i];
      for (int a = graph_->begin[i]; a < graph_->begin[i + 1]; ++a) {
        const Graph::Arc& arc = graph_->arcs[a];
        if (level_[arc.node] != 0 || !(move_.mine(arc) > 0)) continue;
        level_[arc.node] = level_[i] + 1;
        visited_.push_back(arc.node);
        if (move_.hope_of(arc.node) < 0) depth = level_[i] + 1;
      }
    }
    return depth;
  }

  // Hands on what a node can give along paths of increasing level, depth first. The cursors never go back: an arc that
  // has once led nowhere does so until the next search.
  void push(int seed, int depth) {
    path_.assign(1, seed);
    while (!path_.empty() && move_.hope_of(seed) > 0) {
      const int i = path_.back();
      if (cursor_[i] == graph_->begin[i + 1]) {
        path_.pop_back();
        if (!path_.empty()) ++cursor_[path_.back()];
        continue;
      }
      const Graph::Arc& arc = graph_->arcs[cursor_[i]];
      const bool onward = level_[arc.node] == level_[i] + 1 && move_.mine(arc) > 0;
      if (onward && level_[arc.node] < depth) {
        path_.push_back(arc.node);
      } else if (onward && move_.hope_of(arc.node) < 0) {
        transfer(arc.node);
      } else {
        ++cursor_[i];
      }
    }
  }

  // Moves as much hope along the path to `end` as it can take; the path then ends before its first used-up share.
  void transfer(int end) {
    double& from = move_.hope_of(path_.front());
    double& to = move_.hope_of(end);
    double amount = std::min(from, -to);
    for (int i : path_) amount = std::min(amount, move_.mine(graph_->arcs[cursor_[i]]));
    from -= amount;
    to += amount;
    std::size_t kept = path_.size();
    for (std::size_t k = path_.size(); k-- > 0;) {
      const Graph::Arc& arc = graph_->arcs[cursor_[path_[k]]];
      move_.mine(arc) -= amount;
      move_.theirs(arc) += amount;
      if (!(move_.mine(arc) > 0)) kept = k + 1;
    }
    path_.resize(kept);
  }

  const Graph* graph_ = nullptr;
  Move move_{};
  std::vector<int>
      level_;  // (V) distance from the nearest hopeful node, which is at 1; 0 where the search has not been
  std::vector<int> cursor_;  // (V) next arc to try
  std::vector<int> hopeful_, visited_, path_;
};

}  // namespace neuralfactors
