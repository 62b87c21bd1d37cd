// One graph whose labellings y have the probability exp(g(x, y)) / Z, and where its marginals go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace neuralfactors {

constexpr double kForbiddenScore = -std::numeric_limits<double>::infinity();

// The scores as the caller holds them (T is float or double); nothing is owned, nothing is copied.
template <class T>
struct SumGraph {
  const T* unary = nullptr;             // (V, L)
  const T* tables = nullptr;            // (E, L ** Q), or one table for all edges
  const std::int64_t* edges = nullptr;  // (E, Q), node numbers of the batch; a node may come several times in a row
  std::int64_t first_node = 0;
  int n_nodes = 0;
  int n_edges = 0;
  int order = 2;  // Q
  int n_labels = 0;
  std::size_t table_size = 0;  // L ** Q
  bool shared = false;

  const T* row(int node) const { return unary + static_cast<std::size_t>(node) * n_labels; }
  const T* table(int edge) const { return shared ? tables : tables + edge * table_size; }
  int node(int edge, int axis) const {
    return static_cast<int>(edges[static_cast<std::size_t>(edge) * order + axis] - first_node);
  }
};

// Marginals times `weight`, those of the edges one by one or summed.
template <class T>
struct MarginalsOf {
  double weight = 1;
  T* nodes = nullptr;        // (V, L) or null: no marginals are asked for
  T* tables = nullptr;       // (E, L ** Q)
  double* shared = nullptr;  // (L ** Q), in place of `tables`

  bool wanted() const { return nodes != nullptr; }

  // `probabilities` has as many entries as a table.
  void store_table(int edge, const double* probabilities, std::size_t size) const {
    if (shared) {
      for (std::size_t k = 0; k < size; ++k) shared[k] += weight * probabilities[k];
    } else {
      T* out = tables + edge * size;
      for (std::size_t k = 0; k < size; ++k) out[k] = static_cast<T>(weight * probabilities[k]);
    }
  }
};

}  // namespace neuralfactors
