// Maximum flow and minimum cut by two breadth-first search trees that are repaired after every augmentation.
//
// The trees of Boykov & Kolmogorov (2004) with the exact distance labels of Goldberg et al. (2011): every augmenting
// path is a shortest one, so the number of augmentations is bounded by the graph alone. Capacities may therefore be any
// doubles: no tolerance decides when an arc is full, and no sequence of tiny residuals can keep the search going.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/interrupt.hpp"

namespace neuralfactors {

// Reusable: reset() keeps the memory of earlier graphs.
class MaxFlow {
 public:
  void reset(int n_nodes) {
    nodes_.assign(n_nodes, Node{});
    edges_.clear();
  }

  // Connects a node with capacity `supply` from the source, or `-supply` to the sink when negative; calls add up.
  void add_supply(int node, double supply) { nodes_[node].excess += supply; }

  // Joins a and b with a capacity for each direction, both at least 0.
  void add_edge(int a, int b, double forward, double backward) { edges_.push_back({a, b, forward, backward}); }

  // Largest flow from source to sink; afterwards on_source_side() tells the minimum cut.
  double solve(Interrupt& interrupt) {
    link();
    start_trees();
    flow_ = 0;
    // The source tree grows to the end, past the point where the flow is known to be maximal: then it holds exactly the
    // nodes that the source still reaches, which are the same for every maximum flow.
    while (!source_.frontier.empty()) {
      interrupt.check();
      if (!sink_.frontier.empty() && sink_.depth < source_.depth) {  // two trees of half the depth need less repair
        grow<kSink>(interrupt);
      } else {
        grow<kSource>(interrupt);
      }
    }
    return flow_;
  }

  // Flow from a to b along the k-th edge that was added.
  double flow(std::size_t k) const { return edges_[k].forward - arcs_[arc_of_[k]].residual; }

  // Whether the source reaches the node in the residual graph: the smallest source side among all minimum cuts.
  bool on_source_side(int node) const { return nodes_[node].level > 0; }

 private:
  // The sides are opposite signs: level * side is the depth in the own tree, and negative in the other.
  static constexpr int kSource = 1;
  static constexpr int kSink = -1;
  static constexpr int kTerminal = -1;  // parent of a root
  static constexpr int kOrphan = -2;    // parent lost, or no tree

  struct Edge {
    int a, b;
    double forward, backward;
  };
  struct Arc {
    int head;
    int sister;  // the same edge in the other direction
    double residual;
  };
  struct Node {
    int first = 0;  // arcs_[first] .. arcs_[last - 1] leave this node
    int last = 0;
    int level = 0;         // distance from the source (> 0) or, negated, to the sink (< 0); 0 is in no tree
    int parent = kOrphan;  // arc to the parent
    double excess = 0;     // capacity left from the source, or, negative, to the sink
  };
  struct Tree {
    int depth = 1;              // level of the frontier
    std::vector<int> frontier;  // nodes of that level, not yet scanned; may hold stale entries
    std::vector<int> next;      // nodes one level further
  };

  template <int side>
  Tree& tree() {
    return side == kSource ? source_ : sink_;
  }

  // Residual capacity along the direction in which a tree grows: away from the source, or towards the sink.
  template <int side>
  double outward(const Arc& arc) const {
    return side == kSource ? arc.residual : arcs_[arc.sister].residual;
  }

  // Sorts the edges into arcs by node.
  void link() {
    for (const Edge& edge : edges_) {
      ++nodes_[edge.a].last;
      ++nodes_[edge.b].last;
    }
    int end = 0;
    for (Node& node : nodes_) {
      node.first = end;
      end += node.last;
      node.last = node.first;
    }
    arcs_.resize(end);
    arc_of_.clear();
    for (const Edge& edge : edges_) {
      const int there = nodes_[edge.a].last++;
      const int back = nodes_[edge.b].last++;
      arc_of_.push_back(there);
      arcs_[there] = {edge.b, back, edge.forward};
      arcs_[back] = {edge.a, there, edge.backward};
    }
  }

  // Makes every node with a terminal capacity the root of a tree.
  void start_trees() {
    for (Tree* tree : {&source_, &sink_}) {
      tree->depth = 1;
      tree->frontier.clear();
      tree->next.clear();
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      if (node.excess == 0) continue;
      node.level = node.excess > 0 ? 1 : -1;
      node.parent = kTerminal;
      (node.excess > 0 ? source_ : sink_).frontier.push_back(static_cast<int>(i));
    }
  }

