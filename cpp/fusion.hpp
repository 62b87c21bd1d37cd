// Fusion of two labellings: every node takes its label from one or the other (Lempitsky et al. 2010).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "improves.hpp"
#include "interrupt.hpp"
#include "problem.hpp"
#include "switching.hpp"

namespace neuralfactors {

// Reusable: keeps its memory from one problem to the next.
class Fusion {
 public:
  // Moves nodes of `labels` to `proposal` where roof duality can show that this is best; true if any moved. The result
  // scores at least as high as `labels` did.
  template <class T>
  bool fuse(const Problem<T>& problem, std::vector<int>& labels, const std::vector<int>& proposal,
            Interrupt& interrupt) {
    const Graph& graph = *problem.graph;
    measure(problem, labels, proposal);
    const Move move{hope_.data(), share_.data(), 1};
    seeds_.resize(graph.n_nodes);
    std::iota(seeds_.begin(), seeds_.end(), 0);
    switching_.reset(graph.n_nodes);
    switching_.start(graph, move, seeds_, interrupt);
    accepted_.clear();
    const auto alternative = [&](int i) { return proposal[i]; };
    const auto chosen = [&](int i) { return switching_.switches(i); };
    while (switching_.next(graph, move, switches_, interrupt)) {
      if (improves(problem, labels, switches_, chosen, alternative)) {
        accepted_.insert(accepted_.end(), switches_.begin(), switches_.end());
      }
    }
    for (int i : accepted_) labels[i] = proposal[i];
    return !accepted_.empty();
  }

 private:
  // Gains and couplings of the move from `labels` to `proposal`.
  template <class T>
  void measure(const Problem<T>& problem, const std::vector<int>& labels, const std::vector<int>& proposal) {
    const Graph& graph = *problem.graph;
    hope_.resize(graph.n_nodes);
    share_.resize(2 * static_cast<std::size_t>(graph.n_edges));
    for (int i = 0; i < graph.n_nodes; ++i) {
      hope_[i] = static_cast<double>(problem.row(i)[proposal[i]]) - problem.row(i)[labels[i]];
    }
    for (int e = 0; e < graph.n_edges; ++e) {
      const int u = graph.tail[e], v = graph.head[e];
      const double both_stay = problem.at(e, labels[u], labels[v]);
      const double tail_moves = problem.at(e, proposal[u], labels[v]) - both_stay;
      const double head_moves = problem.at(e, labels[u], proposal[v]) - both_stay;
      const double coupling = (problem.at(e, proposal[u], proposal[v]) - both_stay) - (tail_moves + head_moves);
      const bool moves = labels[u] != proposal[u] && labels[v] != proposal[v];
      hope_[u] += tail_moves;
      hope_[v] += head_moves;
      share_[2 * e] = share_[2 * e + 1] = moves ? coupling / 2 : 0;
    }
    for (int e = 0; e < graph.n_edges; ++e) {
      hope_[graph.tail[e]] += std::max(share_[2 * e], 0.0);
      hope_[graph.head[e]] += std::max(share_[2 * e], 0.0);
    }
  }

  Switching switching_;
  std::vector<double> hope_, share_;
  std::vector<int> seeds_, switches_, accepted_;
};

}  // namespace neuralfactors
