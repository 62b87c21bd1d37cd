// One MAP problem: maximise  sum_i unary[i, y_i] + sum_e interaction[e, y_tail(e), y_head(e)]  over labellings y.
#pragma once

#include <cstddef>
#include <vector>

namespace neuralfactors {

// Endpoints and adjacency of one graph, numbered from 0. Simple: no self-loops, no parallel edges (prepare.hpp sees to
// it).
struct Graph {
  struct Arc {
    int edge : 31;
    bool from_tail : 1;  // true in the list of the edge's tail: rows of the table are then this node's labels
    int node;            // the other end
  };

  int n_nodes = 0;
  int n_edges = 0;
  std::vector<int> tail, head;  // (E); axis 0 of a table is the label of the tail
  std::vector<int> begin;       // (V + 1); arcs of node i are arcs[begin[i]] .. arcs[begin[i + 1] - 1]
  std::vector<Arc> arcs;        // (2 E)

  // Fills begin and arcs from tail and head.
  void link() {
    begin.assign(n_nodes + 1, 0);
    for (int e = 0; e < n_edges; ++e) {
      ++begin[tail[e] + 1];
      ++begin[head[e] + 1];
    }
    for (int i = 0; i < n_nodes; ++i) begin[i + 1] += begin[i];
    arcs.resize(2 * static_cast<std::size_t>(n_edges));
    std::vector<int> next(begin.begin(), begin.end() - 1);
    for (int e = 0; e < n_edges; ++e) {
      arcs[next[tail[e]]++] = {e, true, head[e]};
      arcs[next[head[e]]++] = {e, false, tail[e]};
    }
  }
};

// The scores of one problem as the caller holds them (T is float or double); nothing is owned, nothing is copied.
template <class T>
struct Problem {
  const Graph* graph = nullptr;
  int n_labels = 0;
  const T* unary = nullptr;        // (V, L)
  const T* interaction = nullptr;  // (E, L, L), or (1, L, L) where all edges share one table
  std::size_t table_step = 0;      // entries from one edge's table to the next: L * L, or 0 where all share one

  bool shared() const { return table_step == 0; }
  const T* row(int node) const { return unary + static_cast<std::size_t>(node) * n_labels; }
  const T* table(int edge) const { return interaction + static_cast<std::size_t>(edge) * table_step; }
  double at(int edge, int tail_label, int head_label) const {
    return table(edge)[static_cast<std::size_t>(tail_label) * n_labels + head_label];
  }

  // Compatibility g(x, y); -inf when y uses a forbidden entry.
  double score(const int* y) const {
    double total = 0;
    for (int i = 0; i < graph->n_nodes; ++i) total += row(i)[y[i]];
    for (int e = 0; e < graph->n_edges; ++e) total += at(e, y[graph->tail[e]], y[graph->head[e]]);
    return total;
  }
};

}  // namespace neuralfactors
