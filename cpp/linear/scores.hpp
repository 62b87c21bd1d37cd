// The scores of one training graph under the present weights, loss-augmented or not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "linear/sample.hpp"

namespace neuralfactors::linear {

struct Scores {
  std::vector<double> unary;  // (V, L), augmented with the cost of an error at every wrong label
  std::vector<double> tables;
  std::size_t stride = 0;  // from the table of one edge to that of the next; 0: all edges share one

  const double* table(std::size_t edge) const { return tables.data() + edge * stride; }

  // Edges without features share a table, which `expanded` repeats for each of them.
  void compute(const Sample& s, const Layout& layout, const double* w, bool expanded, bool augmented = true) {
    const auto nodes = layout.nodes(w);
    const auto edges = layout.edges(w);
    unary.resize(s.n_nodes * layout.n_labels);
    for (std::size_t i = 0; i < s.n_nodes; ++i) {
      double* row = unary.data() + i * layout.n_labels;
      nodes.values(s.node_features, i, row);
      if (augmented) add_costs(s, i, layout.n_labels, row);
    }
    const bool shared = layout.n_edge_features == 0 && !expanded;
    const std::size_t n_tables = shared ? std::min<std::size_t>(s.n_edges, 1) : s.n_edges;
    stride = shared ? 0 : layout.n_joint;
    tables.resize(n_tables * layout.n_joint);
    for (std::size_t e = 0; e < n_tables; ++e) edges.values(s.edge_features, e, tables.data() + e * layout.n_joint);
  }

  // Loss(y, z), if augmented, + g(x, z) - g(x, y), summed over what differs, so that nothing large cancels.
  template <class Label>
  double violation(const Sample& s, const Layout& layout, const Label* z) const {
    double total = 0;
    s.errors(
        layout, z,
        [&](std::size_t i, std::size_t right, std::size_t wrong) {
          total += unary[i * layout.n_labels + wrong] - unary[i * layout.n_labels + right];
        },
        [&](std::size_t e, std::size_t right, std::size_t wrong) { total += table(e)[wrong] - table(e)[right]; });
    return total;
  }

 private:
  static void add_costs(const Sample& s, std::size_t i, std::size_t n_labels, double* row) {
    if (s.n_costs > 1) {
      for (std::size_t a = 0; a < n_labels; ++a) row[a] += s.costs[i * n_labels + a];
      return;
    }
    for (std::size_t a = 0; a < n_labels; ++a) row[a] += s.costs[i];
    row[s.y[i]] -= s.costs[i];
  }
};

}  // namespace neuralfactors::linear
