// Alpha-expansion for arbitrary tables: every move offers one label to all nodes and takes what roof duality can prove.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "fusion.hpp"
#include "interrupt.hpp"
#include "problem.hpp"
#include "switching.hpp"

namespace neuralfactors {

// Keeps, for every node and label, the score of that switch alone and the best its neighbours could add. A label is
// tried again only around nodes for which these have changed, so that late sweeps cost next to nothing.
class AlphaExpansion {
 public:
  // Improves `labels` until no label can expand, or for max_sweeps rounds over all labels; returns the moves tried.
  template <class T>
  int run(const Problem<T>& problem, std::vector<int>& labels, int max_sweeps, Interrupt& interrupt) {
    start_ = labels;
    prepare(problem, labels);
    int n_moves = 0;
    for (int sweep = 0, before = -1; sweep < max_sweeps && n_moves > before; ++sweep) {
      before = n_moves;
      for (int label = 0; label < problem.n_labels; ++label) {
        if (queue_[label].empty() || tried_[label] == n_changes_) continue;
        interrupt.check();
        ++n_moves;
        expand(problem, labels, label, interrupt);
      }
    }
    // Moves are judged by differences, which are more exact than the two sums compared here.
    if (problem.score(labels.data()) < problem.score(start_.data())) labels = start_;
    return n_moves;
  }

 private:
  template <class T>
  void prepare(const Problem<T>& problem, const std::vector<int>& labels) {
    const Graph& graph = *problem.graph;
    const std::size_t L = problem.n_labels;
    hope_.resize(graph.n_nodes * L);
    share_.resize(2 * graph.n_edges * L);
    queued_.assign(graph.n_nodes * L, false);
    queue_.resize(L);
    for (auto& q : queue_) q.clear();
    tried_.assign(L, -1);
    n_changes_ = 0;
    shift_.resize(L);
    switching_.reset(graph.n_nodes);
    for (int i = 0; i < graph.n_nodes; ++i) {
      const T* row = problem.row(i);
      for (std::size_t l = 0; l < L; ++l) hope_[i * L + l] = static_cast<double>(row[l]) - row[labels[i]];
    }
    for (int e = 0; e < graph.n_edges; ++e) {
      const int u = graph.tail[e], v = graph.head[e];
      const T* table = problem.table(e);
      const T* row = table + labels[u] * L;
      const T* column = table + labels[v];
      const double here = row[labels[v]];
      double* hu = &hope_[u * L];
      double* hv = &hope_[v * L];
      double* c = &share_[2 * e * L];
      for (std::size_t l = 0; l < L; ++l) {
        const double du = column[l * L] - here;
        const double dv = row[l] - here;
        hu[l] += du;
        hv[l] += dv;
        c[l] = (table[l * L + l] - here) - (du + dv);
      }
      c[labels[u]] = c[labels[v]] = 0;
    }
    for (int e = 0; e < graph.n_edges; ++e) {
      double* hu = &hope_[graph.tail[e] * L];
      double* hv = &hope_[graph.head[e] * L];
      double* su = &share_[2 * e * L];
      double* sv = su + L;
      for (std::size_t l = 0; l < L; ++l) {
        const double c = su[l];
        const double p = std::max(c, 0.0);
        const double even = (p + hv[l] - hu[l]) / 2;
        const double pu = std::min(std::max(even, 0.0), p);
        const double pv = p - pu;
        hu[l] += pu;
        hv[l] += pv;
        su[l] = c < 0 ? c / 2 : pu;
        sv[l] = c < 0 ? c / 2 : pv;
      }
    }
    for (int i = 0; i < graph.n_nodes; ++i) enqueue(i, static_cast<int>(L));
  }

  void enqueue(int i, int n_labels) {
    for (int l = 0; l < n_labels; ++l) enqueue(i, l, n_labels);
  }

  void enqueue(int i, int label, int n_labels) {
    const std::size_t at = static_cast<std::size_t>(i) * n_labels + label;
    if (!(hope_[at] > 0) || queued_[at]) return;
    queued_[at] = true;
    queue_[label].push_back(i);
  }

  template <class T>
  void expand(const Problem<T>& problem, std::vector<int>& labels, int label, Interrupt& interrupt) {
    const Graph& graph = *problem.graph;
    const Move move{hope_.data() + label, share_.data() + label, static_cast<std::size_t>(problem.n_labels)};
    seeds_.swap(queue_[label]);
    queue_[label].clear();
    accepted_.clear();
    switching_.reset(graph.n_nodes);
    for (int i : seeds_) {
      queued_[static_cast<std::size_t>(i) * problem.n_labels + label] = false;
      switching_.settle(graph, move, i, interrupt);
    }
    const auto alternative = [&](int) { return label; };
    const auto chosen = [&](int i) { return switching_.switches(i); };
    while (switching_.next(graph, move, switches_, interrupt)) {
      if (improves(problem, labels, switches_, chosen, alternative)) {
        accepted_.insert(accepted_.end(), switches_.begin(), switches_.end());
      }
    }
    tried_[label] = n_changes_;
    n_changes_ += !accepted_.empty();
    for (int i : switching_.stuck()) enqueue(i, label, problem.n_labels);
    for (int i : accepted_) relabel(problem, labels, i, label);
    for (int i : accepted_) {
      enqueue(i, problem.n_labels);
      for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) enqueue(graph.arcs[a].node, problem.n_labels);
    }
  }

  template <class T>
  void relabel(const Problem<T>& problem, std::vector<int>& labels, int i, int label) {
    const Graph& graph = *problem.graph;
    const std::size_t L = problem.n_labels;
    const int old = labels[i];
    for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
      const Graph::Arc& arc = graph.arcs[a];
      const int j = arc.node, y = labels[j];
      const std::size_t step = arc.from_tail ? 1 : L;
      const T* was = problem.table(arc.edge) + old * (arc.from_tail ? L : 1);
      const T* is = problem.table(arc.edge) + label * (arc.from_tail ? L : 1);
      const double level = static_cast<double>(is[y * step]) - was[y * step];
      double* hi = &hope_[i * L];
      double* hj = &hope_[j * L];
      double* si = &share_[(2 * arc.edge + !arc.from_tail) * L];
      double* sj = &share_[(2 * arc.edge + arc.from_tail) * L];
      for (std::size_t l = 0; l < L; ++l) shift_[l] = (static_cast<double>(is[l * step]) - was[l * step]) - level;
      shift_[label] = si[label] + sj[label];
      for (std::size_t l = 0; l < L; ++l) {
        const double pi = std::max(si[l], 0.0), pj = std::max(sj[l], 0.0);
        const double c = si[l] + sj[l] - shift_[l];
        const double p = std::max(c, 0.0);
        const double qi = std::min(pi, p), qj = p - qi;
        hi[l] += qi - pi;
        hj[l] += shift_[l] + qj - pj;
        si[l] = c < 0 ? c / 2 : qi;
        sj[l] = c < 0 ? c / 2 : qj;
      }
    }
    double* h = &hope_[i * L];
    const double level = h[label];
    for (std::size_t l = 0; l < L; ++l) h[l] -= level;
    labels[i] = label;
  }

  Switching switching_;
  std::vector<double> hope_;             // (V, L)
  std::vector<double> share_;            // (E, 2, L)
  std::vector<char> queued_;             // (V, L) whether the node is in the label's queue
  std::vector<std::vector<int>> queue_;  // (L) nodes around which the label is worth a try
  std::vector<int> seeds_, switches_, accepted_, start_;
  std::vector<double> shift_;
  std::vector<int> tried_;
  int n_changes_ = 0;
};

}  // namespace neuralfactors
