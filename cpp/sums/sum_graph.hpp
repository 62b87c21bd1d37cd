// One graph whose labellings y have the probability exp(g(x, y)) / Z, and where its marginals go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace neuralfactors {

constexpr double kForbiddenScore = -std::numeric_limits<double>::infinity();

// The scores as the caller holds them (T is float or double); nothing is owned, nothing is copied. Where nodes differ
// in their number of labels, rows and tables of their own sizes follow each other without gaps, and begin where row_ptr
// and table_ptr say; these are null where all nodes have n_labels.
template <class T>
struct SumGraph {
  const T* unary = nullptr;             // (V, L)
  const T* tables = nullptr;            // (E, L ** Q), or one table for all edges
  const std::int64_t* edges = nullptr;  // (E, Q), node numbers of the batch; a node may come several times in a row
  std::int64_t first_node = 0;
  int n_nodes = 0;
  int n_edges = 0;
  int order = 2;               // Q
  int n_labels = 0;            // of every node, or of the one that has most
  std::size_t table_size = 0;  // L ** Q
  bool shared = false;
  const std::int64_t* row_ptr = nullptr;    // (V + 1) or null
  const std::int64_t* table_ptr = nullptr;  // (E + 1) or null

  int count(int node) const { return row_ptr ? static_cast<int>(row_ptr[node + 1] - row_ptr[node]) : n_labels; }
  std::size_t entries(int edge) const {
    return table_ptr ? static_cast<std::size_t>(table_ptr[edge + 1] - table_ptr[edge]) : table_size;
  }
  // Where a row begins among the rows of this graph, and a table among its tables were each edge to have its own.
  std::size_t row_at(int node) const {
    return row_ptr ? static_cast<std::size_t>(row_ptr[node] - row_ptr[0]) : static_cast<std::size_t>(node) * n_labels;
  }
  std::size_t table_at(int edge) const {
    return table_ptr ? static_cast<std::size_t>(table_ptr[edge] - table_ptr[0]) : edge * table_size;
  }
  const T* row(int node) const { return unary + row_at(node); }
  const T* table(int edge) const { return shared ? tables : tables + table_at(edge); }
  int node(int edge, int axis) const {
    return static_cast<int>(edges[static_cast<std::size_t>(edge) * order + axis] - first_node);
  }
};

// Marginals times `weight`, those of the edges one by one or summed.
template <class T>
struct MarginalsOf {
  double weight = 1;
  T* nodes = nullptr;        // like the rows, or null: no marginals are asked for
  T* tables = nullptr;       // like the tables, one for each edge
  double* shared = nullptr;  // (L ** Q), in place of `tables`

  bool wanted() const { return nodes != nullptr; }

  // `probabilities` has as many entries as a table, which begins at `at`.
  void store_table(std::size_t at, const double* probabilities, std::size_t size) const {
    if (shared) {
      for (std::size_t k = 0; k < size; ++k) shared[k] += weight * probabilities[k];
    } else {
      T* out = tables + at;
      for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<T>(weight * probabilities[k]);
    }
  }
};

}  // namespace neuralfactors
