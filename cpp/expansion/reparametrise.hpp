// Reparametrises a binary move until it is clear which nodes can gain by it: a maximum flow in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"

namespace neuralfactors {

// A move in which the nodes of a set X switch changes the score by  sum_{i in X} gain_i + sum_{e within X} coupling_e.
// Each coupling is split into residuals of the two ends of its edge, and excess_i = gain_i + (positive residuals of i).
// Whatever the split, the change is at most the sum of the excesses in X: where no excess is positive, no switch pays.
// Entry k of each array is at [k * stride].
struct Move {
  double* excess;    // (V)
  double* residual;  // (2 E) of the tail and of the head of each edge; both negative where the coupling is
  std::size_t stride;

  double& excess_of(int i) const { return excess[i * stride]; }
  double& residual_at(int slot) const { return residual[slot * stride]; }
  double& mine(const Graph::Arc& arc) const { return residual_at(slot_of(arc)); }
  double& theirs(const Graph::Arc& arc) const { return residual_at(slot_of(arc) ^ 1); }

  // Where the residual of the arc's own end is; that of the other end is at slot ^ 1.
  static int slot_of(const Graph::Arc& arc) { return 2 * arc.edge + !arc.from_tail; }
};

// Pushes excess from nodes of positive excess to nodes of negative excess, a maximum flow. What cannot be pushed is
// real: it stays in sets of active nodes, which have residuals towards each other alone, and switching such a set gains
// all of its excess, if no negative coupling interferes. All other nodes keep their labels in some best move.
//
// Excess travels along shortest paths, found by a breadth-first tree that is repaired and not rebuilt after each of
// them (see maxflow.hpp). So the work is bounded by the graph, whatever the numbers are, and no tolerance is needed;
// and what lies beyond the nearest nodes with room is never looked at.
class Reparametrisation {
 public:
  void reset(int n_nodes) { nodes_.assign(n_nodes, Node{}); }

  // Nodes that are active together with the positive ones among `seeds`.
  const std::vector<int>& settle(const Graph& graph, const Move& move, const std::vector<int>& seeds,
                                 Interrupt& interrupt) {
    graph_ = &graph;
    move_ = move;
    for (int i : seeds) give_to_neighbours(i);
    start_trees(seeds);
    for (depth_ = 1; !frontier_.empty(); ++depth_) {
      for (std::size_t k = 0; k < frontier_.size(); ++k) {  // repairs may append
        if (k % 1024 == 0) interrupt.check();
        scan(frontier_[k]);
      }
      frontier_.swap(next_);
      next_.clear();
    }
    std::size_t n_active = 0;
    for (int i : visited_) {
      if (nodes_[i].level > 0) visited_[n_active++] = i;
      nodes_[i] = Node{};  // also drops a second visit of the same node
    }
    visited_.resize(n_active);
    return visited_;
  }

 private:
  static constexpr int kRoot = -1;
  static constexpr int kOrphan = -2;

  struct Node {
    int level = 0;         // distance from the nearest root, which is at 1; 0 is not in the tree
    int parent = kOrphan;  // node
    int slot = 0;          // the parent's residual of the edge between them
  };

  // Most excess goes no further than this: it spares the tree many roots.
  void give_to_neighbours(int i) {
    double& excess = move_.excess_of(i);
    for (int a = graph_->begin[i]; a < graph_->begin[i + 1] && excess > 0; ++a) {
      const Graph::Arc& arc = graph_->arcs[a];
      double& room = move_.excess_of(arc.node);
      if (!(room < 0) || !(move_.mine(arc) > 0)) continue;
      const double amount = std::min(std::min(excess, -room), move_.mine(arc));
      excess -= amount;
      room += amount;
      hand_over(Move::slot_of(arc), amount);
    }
  }

  void hand_over(int slot, double amount) {
    move_.residual_at(slot) -= amount;
    move_.residual_at(slot ^ 1) += amount;
  }

  void start_trees(const std::vector<int>& seeds) {
    visited_.clear();
    frontier_.clear();
    next_.clear();
    for (int i : seeds) {
      if (!(move_.excess_of(i) > 0)) continue;
      nodes_[i] = {1, kRoot, 0};
      visited_.push_back(i);
      frontier_.push_back(i);
    }
  }

  // Gives to neighbours with room, and makes the others part of the tree.
  void scan(int i) {
    const int end = graph_->begin[i + 1];
    for (int a = graph_->begin[i]; a < end && nodes_[i].level == depth_;) {
      const int j = graph_->arcs[a].node;
      const int slot = Move::slot_of(graph_->arcs[a]);
      if (nodes_[j].level == 0 && move_.residual_at(slot) > 0) {
        if (move_.excess_of(j) < 0) {
          give(i, j, slot);
          continue;  // look at the same arc again: there may be more to give
        }
        nodes_[j] = {depth_ + 1, i, slot};
        visited_.push_back(j);
        next_.push_back(j);
      }
      ++a;
    }
  }

  // Moves as much excess as possible from the root above i to its neighbour j, and repairs the tree.
  void give(int i, int j, int slot) {
    double amount = std::min(-move_.excess_of(j), move_.residual_at(slot));
    int root = i;
    for (; nodes_[root].parent != kRoot; root = nodes_[root].parent) {
      amount = std::min(amount, move_.residual_at(nodes_[root].slot));
    }
    amount = std::min(amount, move_.excess_of(root));
    orphans_.clear();
    move_.excess_of(j) += amount;
    hand_over(slot, amount);
    for (int k = i; k != root;) {
      const Node node = nodes_[k];
      hand_over(node.slot, amount);
      if (!(move_.residual_at(node.slot) > 0)) orphan(k);
      k = node.parent;
    }
    move_.excess_of(root) -= amount;
    if (!(move_.excess_of(root) > 0)) orphan(root);
    std::reverse(orphans_.begin(), orphans_.end());  // nearest to the root first: its repair may spare the others' work
    for (std::size_t k = 0; k < orphans_.size(); ++k) adopt(orphans_[k]);  // repairs may append
  }

  void orphan(int i) {
    nodes_[i].parent = kOrphan;
    orphans_.push_back(i);
  }

  // Finds the nearest new parent. At a greater distance than before, the children have to look again as well.
  void adopt(int i) {
    Node& node = nodes_[i];
    Node best{std::numeric_limits<int>::max(), kOrphan, 0};
    for (int a = graph_->begin[i]; a < graph_->begin[i + 1]; ++a) {
      const Graph::Arc& arc = graph_->arcs[a];
      const int level = nodes_[arc.node].level + 1;
      if (level == 1 || level >= best.level || !(move_.theirs(arc) > 0)) continue;
      best = {level, arc.node, Move::slot_of(arc) ^ 1};
      if (level == node.level) {
        node = best;
        return;
      }
    }
    for (int a = graph_->begin[i]; a < graph_->begin[i + 1]; ++a) {
      const int j = graph_->arcs[a].node;
      if (nodes_[j].parent == i) orphan(j);
    }
    node = best.level > depth_ + 1 ? Node{} : best;  // what is out of reach the frontier will find again
    if (node.level == depth_) frontier_.push_back(i);
    if (node.level == depth_ + 1) next_.push_back(i);
  }

  const Graph* graph_ = nullptr;
  Move move_{};
  int depth_ = 0;                     // level of the frontier
  std::vector<Node> nodes_;           // (V)
  std::vector<int> frontier_, next_;  // nodes of levels depth_ and depth_ + 1; may hold stale entries
  std::vector<int> visited_, orphans_;
};

}  // namespace neuralfactors
