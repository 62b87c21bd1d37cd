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

// The scores of one problem as the caller holds them (T is float or double); nothing is owned, nothing is copied. Where
// nodes differ in their number of labels, rows and tables of their own sizes follow each other without gaps, and
// row_begin and table_begin say where they are; these are null where all nodes have n_labels.
template <class T>
struct Problem {
  const Graph* graph = nullptr;
  int n_labels = 0;                        // of every node, or of the one that has most
  const T* unary = nullptr;                // (V, L)
  const T* interaction = nullptr;          // (E, L, L), or (1, L, L) where all edges share one table
  std::size_t table_step = 0;              // entries from one edge's table to the next: L * L, or 0 where all share one
  const std::size_t* row_begin = nullptr;  // (V + 1) or null
  const std::size_t* table_begin = nullptr;  // (E + 1) or null

  // The scores of the labels of one end of an edge, given the label of the other end.
  struct Slice {
    const T* first;
    std::size_t step;
    double operator[](int label) const { return first[label * step]; }
    void add_to(double* scores, int n) const {
      if (step == 1)
        for (int a = 0; a < n; ++a) scores[a] += first[a];
      else
        for (int a = 0; a < n; ++a) scores[a] += first[a * step];
    }
  };

  bool ragged() const { return row_begin != nullptr; }
  bool shared() const { return table_step == 0 && !ragged(); }
  int count(int node) const { return ragged() ? static_cast<int>(row_begin[node + 1] - row_begin[node]) : n_labels; }
  int columns(int edge) const { return ragged() ? count(graph->head[edge]) : n_labels; }
  // Where rows and tables begin; behind the last one, how many entries they have.
  std::size_t row_at(int node) const { return ragged() ? row_begin[node] : static_cast<std::size_t>(node) * n_labels; }
  std::size_t table_at(int edge) const {
    return ragged() ? table_begin[edge] : static_cast<std::size_t>(edge) * table_step;
  }
  std::size_t table_size(int edge) const {
    return ragged() ? table_begin[edge + 1] - table_begin[edge] : static_cast<std::size_t>(n_labels) * n_labels;
  }
  int n_tables() const { return shared() && graph->n_edges > 0 ? 1 : graph->n_edges; }  // that differ
  std::size_t n_interaction() const {
    return n_tables() > 0 ? table_at(n_tables() - 1) + table_size(n_tables() - 1) : 0;
  }

  const T* row(int node) const { return unary + row_at(node); }
  const T* table(int edge) const { return interaction + table_at(edge); }
  double at(int edge, int tail_label, int head_label) const {
    return table(edge)[static_cast<std::size_t>(tail_label) * columns(edge) + head_label];
  }
  Slice slice(const Graph::Arc& arc, int other) const {
    const std::size_t row = columns(arc.edge);
    return arc.from_tail ? Slice{table(arc.edge) + other, row} : Slice{table(arc.edge) + other * row, 1};
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
