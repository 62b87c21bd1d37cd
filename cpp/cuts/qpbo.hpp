// Quadratic pseudo-boolean maximisation by roof duality (Hammer, Hansen & Simeone 1984; Kolmogorov & Rother 2007).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/interrupt.hpp"
#include "cuts/maxflow.hpp"

namespace neuralfactors {

// Maximises  sum_i gain_i x_i + sum_e coupling_e x_i x_j  over x in {0, 1}^n as far as one minimum cut can.
//
// With the field h_i = gain_i + 1/2 sum_e coupling_e, an edge prefers equal ends (coupling > 0) or different ones (< 0)
// with strength |coupling| / 2. In a component where some nodes can be flipped so that all edges prefer equal ends
// (every cycle has an even number of negative couplings) the cut is an exact solution. In the others every node is
// doubled into x_i and 1 - x_i, and the cut decides the nodes whose copies it separates: their values belong to an
// optimum.
class Qpbo {
 public:
  static constexpr int kUnknown = -1;

  void reset(int n_nodes) {
    field_.assign(n_nodes, 0);
    couplings_.clear();
  }

  void add_gain(int i, double gain) { field_[i] += gain; }

  void add_coupling(int i, int j, double coupling) {
    if (coupling == 0) return;
    couplings_.push_back({i, j, coupling});
    field_[i] += coupling / 2;
    field_[j] += coupling / 2;
  }

  // Two-colours the components: union-find in which every link knows whether its ends prefer to differ. Returns whether
  // every component agrees with some flip, so that the solution is exact.
  bool balance() {
    members_.resize(field_.size());
    for (int i = 0; i < size(); ++i) members_[i] = {i, false, false};
    bool balanced = true;
    for (const Coupling& c : couplings_) {
      const int a = find(c.i);
      const int b = find(c.j);
      const bool differ = members_[c.i].parity ^ members_[c.j].parity ^ (c.strength < 0);
      if (a != b) {
        members_[b].root = a;
        members_[b].parity = differ;
        members_[a].torn |= members_[b].torn;
      } else if (differ) {
        members_[a].torn = true;
        balanced = false;
      }
    }
    for (int i = 0; i < size(); ++i) find(i);
    return balanced;
  }

  // Number of nodes left unknown. Call balance() first.
  int solve(Interrupt& interrupt) {
    build();
    network_.solve(interrupt);
    int n_unknown = 0;
    for (int i = 0; i < size(); ++i) n_unknown += value(i) == kUnknown;
    return n_unknown;
  }

  // 0, 1 or kUnknown. The source side is x = 1, and as small as it can be: where nothing is flipped, ties give 0.
  int value(int i) const {
    const bool chosen = network_.on_source_side(place_[i]);
    if (!doubled(i)) return chosen != flipped(i);
    const bool rejected = network_.on_source_side(place_[i] + 1);
    return chosen == rejected ? kUnknown : chosen;
  }

  // How much more than the solution any other could gain: 0 but for rounding, and computed afresh from the flow, so
  // that what rounding did to the flow is in it. For balanced problems.
  double gap() const {
    std::vector<double> rest(field_.size());
    for (int i = 0; i < size(); ++i) rest[i] = flipped(i) ? -field_[i] : field_[i];
    double total = 0;
    for (std::size_t k = 0; k < couplings_.size(); ++k) {
      const int i = couplings_[k].i, j = couplings_[k].j;
      const double capacity = std::abs(couplings_[k].strength) / 2;
      const double flow = std::clamp(network_.flow(k), -capacity, capacity);
      const int cut = static_cast<int>(network_.on_source_side(i)) - static_cast<int>(network_.on_source_side(j));
      rest[i] -= flow;
      rest[j] += flow;
      total += capacity * std::abs(cut) - flow * cut;
    }
    for (int i = 0; i < size(); ++i) total += std::max(rest[i], 0.0) - (network_.on_source_side(i) ? rest[i] : 0.0);
    return total;
  }

 private:
  struct Coupling {
    int i, j;
    double strength;
  };
  struct Member {
    int root;     // of the component, after find()
    bool parity;  // flipped against that node
    bool torn;    // at a root: no flip of the component satisfies all signs
  };

  int size() const { return static_cast<int>(field_.size()); }
  bool flipped(int i) const { return members_[i].parity; }
  bool doubled(int i) const { return members_[members_[i].root].torn; }

  // Root of the component of i; afterwards members_[i] points at it.
  int find(int i) {
    bool parity = false;
    int root = i;
    for (; members_[root].root != root; root = members_[root].root) parity ^= members_[root].parity;
    while (members_[i].root != root) {
      Member& member = members_[i];
      const int next = member.root;
      const bool rest = parity ^ member.parity;
      member.root = root;
      member.parity = parity;
      parity = rest;
      i = next;
    }
    return root;
  }

  // Doubled parts carry half of every capacity, so that the two copies together count once.
  void build() {
    place_.resize(field_.size());
    int n_places = 0;
    for (int i = 0; i < size(); ++i) {
      place_[i] = n_places;
      n_places += doubled(i) ? 2 : 1;
    }
    network_.reset(n_places);
    for (int i = 0; i < size(); ++i) {
      if (doubled(i)) {
        network_.add_supply(place_[i], field_[i] / 2);
        network_.add_supply(place_[i] + 1, -field_[i] / 2);
      } else {
        network_.add_supply(place_[i], flipped(i) ? -field_[i] : field_[i]);
      }
    }
    for (const Coupling& c : couplings_) {
      const bool twins = doubled(c.i);
      const double capacity = std::abs(c.strength) / (twins ? 4 : 2);
      const int cross = twins && c.strength < 0 ? 1 : 0;
      network_.add_edge(place_[c.i], place_[c.j] + cross, capacity, capacity);
      if (twins) network_.add_edge(place_[c.i] + 1, place_[c.j] + 1 - cross, capacity, capacity);
    }
  }

  MaxFlow network_;
  std::vector<double> field_;
  std::vector<Coupling> couplings_;
  std::vector<Member> members_;
  std::vector<int> place_;  // node of the network; its twin follows
};

}  // namespace neuralfactors
