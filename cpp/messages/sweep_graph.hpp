// A graph in sweep order: which node comes when, and where the edges to earlier and later nodes are found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "messages/sweep_order.hpp"

namespace neuralfactors {

// Nodes are numbered by their place in the sweep. An edge goes from its earlier to its later end and has a slot in two
// orders: `out`, sorted by (earlier, later), and `in`, sorted by (later, earlier). Neither depends on the caller's
// order.
struct SweepGraph {
  int n_nodes = 0, n_edges = 0;
  std::vector<int> position;          // (V) node -> place in the sweep
  std::vector<int> node;              // (V) place in the sweep -> node
  std::vector<int> out_begin;         // (V + 1) out slots of a node's edges to later nodes
  std::vector<int> in_begin;          // (V + 1) in slots of a node's edges to earlier nodes
  std::vector<int> in_slot;           // (E) by out slot
  std::vector<int> out_slot;          // (E) by in slot
  std::vector<int> later;             // (E) by out slot
  std::vector<int> earlier;           // (E) by in slot
  std::vector<int> edge;              // (E) by out slot: number in the graph
  std::vector<std::uint8_t> flipped;  // (E) by out slot: rows of the table are the labels of the later end

  void link(const Graph& g) {
    n_nodes = g.n_nodes;
    n_edges = g.n_edges;
    sweep_order(g, position, node);
    for (auto* v : {&in_slot, &out_slot, &later, &earlier, &edge}) v->resize(n_edges);
    flipped.resize(n_edges);
    auto ends = [&](int e) { return std::minmax({position[g.tail[e]], position[g.head[e]]}); };
    // Edges by later end first, so that they fall into the out slots sorted by both ends; in_slot serves as a buffer.
    count(in_begin, [&](int e) { return ends(e).second; });
    for (int e = 0; e < n_edges; ++e) in_slot[in_begin[ends(e).second]++] = e;
    count(out_begin, [&](int e) { return ends(e).first; });
    for (int e : in_slot) edge[out_begin[ends(e).first]++] = e;
    rewind(out_begin);
    rewind(in_begin);
    for (int out = 0; out < n_edges; ++out) {
      const int e = edge[out];
      const auto [lo, hi] = ends(e);
      const int in = in_begin[hi]++;
      later[out] = hi;
      earlier[in] = lo;
      out_slot[in] = out;
      in_slot[out] = in;
      flipped[out] = position[g.tail[e]] == hi;
    }
    rewind(in_begin);
  }

 private:
  // begin[k] becomes the first slot of key k.
  template <class Key>
  void count(std::vector<int>& begin, Key key) const {
    begin.assign(n_nodes + 1, 0);
    for (int e = 0; e < n_edges; ++e) ++begin[key(e) + 1];
    for (int i = 0; i < n_nodes; ++i) begin[i + 1] += begin[i];
  }

  // Undoes the advance of every entry to its successor's first slot.
  static void rewind(std::vector<int>& begin) {
    for (std::size_t i = begin.size() - 1; i > 0; --i) begin[i] = begin[i - 1];
    begin[0] = 0;
  }
};

}  // namespace neuralfactors