  // Adds one level to a tree; wherever it meets the other tree, augments until the contact is gone.
  template <int side>
  void grow(Interrupt& interrupt) {
    Tree& mine = tree<side>();
    growing_ = side;
    for (std::size_t k = 0; k < mine.frontier.size(); ++k) {  // repairs may append
      if (k % 1024 == 1023) interrupt.check();
      scan<side>(mine.frontier[k]);
    }
    ++mine.depth;
    mine.frontier.clear();
    for (int i : mine.next) {
      if (nodes_[i].level == side * mine.depth) mine.frontier.push_back(i);
    }
    mine.next.clear();
    growing_ = 0;
  }

  template <int side>
  void scan(int i) {
    Tree& mine = tree<side>();
    const int level = side * mine.depth;
    const int last = nodes_[i].last;
    for (int a = nodes_[i].first; a < last && nodes_[i].level == level;) {
      const Arc& arc = arcs_[a];
      Node& other = nodes_[arc.head];
      if (outward<side>(arc) > 0 && other.level * side < 0) {
        augment(side == kSource ? a : arc.sister);
        continue;  // look at the same arc again: it may not be full yet
      }
      if (other.level == 0 && outward<side>(arc) > 0) {
        other.level = level + side;
        other.parent = arc.sister;
        mine.next.push_back(arc.head);
      }
      ++a;
    }
  }

  // Saturates the path source -> ... -> bridge -> ... -> sink and repairs both trees.
  void augment(int bridge) {
    const int near = arcs_[arcs_[bridge].sister].head;
    const int far = arcs_[bridge].head;
    const double amount = std::min(arcs_[bridge].residual, std::min(bottleneck<kSource>(near), bottleneck<kSink>(far)));
    flow_ += amount;
    arcs_[bridge].residual -= amount;
    arcs_[arcs_[bridge].sister].residual += amount;
    push<kSource>(near, amount);
    adopt_orphans<kSource>();
    push<kSink>(far, amount);
    adopt_orphans<kSink>();
  }

  // Residual of the tree arc between a node and its parent.
  template <int side>
  double& inward(int parent_arc) {
    return side == kSource ? arcs_[arcs_[parent_arc].sister].residual : arcs_[parent_arc].residual;
  }

  template <int side>
  double bottleneck(int i) {
    double least = HUGE_VAL;
    for (; nodes_[i].parent != kTerminal; i = arcs_[nodes_[i].parent].head) {
      least = std::min(least, inward<side>(nodes_[i].parent));
    }
    return std::min(least, std::abs(nodes_[i].excess));
  }

  template <int side>
  void push(int i, double amount) {
    orphans_.clear();
    while (nodes_[i].parent != kTerminal) {
      const int arc = nodes_[i].parent;
      const int parent = arcs_[arc].head;
      inward<side>(arc) -= amount;
      inward<-side>(arc) += amount;
      if (!(inward<side>(arc) > 0)) orphan(i);
      i = parent;
    }
    nodes_[i].excess -= side * amount;
    if (nodes_[i].excess == 0) orphan(i);
    std::reverse(orphans_.begin(), orphans_.end());  // nearest to the root first: its repair may spare the others' work
  }

  void orphan(int i) {
    nodes_[i].parent = kOrphan;
    orphans_.push_back(i);
  }

  template <int side>
  void adopt_orphans() {
    for (std::size_t k = 0; k < orphans_.size(); ++k) adopt<side>(orphans_[k]);  // repairs may append
  }

  // Finds the nearest new parent. At a greater distance than before, the children have to look again as well.
  template <int side>
  void adopt(int i) {
    Node& node = nodes_[i];
    int nearest = 0;
    int parent = kOrphan;
    for (int a = node.first; a < node.last; ++a) {
      const int level = side * nodes_[arcs_[a].head].level;
      if (level <= 0 || (nearest > 0 && level >= nearest) || !(inward<side>(a) > 0)) continue;
      nearest = level;
      parent = a;
      if (nearest + 1 == side * node.level) {
        node.parent = parent;
        return;
      }
    }
    for (int a = node.first; a < node.last; ++a) {
      if (nodes_[arcs_[a].head].parent == arcs_[a].sister) orphan(arcs_[a].head);
    }
    Tree& mine = tree<side>();
    const bool growing = growing_ == side;
    if (nearest == 0 || nearest >= mine.depth + growing) {  // out of reach: the frontier will find it again
      node.level = 0;
      node.parent = kOrphan;
      return;
    }
    node.level = side * (nearest + 1);
    node.parent = parent;
    if (nearest + 1 == mine.depth) mine.frontier.push_back(i);
    if (nearest + 1 > mine.depth) mine.next.push_back(i);
  }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Arc> arcs_;
  std::vector<int> arc_of_;  // of every edge, the one from a to b
  std::vector<int> orphans_;
  Tree source_, sink_;
  int growing_ = 0;  // side of the tree that is being grown
  double flow_ = 0;
};

}  // namespace neuralfactors
