// What the caller gives: the arrays of one graph, as they are, and what can be wrong with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace neuralfactors {

// A table over any number of nodes; its axis k is the label of nodes[k].
struct Factor {
  int number = 0;                       // in the caller's list
  int order = 0;                        // number of nodes, which are distinct and of one graph
  const std::int64_t* nodes = nullptr;  // (Q)
  const double* table = nullptr;        // an axis for each node, C order
};

// One graph of a batch, scores apart; edges and factors hold node numbers of the whole batch.
struct InputGraph {
  const std::int64_t* edges = nullptr;  // (E, 2)
  std::int64_t first_node = 0;
  int n_nodes = 0;
  int n_edges = 0;
  int n_labels = 0;                              // as in Problem
  std::size_t table_step = 0;                    // as in Problem
  const std::int64_t* row_ptr = nullptr;         // (V + 1), where rows begin in the whole batch; null: all are alike
  const std::int64_t* table_ptr = nullptr;       // (E + 1), likewise
  const std::vector<Factor>* factors = nullptr;  // null: nodes and edges are all

  bool is_pairwise() const { return !factors || factors->empty(); }
  std::size_t row_at(int node) const { return row_ptr ? row_ptr[node] - row_ptr[0] : size(node) * n_labels; }
  std::size_t table_at(int edge) const { return table_ptr ? table_ptr[edge] - table_ptr[0] : size(edge) * table_step; }
  int n_tables() const { return table_ptr || table_step > 0 ? n_edges : std::min(n_edges, 1); }  // that differ
  std::size_t table_size(int edge) const {
    return table_ptr ? table_at(edge + 1) - table_at(edge) : size(n_labels) * n_labels;
  }
  std::size_t n_unary() const { return row_at(n_nodes); }
  std::size_t n_interaction() const {
    return n_tables() > 0 ? table_at(n_tables() - 1) + table_size(n_tables() - 1) : 0;
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
};

template <class T>
struct Input : InputGraph {
  const T* unary;  // as in Problem
  const T* interaction;

  Input(const InputGraph& graph, const T* rows, const T* tables)
      : InputGraph(graph), unary(rows), interaction(tables) {}
};

// An edge whose ends are not both nodes of its graph.
struct EdgeFault {
  int edge;
};

// Entry `index` of row or table `item` is no score: NaN, +inf or beyond kLargest.
struct ScoreFault {
  static constexpr double kLargest = 1e200;  // sums of larger scores could overflow
  enum Where : std::uint8_t { unary, interaction, factor };

  Where where;
  int item;
  int index;
  double value;

  static bool is_score(double v) { return std::abs(v) <= kLargest || v == -std::numeric_limits<double>::infinity(); }
};

}  // namespace neuralfactors
