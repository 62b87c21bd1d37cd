// Training graphs with linear factors: g(x, y) = <w, phi(x, y)>. Learners need psi(z) = phi(x, y) - phi(x, z) only in
// products and sums, which are read off the labels: a constraint is stored as a labelling, and memory does not grow
// with the number of parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "linear/features.hpp"
#include "search/tree.hpp"

namespace neuralfactors::linear {

// Where the factors stand in the weight vector: node weights, node biases, edge weights, edge biases.
struct Layout {
  std::size_t n_labels = 0, order = 2, n_joint = 0;  // n_joint = n_labels^order
  std::size_t n_node_features = 0, n_edge_features = 0;
  bool node_bias = true, edge_bias = true;
  std::vector<std::int8_t> edge_mirror;  // see LinearMap; empty: all tables of edges are free

  std::size_t dim() const { return edges_at() + n_joint * (n_edge_features + edge_bias); }

  template <class T>
  LinearMap<T> nodes(T* w) const {
    return {w, node_bias ? w + n_labels * n_node_features : nullptr, n_labels};
  }
  template <class T>
  LinearMap<T> edges(T* w) const {
    T* own = w + edges_at();
    const std::int8_t* mirror = edge_mirror.empty() ? nullptr : edge_mirror.data();
    return {own, edge_bias ? own + n_joint * n_edge_features : nullptr, n_joint, mirror, n_edge_features, n_labels};
  }

 private:
  std::size_t edges_at() const { return n_labels * (n_node_features + node_bias); }
};

// Nodes in an order in which parents come before children, where the graph is a forest.
struct Forest {
  struct Step {
    int node, parent, edge;  // parent and edge are -1 for a root
    bool from_tail;          // the rows of the edge's table are this node's labels
  };
  std::vector<Step> steps;
};

struct Sample {
  FeatureMatrix node_features, edge_features;
  const std::int64_t* edges = nullptr;  // (E, order)
  const std::int64_t* y = nullptr;      // (V)
  const double* costs = nullptr;        // (V, 1) of a wrong label, or (V, L) of every label, 0 of the right one
  std::size_t n_nodes = 0, n_edges = 0, n_costs = 1;  // n_costs: columns of costs
  bool is_forest = false;
  Forest forest;

  // Which entry of its table edge e takes under z.
  template <class Label>
  std::size_t joint(const Layout& layout, const Label* z, std::size_t e) const {
    std::size_t entry = 0;
    for (std::size_t q = 0; q < layout.order; ++q) entry = entry * layout.n_labels + z[edges[e * layout.order + q]];
    return entry;
  }

  // Calls at_node(row, right, wrong) and at_edge(row, right, wrong) wherever z errs.
  template <class Label, class AtNode, class AtEdge>
  void errors(const Layout& layout, const Label* z, AtNode&& at_node, AtEdge&& at_edge) const {
    for (std::size_t i = 0; i < n_nodes; ++i) {
      const std::size_t right = y[i], wrong = z[i];
      if (right != wrong) at_node(i, right, wrong);
    }
    for (std::size_t e = 0; e < n_edges; ++e) {
      const std::size_t right = joint(layout, y, e), wrong = joint(layout, z, e);
      if (right != wrong) at_edge(e, right, wrong);
    }
  }

  // <psi(z), w>
  template <class Label>
  double product(const Layout& layout, const Label* z, const double* w) const {
    const auto nodes = layout.nodes(w);
    const auto joints = layout.edges(w);
    double total = 0;
    errors(
        layout, z, [&](auto row, auto y_, auto z_) { total += nodes.contrast(node_features, row, y_, z_); },
        [&](auto row, auto y_, auto z_) { total += joints.contrast(edge_features, row, y_, z_); });
    return total;
  }

  // vector += scale psi(z)
  template <class Label>
  void add(const Layout& layout, const Label* z, double scale, double* vector) const {
    const auto nodes = layout.nodes(vector);
    const auto joints = layout.edges(vector);
    errors(
        layout, z, [&](auto row, auto y_, auto z_) { nodes.add(node_features, row, y_, z_, scale); },
        [&](auto row, auto y_, auto z_) { joints.add(edge_features, row, y_, z_, scale); });
  }

  // Sets to zero what add() has touched; returns the squares of what was there.
  template <class Label>
  double clear(const Layout& layout, const Label* z, double* vector) const {
    const auto nodes = layout.nodes(vector);
    const auto joints = layout.edges(vector);
    double squares = 0;
    errors(
        layout, z, [&](auto row, auto y_, auto z_) { squares += nodes.clear(node_features, row, y_, z_); },
        [&](auto row, auto y_, auto z_) { squares += joints.clear(edge_features, row, y_, z_); });
    return squares;
  }

  template <class Label>
  double loss(const Label* z) const {
    double total = 0;
    for (std::size_t i = 0; i < n_nodes; ++i)
      if (static_cast<std::int64_t>(z[i]) != y[i]) total += costs[n_costs == 1 ? i : i * n_costs + z[i]];
    return total;
  }

  // Looks once for cycles; edges are pairs.
  void plan() {
    Graph graph;
    graph.n_nodes = static_cast<int>(n_nodes);
    graph.n_edges = static_cast<int>(n_edges);
    for (std::size_t e = 0; e < n_edges; ++e) {
      graph.tail.push_back(static_cast<int>(edges[2 * e]));
      graph.head.push_back(static_cast<int>(edges[2 * e + 1]));
    }
    graph.link();
    TreeSolver tree;
    is_forest = tree.order(graph);
    if (!is_forest) return;
    forest.steps.reserve(n_nodes);
    for (int node : tree.nodes()) {
      const Graph::Arc* arc = tree.to_parent(graph, node);
      forest.steps.push_back(arc ? Forest::Step{node, arc->node, arc->edge, arc->from_tail}
                                 : Forest::Step{node, -1, -1, false});
    }
  }
};

}  // namespace neuralfactors::linear
