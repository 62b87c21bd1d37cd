// A MAP problem with factors of any order: maximise  sum_i unary[i, y_i] + sum_f table_f[y_nodes(f)]  over labellings
// y.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/input.hpp"

namespace neuralfactors {

// Rows and tables in double precision; Table is a pointer to or a vector of entries with an axis for each node, C
// order.
template <class Table>
struct Tables {
  int n_nodes = 0;
  std::vector<double> unary;           // rows one after the other
  std::vector<std::size_t> row_begin;  // (V + 1)
  std::vector<int> begin = {0};        // (F + 1); the nodes of factor f are nodes[begin[f]] .. nodes[begin[f + 1] - 1]
  std::vector<int> nodes;              // axis k of a table is the label of the factor's k-th node
  std::vector<int> counts;             // of the labels of these nodes
  std::vector<Table> tables;           // (F)

  int n_factors() const { return static_cast<int>(tables.size()); }
  int order(int factor) const { return begin[factor + 1] - begin[factor]; }
  const int* nodes_of(int factor) const { return nodes.data() + begin[factor]; }
  int count(int node) const { return static_cast<int>(row_begin[node + 1] - row_begin[node]); }  // of labels
  double* row(int node) { return unary.data() + row_begin[node]; }
  const double* row(int node) const { return unary.data() + row_begin[node]; }
  int most_labels() const {
    int most = 0;
    for (int i = 0; i < n_nodes; ++i) most = std::max(most, count(i));
    return most;
  }

  // Where in its table the labelling y finds the value of a factor.
  std::size_t entry(int factor, const int* y) const {
    std::size_t index = 0;
    for (int k = begin[factor]; k < begin[factor + 1]; ++k) index = index * counts[k] + y[nodes[k]];
    return index;
  }

  // Compatibility g(x, y); -inf when y uses a forbidden entry.
  double score(const int* y) const {
    long double total = 0;
    for (int i = 0; i < n_nodes; ++i) total += row(i)[y[i]];
    for (int f = 0; f < n_factors(); ++f) total += tables[f][entry(f, y)];
    return static_cast<double>(total);
  }
};

// The caller's scores, -inf = forbidden. Edges are factors of order 2, self-loops of order 1, and the nodes of one
// factor are distinct.
class FactorGraph : public Tables<const double*> {
 public:
  // Throws EdgeFault or ScoreFault. Tables of factors stay with the caller.
  template <class T>
  explicit FactorGraph(const Input<T>& in) {
    n_nodes = in.n_nodes;
    for (int i = 0; i <= n_nodes; ++i) row_begin.push_back(in.row_at(i));
    unary.assign(in.unary, in.unary + in.n_unary());
    interaction_.assign(in.interaction, in.interaction + in.n_interaction());
    add_edges(in);
    for (int i = 0; i < n_nodes; ++i) check(row(i), count(i), ScoreFault::unary, i);
    for (int e = 0; e < in.n_tables(); ++e)
      check(interaction_.data() + in.table_at(e), in.table_size(e), ScoreFault::interaction, e);
    if (in.is_pairwise()) return;
    for (const Factor& f : *in.factors) {
      add(f.nodes, f.order, in.first_node, f.table);
      check(f.table, table_size(n_factors() - 1), ScoreFault::factor, f.number);
    }
  }
  FactorGraph(const FactorGraph&) = delete;  // `tables` point into the graph itself
  FactorGraph& operator=(const FactorGraph&) = delete;

  std::size_t table_size(int factor) const {
    std::size_t size = 1;
    for (int k = 0; k < order(factor); ++k) size *= static_cast<std::size_t>(counts[begin[factor] + k]);
    return size;
  }

 private:
  std::vector<double> interaction_;  // as in Problem
  std::vector<double> diagonals_;    // of self-loops

  static void check(const double* values, std::size_t count, ScoreFault::Where where, int item) {
    for (std::size_t k = 0; k < count; ++k)
      if (!ScoreFault::is_score(values[k])) throw ScoreFault{where, item, static_cast<int>(k), values[k]};
  }

  void add(const std::int64_t* first, int n, std::int64_t first_node, const double* table) {
    for (int k = 0; k < n; ++k) {
      nodes.push_back(static_cast<int>(first[k] - first_node));
      counts.push_back(count(nodes.back()));
    }
    begin.push_back(static_cast<int>(nodes.size()));
    tables.push_back(table);
  }

  int loop_size(const InputGraph& in, int e) const {
    return count(static_cast<int>(in.edges[2 * static_cast<std::size_t>(e)] - in.first_node));
  }

  // Edges between two nodes, then self-loops, of which the diagonal counts.
  template <class T>
  void add_edges(const Input<T>& in) {
    std::vector<int> loops;
    for (int e = 0; e < in.n_edges; ++e) {
      const std::int64_t* ends = in.edges + 2 * static_cast<std::size_t>(e);
      for (int k = 0; k < 2; ++k)
        if (ends[k] < in.first_node || ends[k] >= in.first_node + n_nodes) throw EdgeFault{e};
      if (ends[0] == ends[1])
        loops.push_back(e);
      else
        add(ends, 2, in.first_node, interaction_.data() + in.table_at(e));
    }
    std::size_t size = 0;
    for (int e : loops) size += loop_size(in, e);
    diagonals_.reserve(size);  // `tables` point into it
    for (int e : loops) {
      const std::size_t n = loop_size(in, e);
      for (std::size_t a = 0; a < n; ++a) diagonals_.push_back(interaction_[in.table_at(e) + a * (n + 1)]);
      add(in.edges + 2 * static_cast<std::size_t>(e), 1, in.first_node, diagonals_.data() + diagonals_.size() - n);
    }
  }
};

}  // namespace neuralfactors
