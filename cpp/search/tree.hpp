// Method `tree`: exact dynamic programming on forests, in double precision, forbidden entries being true -inf.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"

namespace neuralfactors {

class TreeSolver {
 public:
  // Parents before children; false when the graph has a cycle.
  bool order(const Graph& g) {
    parent_arc_.assign(g.n_nodes, kUnseen);
    nodes_.clear();
    for (int root = 0; root < g.n_nodes; ++root) {
      if (parent_arc_[root] != kUnseen) continue;
      parent_arc_[root] = kRoot;
      std::size_t next = nodes_.size();
      nodes_.push_back(root);
      for (; next < nodes_.size(); ++next) {
        const int i = nodes_[next];
        for (int k = g.begin[i]; k < g.begin[i + 1]; ++k) {
          const Graph::Arc& arc = g.arcs[k];
          if (parent_arc_[i] >= 0 && g.arcs[parent_arc_[i]].edge == arc.edge) continue;
          if (parent_arc_[arc.node] != kUnseen) return false;
          parent_arc_[arc.node] = reverse(g, arc, i);
          nodes_.push_back(arc.node);
        }
      }
    }
    return true;
  }

  // What order() found: the nodes, and the arc from each to its parent, null for a root.
  const std::vector<int>& nodes() const { return nodes_; }
  const Graph::Arc* to_parent(const Graph& g, int node) const {
    return parent_arc_[node] < 0 ? nullptr : &g.arcs[parent_arc_[node]];
  }

  // Best labels; their score is the optimum. Call order() first.
  template <class T>
  void solve(const Problem<T>& p, std::vector<int>& labels, Interrupt& interrupt) {
    const Graph& g = *p.graph;
    const int n_labels = p.n_labels;
    up_.resize(static_cast<std::size_t>(g.n_nodes) * n_labels);
    message_.assign(up_.size(), 0);
    std::copy(p.unary, p.unary + up_.size(), up_.begin());
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      if (k % 4096 == 0) interrupt.check();
      const int i = nodes_[k];
      if (parent_arc_[i] < 0) continue;
      const Graph::Arc& arc = g.arcs[parent_arc_[i]];
      send(p, arc, row(up_, i, n_labels), row(message_, i, n_labels));
      add(row(up_, arc.node, n_labels), row(message_, i, n_labels), n_labels);
    }
    labels.assign(g.n_nodes, 0);
    std::vector<double> score(n_labels);
    for (int i : nodes_) {
      std::copy_n(row(up_, i, n_labels), n_labels, score.begin());
      if (parent_arc_[i] >= 0) {
        const Graph::Arc& arc = g.arcs[parent_arc_[i]];
        for (int a = 0; a < n_labels; ++a) score[a] += entry(p, arc, a, labels[arc.node]);
      }
      labels[i] = static_cast<int>(std::max_element(score.begin(), score.end()) - score.begin());
    }
  }

  // How far below the optimum the best labelling with each label of each node stays. Call solve() first.
  template <class T>
  void reduced_costs(const Problem<T>& p, std::vector<double>& costs) {
    const Graph& g = *p.graph;
    const int n_labels = p.n_labels;
    costs.assign(up_.begin(), up_.end());  // becomes the max-marginals, parents first
    std::vector<double> outside(n_labels), down(n_labels);
    for (int i : nodes_) {
      double* here = row(costs, i, n_labels);
      if (parent_arc_[i] >= 0) {
        const Graph::Arc& arc = g.arcs[parent_arc_[i]];
        const double* above = row(costs, arc.node, n_labels);
        const double* mine = row(message_, i, n_labels);
        for (int b = 0; b < n_labels; ++b) outside[b] = mine[b] == kForbidden ? kForbidden : above[b] - mine[b];
        const Graph::Arc back{arc.edge, !arc.from_tail, i};
        send(p, back, outside.data(), down.data());
        add(here, down.data(), n_labels);
      }
    }
    for (int i = 0; i < g.n_nodes; ++i) {
      double* here = row(costs, i, n_labels);
      const double top = *std::max_element(here, here + n_labels);
      for (int a = 0; a < n_labels; ++a) here[a] = top == kForbidden ? 0 : top - here[a];
    }
  }

 private:
  static constexpr int kUnseen = -2, kRoot = -1;
  static constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  std::vector<int> nodes_, parent_arc_;  // parent_arc_: index in Graph::arcs of the arc from a node to its parent
  std::vector<double> up_, message_;

  static double* row(std::vector<double>& v, int i, int n_labels) {
    return v.data() + static_cast<std::size_t>(i) * n_labels;
  }

  static void add(double* sum, const double* x, int n) {
    for (int a = 0; a < n; ++a) sum[a] += x[a];
  }

  static int reverse(const Graph& g, const Graph::Arc& arc, int from) {
    int k = g.begin[arc.node];
    while (g.arcs[k].edge != arc.edge || g.arcs[k].node != from) ++k;
    return k;
  }

  template <class T>
  static double entry(const Problem<T>& p, const Graph::Arc& arc, int here, int there) {
    return arc.from_tail ? p.at(arc.edge, here, there) : p.at(arc.edge, there, here);
  }

  // out[b] = max_a score[a] + entry(a here, b at the other end of the arc)
  template <class T>
  static void send(const Problem<T>& p, const Graph::Arc& arc, const double* score, double* out) {
    const int n_labels = p.n_labels;
    const T* t = p.table(arc.edge);
    if (!arc.from_tail) {
      for (int r = 0; r < n_labels; ++r, t += n_labels) out[r] = max_sum(score, t, n_labels);
      return;
    }
    std::fill_n(out, n_labels, kForbidden);
    for (int r = 0; r < n_labels; ++r, t += n_labels)
      for (int c = 0; c < n_labels; ++c) out[c] = std::max(out[c], score[r] + t[c]);
  }

  // max_a x[a] + y[a], by as many maxima as the processor can take side by side.
  template <class T>
  static double max_sum(const double* x, const T* y, int n) {
    constexpr int kSide = 4;
    double best[kSide];
    std::fill_n(best, kSide, kForbidden);
    int a = 0;
    for (; a + kSide <= n; a += kSide)
      for (int k = 0; k < kSide; ++k) best[k] = std::max(best[k], x[a + k] + y[a + k]);
    for (; a < n; ++a) best[a % kSide] = std::max(best[a % kSide], x[a] + y[a]);
    return *std::max_element(best, best + kSide);
  }
};

}  // namespace neuralfactors
