// The order in which a sweep visits the nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/problem.hpp"

namespace neuralfactors {

// Number of monotonic chains that cover all edges under the order: TRW-S converges faster when there are fewer.
inline long count_chains(const Graph& g, const std::vector<int>& position) {
  long chains = 0;
  for (int i = 0; i < g.n_nodes; ++i) {
    int ahead = 0;
    for (int k = g.begin[i]; k < g.begin[i + 1]; ++k) ahead += position[g.arcs[k].node] > position[i];
    chains += std::max(ahead, g.begin[i + 1] - g.begin[i] - ahead);
  }
  return chains;
}

// Breadth-first order from the node that a first breadth-first search reaches last, component by component.
inline std::vector<int> breadth_first(const Graph& g) {
  std::vector<int> order;
  std::vector<char> seen(g.n_nodes, 0);
  order.reserve(g.n_nodes);
  auto search = [&](int start, char mark) {
    const std::size_t first = order.size();
    order.push_back(start);
    seen[start] = mark;
    for (std::size_t k = first; k < order.size(); ++k) {
      const auto fresh = static_cast<std::ptrdiff_t>(order.size());
      for (int a = g.begin[order[k]]; a < g.begin[order[k] + 1]; ++a)
        if (seen[g.arcs[a].node] != mark) {
          seen[g.arcs[a].node] = mark;
          order.push_back(g.arcs[a].node);
        }
      std::sort(order.begin() + fresh, order.end());  // so that the order of the edges does not matter
    }
    return first;
  };
  for (int i = 0; i < g.n_nodes; ++i) {
    if (seen[i]) continue;
    const std::size_t first = search(i, 1);
    const int far = order.back();
    order.resize(first);
    search(far, 2);
  }
  return order;
}

// Fills position (node -> place) and node (place -> node): the order given where it is local, as that of image regions
// is, else a breadth-first one. A random order would double the number of sweeps.
inline void sweep_order(const Graph& g, std::vector<int>& position, std::vector<int>& node) {
  node.resize(g.n_nodes);
  position.resize(g.n_nodes);
  std::iota(node.begin(), node.end(), 0);
  std::iota(position.begin(), position.end(), 0);
  if (10 * count_chains(g, position) <= 13L * g.n_edges) return;
  node = breadth_first(g);
  for (int p = 0; p < g.n_nodes; ++p) position[node[p]] = p;
}

}  // namespace neuralfactors
