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
    up_.assign(p.unary, p.row(g.n_nodes));
    place_messages(p);
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      if (k % 4096 == 0) interrupt.check();
      const int i = nodes_[k];
      if (parent_arc_[i] < 0) continue;
      const Graph::Arc& arc = g.arcs[parent_arc_[i]];
      send(p, arc, up_.data() + p.row_at(i), message(i));
      add(up_.data() + p.row_at(arc.node), message(i), p.count(arc.node));
    }
    labels.assign(g.n_nodes, 0);
    std::vector<double> score(p.n_labels);
    for (int i : nodes_) {
      const int n_labels = p.count(i);
      std::copy_n(up_.data() + p.row_at(i), n_labels, score.begin());
      if (parent_arc_[i] >= 0) {
        const Graph::Arc& arc = g.arcs[parent_arc_[i]];
        p.slice(arc, labels[arc.node]).add_to(score.data(), n_labels);
      }
      labels[i] = static_cast<int>(std::max_element(score.begin(), score.begin() + n_labels) - score.begin());
    }
  }

  // How far below the optimum the best labelling with each label of each node stays. Call solve() first.
  template <class T>
  void reduced_costs(const Problem<T>& p, std::vector<double>& costs) {
    const Graph& g = *p.graph;
    costs.assign(up_.begin(), up_.end());  // becomes the max-marginals, parents first
    std::vector<double> outside(p.n_labels), down(p.n_labels);
    for (int i : nodes_) {
      if (parent_arc_[i] < 0) continue;
      const Graph::Arc& arc = g.arcs[parent_arc_[i]];
      const double *above = costs.data() + p.row_at(arc.node), *mine = message(i);
      for (int b = 0; b < p.count(arc.node); ++b) outside[b] = mine[b] == kForbidden ? kForbidden : above[b] - mine[b];
      const Graph::Arc back{arc.edge, !arc.from_tail, i};
      send(p, back, outside.data(), down.data());
      add(costs.data() + p.row_at(i), down.data(), p.count(i));
    }
    for (int i = 0; i < g.n_nodes; ++i) {
      double *here = costs.data() + p.row_at(i), *end = here + p.count(i);
      const double top = *std::max_element(here, end);
      for (; here < end; ++here) *here = top == kForbidden ? 0 : top - *here;
    }
  }

 private:
  static constexpr int kUnseen = -2, kRoot = -1;
  static constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  std::vector<int> nodes_, parent_arc_;  // parent_arc_: index in Graph::arcs of the arc from a node to its parent
  std::vector<double> up_, messages_;
  std::vector<std::size_t> message_begin_;  // (V) what a node tells its parent, for each label of the parent

  template <class T>
  void place_messages(const Problem<T>& p) {
    message_begin_.resize(nodes_.size());
    std::size_t size = 0;
    for (int i : nodes_) {
      message_begin_[i] = size;
      if (parent_arc_[i] >= 0) size += p.count(p.graph->arcs[parent_arc_[i]].node);
    }
    messages_.assign(size, 0);
  }

  double* message(int i) { return messages_.data() + message_begin_[i]; }

  static void add(double* sum, const double* x, int n) {
    for (int a = 0; a < n; ++a) sum[a] += x[a];
  }

  static int reverse(const Graph& g, const Graph::Arc& arc, int from) {
    int k = g.begin[arc.node];
    while (g.arcs[k].edge != arc.edge || g.arcs[k].node != from) ++k;
    return k;
  }

  // out[b] = max_a score[a] + entry(a here, b at the other end of the arc)
  template <class T>
  static void send(const Problem<T>& p, const Graph::Arc& arc, const double* score, double* out) {
    const int n_rows = p.count(p.graph->tail[arc.edge]), n_columns = p.columns(arc.edge);
    const T* t = p.table(arc.edge);
    if (!arc.from_tail) {
      for (int r = 0; r < n_rows; ++r, t += n_columns) out[r] = max_sum(score, t, n_columns);
      return;
    }
    std::fill_n(out, n_columns, kForbidden);
    for (int r = 0; r < n_rows; ++r, t += n_columns)
      for (int c = 0; c < n_columns; ++c) out[c] = std::max(out[c], score[r] + t[c]);
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
