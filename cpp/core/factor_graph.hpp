// A MAP problem with factors of any order: maximise  sum_i unary[i, y_i] + sum_f table_f[y_nodes(f)]  over labellings
// y.
#pragma once

#include <cstddef>
#include <vector>

namespace neuralfactors {

// The scores as the caller holds them, -inf = forbidden; nothing is owned, nothing is copied. A pairwise edge is a
// factor of order 2. The nodes of one factor are distinct.
struct FactorGraph {
  int n_nodes = 0;
  int n_labels = 0;
  const double* unary = nullptr;      // (V, L)
  std::vector<int> begin = {0};       // (F + 1); the nodes of factor f are nodes[begin[f]] .. nodes[begin[f + 1] - 1]
  std::vector<int> nodes;             // axis k of a table is the label of the factor's k-th node
  std::vector<const double*> tables;  // (F); table f has L ** order(f) entries, C order

  int n_factors() const { return static_cast<int>(tables.size()); }
  int order(int factor) const { return begin[factor + 1] - begin[factor]; }
  const int* nodes_of(int factor) const { return nodes.data() + begin[factor]; }
  const double* row(int node) const { return unary + static_cast<std::size_t>(node) * n_labels; }

  std::size_t table_size(int factor) const {
    std::size_t size = 1;
    for (int k = 0; k < order(factor); ++k) size *= static_cast<std::size_t>(n_labels);
    return size;
  }

  // Where in its table the labelling y finds the value of a factor.
  std::size_t entry(int factor, const int* y) const {
    std::size_t index = 0;
    for (int k = begin[factor]; k < begin[factor + 1]; ++k) index = index * n_labels + y[nodes[k]];
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

}  // namespace neuralfactors
