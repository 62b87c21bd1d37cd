// Which nodes should leave their label for an alternative one? The binary problem inside expansion and fusion moves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "interrupt.hpp"
#include "problem.hpp"
#include "qpbo.hpp"

namespace neuralfactors {

// A move in which the nodes of a set X switch changes the score by  sum_{i in X} gain_i + sum_{e within X} coupling_e.
// Each coupling is split between the ends of its edge, and hope_i = gain_i + (positive shares of i). The change is then
// at most the sum of the hopes in X: where no hope is positive, no switch pays, whatever the split.
// Entry k of each array is at [k * stride].
struct Move {
  double* hope;   // (V)
  double* share;  // (2 E) of the tail and of the head of each edge; both negative where the coupling is
  std::size_t stride;

  double& hope_of(int i) const { return hope[i * stride]; }
  double& mine(const Graph::Arc& arc) const { return share[(2 * std::size_t(arc.edge) + !arc.from_tail) * stride]; }
  double& theirs(const Graph::Arc& arc) const { return share[(2 * std::size_t(arc.edge) + arc.from_tail) * stride]; }
};

// Moves shares (a maximum flow, by blocking flows around each hopeful node) until what is left of the hopes is real: a
// set of nodes that shares everything within itself. Nodes outside such sets keep their labels in some best move.
class Switching {
 public:
  void reset(int n_nodes) {
    level_.resize(n_nodes, 0);
    cursor_.resize(n_nodes);
    place_.resize(n_nodes);
    for (int i : stuck_) state_[i] = kCalm;
    stuck_.clear();
    state_.resize(n_nodes, kCalm);
    next_ = 0;
  }

  // Gives the hope of a node to others that can bear it, or finds the set in which it is stuck.
  void settle(const Graph& graph, const Move& move, int seed, Interrupt& interrupt) {
    while (move.hope_of(seed) > 0 && state_[seed] == kCalm) {
      interrupt.check();
      const int depth = search(graph, move, seed);
      if (depth > 0) {
        push(graph, move, seed, depth);
      } else {
        for (int i : visited_) state_[i] = kStuck;
        stuck_.insert(stuck_.end(), visited_.begin(), visited_.end());
      }
      for (int i : visited_) level_[i] = 0;
    }
  }

  // The nodes that switch in the next connected set of stuck ones; false when there are no more sets.
  bool next(const Graph& graph, const Move& move, std::vector<int>& switches, Interrupt& interrupt) {
    while (next_ < stuck_.size() && state_[stuck_[next_]] != kStuck) ++next_;
    if (next_ == stuck_.size()) return false;
    const bool frustrated = collect(graph, move, stuck_[next_], switches);
    if (frustrated) cut(graph, move, switches, interrupt);
    return true;
  }

  const std::vector<int>& stuck() const { return stuck_; }
  bool switches(int i) const { return state_[i] == kSwitch; }

 private:
  enum State : char { kCalm, kStuck, kSwitch, kKeep };

  // Breadth-first along positive shares to the nearest nodes with room; their level, or 0 where there are none.
  int search(const Graph& graph, const Move& move, int seed) {
    visited_.assign(1, seed);
    level_[seed] = 1;
    int depth = 0;
    for (std::size_t k = 0; k < visited_.size(); ++k) {
      const int i = visited_[k];
      if (level_[i] == depth) break;
      cursor_[i] = graph.begin[i];
      for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
        const Graph::Arc& arc = graph.arcs[a];
        if (level_[arc.node] != 0 || state_[arc.node] != kCalm || !(move.mine(arc) > 0)) continue;
        level_[arc.node] = level_[i] + 1;
        visited_.push_back(arc.node);
        if (move.hope_of(arc.node) < 0) depth = level_[i] + 1;
      }
    }
    return depth;
  }

  // Moves shares along shortest paths, depth first, until none is left.
  void push(const Graph& graph, const Move& move, int seed, int depth) {
    path_.assign(1, seed);
    while (!path_.empty() && move.hope_of(seed) > 0) {
      const int i = path_.back();
      if (cursor_[i] == graph.begin[i + 1]) {
        path_.pop_back();
        if (!path_.empty()) ++cursor_[path_.back()];
        continue;
      }
      const Graph::Arc& arc = graph.arcs[cursor_[i]];
      const bool forward = level_[arc.node] == level_[i] + 1 && move.mine(arc) > 0;
      if (forward && level_[arc.node] < depth) {
        path_.push_back(arc.node);
      } else if (forward && move.hope_of(arc.node) < 0) {
        transfer(graph, move, arc.node);
      } else {
        ++cursor_[i];
      }
    }
  }

  // Moves as much hope along the path to `end` as it can take; the path then ends before its first used-up share.
  void transfer(const Graph& graph, const Move& move, int end) {
    double& from = move.hope_of(path_.front());
    double& to = move.hope_of(end);
    double amount = std::min(from, -to);
    for (int i : path_) amount = std::min(amount, move.mine(graph.arcs[cursor_[i]]));
    from -= amount;
    to += amount;
    std::size_t kept = path_.size();
    for (std::size_t k = path_.size(); k-- > 0;) {
      const Graph::Arc& arc = graph.arcs[cursor_[path_[k]]];
      move.mine(arc) -= amount;
      move.theirs(arc) += amount;
      if (!(move.mine(arc) > 0)) kept = k + 1;
    }
    path_.resize(kept);
  }

  // Connected stuck nodes, all marked to switch; whether some of their couplings are negative.
  bool collect(const Graph& graph, const Move& move, int seed, std::vector<int>& nodes) {
    bool frustrated = false;
    nodes.assign(1, seed);
    state_[seed] = kSwitch;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      for (int a = graph.begin[nodes[k]]; a < graph.begin[nodes[k] + 1]; ++a) {
        const Graph::Arc& arc = graph.arcs[a];
        if (state_[arc.node] != kStuck && state_[arc.node] != kSwitch) continue;
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
      double gain = move.hope_of(i);
      for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
        const Graph::Arc& arc = graph.arcs[a];
        gain -= std::max(move.mine(arc), 0.0);
        if (!arc.from_tail || state_[arc.node] != kSwitch) continue;
        qpbo_.add_coupling(place_[i], place_[arc.node], move.mine(arc) + move.theirs(arc));
      }
      qpbo_.add_gain(place_[i], gain);
    }
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
        double gain = move.hope_of(i), size = std::abs(gain);
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
  std::vector<char> state_;          // (V)
  std::vector<int> level_, cursor_;  // (V) of the search
  std::vector<int> place_;           // (V) number within a set
  std::vector<int> visited_, path_, stuck_;
  std::size_t next_ = 0;
};

}  // namespace neuralfactors
