// Which nodes should leave their label for an alternative one? The binary problem inside an expansion move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"
#include "cuts/qpbo.hpp"
#include "expansion/reparametrise.hpp"

namespace neuralfactors {

// Solves a binary move: reparametrises it, then looks at the connected sets of nodes that are left with excess.
class BinaryMove {
 public:
  void reset(int n_nodes) {
    reparametrisation_.reset(n_nodes);
    state_.assign(n_nodes, kIdle);
    place_.resize(n_nodes);
    active_.clear();
  }

  // Starts a move in which the nodes of positive excess are among the seeds.
  void start(const Graph& graph, const Move& move, const std::vector<int>& seeds, Interrupt& interrupt) {
    for (int i : active_) state_[i] = kIdle;
    active_ = reparametrisation_.settle(graph, move, seeds, interrupt);
    for (int i : active_) state_[i] = kActive;
    next_ = 0;
  }

  // The nodes that switch in the next connected set of active ones; false when there are no more sets.
  bool next(const Graph& graph, const Move& move, std::vector<int>& switches, Interrupt& interrupt) {
    while (next_ < active_.size() && state_[active_[next_]] != kActive) ++next_;
    if (next_ == active_.size()) return false;
    const bool frustrated = collect(graph, move, active_[next_], switches);
    if (frustrated) cut(graph, move, switches, interrupt);
    return true;
  }

  // All active nodes, whether they switch or not.
  const std::vector<int>& active() const { return active_; }

  bool switches(int i) const { return state_[i] == kSwitch; }

 private:
  enum State : char { kIdle, kActive, kSwitch, kKeep };

  // Connected active nodes, all marked to switch; whether some of their couplings are negative.
  bool collect(const Graph& graph, const Move& move, int seed, std::vector<int>& nodes) {
    bool frustrated = false;
    nodes.assign(1, seed);
    state_[seed] = kSwitch;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      for (int a = graph.begin[nodes[k]]; a < graph.begin[nodes[k] + 1]; ++a) {
        const Graph::Arc& arc = graph.arcs[a];
        if (state_[arc.node] != kActive && state_[arc.node] != kSwitch) continue;
        frustrated |= move.mine(arc) < 0;
        if (state_[arc.node] == kSwitch) continue;
        state_[arc.node] = kSwitch;
        nodes.push_back(arc.node);
      }
    }
    return frustrated;
  }

  // Leaves only the nodes that roof duality says should switch.
  void cut(const Graph& graph, const Move& move, std::vector<int>& nodes, Interrupt& interrupt) {
    qpbo_.reset(static_cast<int>(nodes.size()));
    for (std::size_t k = 0; k < nodes.size(); ++k) place_[nodes[k]] = static_cast<int>(k);
    for (int i : nodes) {
      double gain = move.excess_of(i);
      for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
        const Graph::Arc& arc = graph.arcs[a];
        gain -= std::max(move.mine(arc), 0.0);
        if (!arc.from_tail || state_[arc.node] != kSwitch) continue;
        qpbo_.add_coupling(place_[i], place_[arc.node], move.mine(arc) + move.theirs(arc));
      }
      qpbo_.add_gain(place_[i], gain);
    }
    qpbo_.balance();
    const int n_unknown = qpbo_.solve(interrupt);
    for (int i : nodes) state_[i] = qpbo_.value(place_[i]) == 1 ? kSwitch : kKeep;
    if (n_unknown > 0) climb(graph, move, nodes);
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [&](int i) { return state_[i] != kSwitch; }), nodes.end());
  }

  // Where roof duality does not know: coordinate ascent from "keep". It ends, as every step gains; the bound on the
  // rounds only guards against rounding.
  void climb(const Graph& graph, const Move& move, const std::vector<int>& nodes) {
    bool changed = true;
    for (std::size_t round = 0; changed && round < nodes.size(); ++round) {
      changed = false;
      for (int i : nodes) {
        if (qpbo_.value(place_[i]) != Qpbo::kUnknown) continue;
        double gain = move.excess_of(i), size = std::abs(gain);
        for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
          const Graph::Arc& arc = graph.arcs[a];
          gain -= std::max(move.mine(arc), 0.0);
          if (state_[arc.node] == kSwitch) gain += move.mine(arc) + move.theirs(arc);
          size += std::abs(move.mine(arc)) + std::abs(move.theirs(arc));
        }
        const char better = gain > 1e-12 * size ? kSwitch : kKeep;
        changed |= better != state_[i];
        state_[i] = better;
      }
    }
  }

  Qpbo qpbo_;
  Reparametrisation reparametrisation_;
  std::vector<char> state_;  // (V)
  std::vector<int> place_;   // (V) number within a set
  std::vector<int> active_;
  std::size_t next_ = 0;
};

}  // namespace neuralfactors
