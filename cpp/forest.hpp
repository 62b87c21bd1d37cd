// Induced forests: sets of nodes without a cycle between them. Given the other labels, a forest is solved exactly.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "model.hpp"
#include "random.hpp"

namespace neuralfactors {

// Nodes in an order in which parents stand before their children.
struct Forest {
  struct Member {
    int node;
    int parent;       // index in members, -1 for a root
    int slot;         // out slot of the edge to the parent
    bool is_earlier;  // this node is the earlier end of that edge
  };
  std::vector<Member> members;
};

class ForestBuilder {
 public:
  // A maximal induced forest, its nodes taken in random order.
  void build(const Model& m, Random& random, Forest& forest) {
    const int n = m.n_nodes;
    order_.resize(n);
    root_.resize(n);
    index_.assign(n, kOutside);
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(root_.begin(), root_.end(), 0);
    for (int k = n - 1; k > 0; --k) std::swap(order_[k], order_[random.below(k + 1)]);
    for (int i : order_) try_to_add(m, i);
    forest.members.clear();
    for (int i : order_)
      if (index_[i] == kInside) grow(m, i, forest);
  }

 private:
  static constexpr int kOutside = -2, kInside = -1;
  std::vector<int> order_, root_, index_, touched_;

  int find(int i) {
    while (root_[i] != i) i = root_[i] = root_[root_[i]];
    return i;
  }

  template <class F>
  static void for_each_neighbour(const Model& m, int i, F f) {  // f(neighbour, slot, i is the earlier end)
    for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) f(m.later[q], q, true);
    for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) f(m.earlier[q], m.out_slot[q], false);
  }

  void try_to_add(const Model& m, int i) {
    touched_.clear();
    bool cycle = false;
    for_each_neighbour(m, i, [&](int j, int, bool) {
      if (cycle || index_[j] == kOutside) return;
      const int r = find(j);
      cycle = std::find(touched_.begin(), touched_.end(), r) != touched_.end();
      touched_.push_back(r);
    });
    if (cycle) return;
    index_[i] = kInside;
    for (int r : touched_) root_[r] = i;
  }

  void grow(const Model& m, int start, Forest& forest) {
    std::size_t next = forest.members.size();
    index_[start] = static_cast<int>(next);
    forest.members.push_back({start, -1, -1, false});
    for (; next < forest.members.size(); ++next) {
      const int i = forest.members[next].node;
      for_each_neighbour(m, i, [&](int j, int slot, bool i_is_earlier) {
        if (index_[j] != kInside) return;
        index_[j] = static_cast<int>(forest.members.size());
        forest.members.push_back({j, static_cast<int>(next), slot, !i_is_earlier});
      });
    }
  }
};

}  // namespace neuralfactors
