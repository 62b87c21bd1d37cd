// Every labelling of a factor graph, tried: the oracle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/factor_graph.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"

namespace neuralfactors::higher_order {

inline void check_exhaustible(const FactorGraph& graph) {
  double labellings = 1;
  for (int i = 0; i < graph.n_nodes; ++i) labellings *= graph.count(i);
  if (labellings > 1e8)
    throw Unsuitable("method 'exhaustive' accepts at most 1e8 labellings, but this problem has more");
}

// The first best labelling in lexicographic order; empty when every labelling is forbidden.
inline std::vector<int> exhaustive(const FactorGraph& graph, Interrupt& interrupt) {
  check_exhaustible(graph);
  const int n_nodes = graph.n_nodes;
  std::vector<std::vector<int>> complete(n_nodes);  // the factors whose nodes are all labelled once node i is
  for (int f = 0; f < graph.n_factors(); ++f)
    complete[*std::max_element(graph.nodes_of(f), graph.nodes_of(f) + graph.order(f))].push_back(f);

  std::vector<int> labels(n_nodes, 0), best;
  std::vector<double> prefix(n_nodes + 1, 0.0);  // score of the first i nodes and of the factors among them
  double best_score = -std::numeric_limits<double>::infinity();
  int changed = 0;  // the labels before this node are those of the last turn
  for (std::size_t turn = 0; changed >= 0; ++turn) {
    if (turn % 1024 == 0) interrupt.check();
    for (int i = changed; i < n_nodes; ++i) {
      prefix[i + 1] = prefix[i] + graph.row(i)[labels[i]];
      for (int f : complete[i]) prefix[i + 1] += graph.tables[f][graph.entry(f, labels.data())];
    }
    if (prefix[n_nodes] > best_score) {
      best_score = prefix[n_nodes];
      best = labels;
    }
    for (changed = n_nodes - 1; changed >= 0 && ++labels[changed] == graph.count(changed); --changed)
      labels[changed] = 0;
  }
  return best;
}

}  // namespace neuralfactors::higher_order
