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
  const double* table = nullptr;        // (L ** Q), C order
};

// One graph of a batch; edges and factors hold node numbers of the whole batch.
template <class T>
struct Input {
  const T* unary = nullptr;             // (V, L)
  const T* interaction = nullptr;       // (E, L, L), or (1, L, L) where all edges share one table
  std::size_t table_step = 0;           // as in Problem
  const std::int64_t* edges = nullptr;  // (E, 2)
  std::int64_t first_node = 0;
  int n_nodes = 0;
  int n_edges = 0;
  int n_labels = 0;
  const std::vector<Factor>* factors = nullptr;  // null: nodes and edges are all

  bool is_pairwise() const { return !factors || factors->empty(); }
  int n_tables() const { return table_step > 0 ? n_edges : std::min(n_edges, 1); }  // that differ
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
