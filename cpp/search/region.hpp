// A random part of a graph that hangs together, for moves that change only what lies in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/random.hpp"

namespace neuralfactors {

class Region {
 public:
  std::vector<int> nodes;  // nearest to the first one first

  // Grows around some nodes whose labels will change at random; returns how many. for_each_neighbour(i, use) calls
  // use(j) for the neighbours j of node i.
  template <class ForEach>
  int grow(int n_nodes, Random& random, ForEach for_each_neighbour) {
    int n_changed = 2;
    while (n_changed < n_nodes / 2 && random.below(3) > 0) n_changed *= 2;
    search(n_nodes, std::min(kAround * n_changed, n_nodes), random, for_each_neighbour);
    return std::min(n_changed, static_cast<int>(nodes.size()));
  }

  bool contains(int node) const { return inside_[node]; }

 private:
  static constexpr int kAround = 16;  // nodes for each one whose label will change
  std::vector<char> inside_;

  // In the order in which a breadth-first search that now and then skips a node meets them.
  template <class ForEach>
  void search(int n_nodes, int size, Random& random, ForEach for_each_neighbour) {
    inside_.assign(n_nodes, 0);
    nodes.assign(1, random.below(n_nodes));
    inside_[nodes[0]] = 1;
    const auto add = [&](int j) {
      if (inside_[j] || static_cast<int>(nodes.size()) >= size || random.below(4) == 0) return;
      inside_[j] = 1;
      nodes.push_back(j);
    };
    for (std::size_t k = 0; k < nodes.size(); ++k) for_each_neighbour(nodes[k], add);
  }
};

}  // namespace neuralfactors
