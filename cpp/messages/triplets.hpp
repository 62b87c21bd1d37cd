// A relaxation that is tighter than that over edges: triplets of nodes must agree on the labels of their edges.
//
// A triplet takes the three tables of its edges, and hands to each a third of
// what the best labelling of all three nodes has with the entry; that does not let the bound rise. Triplets are added
// where that lowers it most: triangles of the graph, and cycles of four nodes, which get an edge across.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/deadline.hpp"
#include "messages/edge_tables.hpp"
#include "messages/packed_model.hpp"

namespace neuralfactors {

class TripletRelaxation : public EdgeTables {
 public:
  // Whatever has been done when the deadline passes, the bound holds.
  TripletRelaxation(const Model& model, const Deadline& deadline) : EdgeTables(model), deadline_(deadline) {}

  // Whether the tables of a model are small enough to keep copies of them.
  static bool fits(const Model& model) {
    std::size_t entries = 0;
    for (int i = 0; i < model.n_nodes; ++i)
      for (int q = model.out_begin[i]; q < model.out_begin[i + 1]; ++q)
        entries += static_cast<std::size_t>(model.count[i]) * model.count[model.later[q]];
    return entries < kMemory / 4;
  }

  // Adds the most promising triplets, about as many as the model has edges; returns how many.
  int add_triplets() {
    std::vector<Proposal> proposals = propose();
    std::sort(proposals.begin(), proposals.end(), [](const Proposal& a, const Proposal& b) { return a.gain > b.gain; });
    const std::size_t before = triplets_.size();
    for (const Proposal& p : proposals) {
      if (triplets_.size() - before >= static_cast<std::size_t>(model_.n_edges) + 8 || memory_ > kMemory) break;
      accept(p);
    }
    return static_cast<int>(triplets_.size() - before);
  }

  // One pass over all nodes and triplets; the bound does not rise.
  void sweep() {
    for (int i = 0; i < model_.n_nodes && !out_of_time(); ++i) even_out(forward_ ? i : model_.n_nodes - 1 - i);
    for (std::size_t k = 0; k < triplets_.size() && !out_of_time(); ++k)
      update(triplets_[forward_ ? k : triplets_.size() - 1 - k]);
    forward_ = !forward_;
  }

 private:
  static constexpr std::size_t kMemory = std::size_t{1} << 24;  // numbers in all tables
  static constexpr int kMostNeighbours = 24;                    // of a node in the middle of a cycle
  static constexpr double kUnwatched = 1e5;                     // entries: a tenth of a millisecond
  static constexpr double kLeastGain = 1e-7;                    // of the scores' unit

  struct Triplet {
    std::array<int, 3> edges;          // (i, j), (j, k), (i, k) with i < j < k
    std::array<std::size_t, 3> given;  // what each has got from this triplet, a table each
  };
  struct Proposal {
    double gain;
    int first, second;        // ends of the edge that the triplets share
    std::vector<int> middle;  // their third nodes
  };

  const Deadline& deadline_;
  std::unordered_map<std::uint64_t, std::unordered_set<int>> middles_;  // of triplets that there are, by edge
  std::vector<double> given_;
  std::vector<Triplet> triplets_;
  bool forward_ = true;
  std::vector<double> joint_[3];

  bool out_of_time() {
    if (unwatched_ < kUnwatched) return false;
    unwatched_ = 0;
    return deadline_.passed();
  }
  void update(const Triplet& t) {
    const Edge &ij = edges_[t.edges[0]], &jk = edges_[t.edges[1]], &ik = edges_[t.edges[2]];
    for (int s = 0; s < 3; ++s) {
      const Edge& e = edges_[t.edges[s]];
      double *values = table(e), *given = given_.data() + t.given[s];
      for (std::size_t k = 0; k < entries(e); ++k) given[k] = values[k] -= given[k];
      joint_[s].assign(entries(e), -std::numeric_limits<double>::infinity());
    }
    best_labellings(ij, jk, ik);
    for (int s = 0; s < 3; ++s) {
      const Edge& e = edges_[t.edges[s]];
      double *values = table(e), *given = given_.data() + t.given[s];
      for (std::size_t k = 0; k < entries(e); ++k) {
        values[k] = joint_[s][k] / 3;
        given[k] = values[k] - given[k];
      }
    }
  }

  // joint_: the best sum of all three tables with each of their entries.
  void best_labellings(const Edge& ij, const Edge& jk, const Edge& ik) {
    const int n_i = size(ij.first), n_j = size(ij.second), n_k = size(ik.second);
    unwatched_ += static_cast<double>(entries(ij)) * n_k;
    for (int a = 0; a < n_i; ++a)
      for (int b = 0; b < n_j; ++b) {
        const double own = table(ij)[a * n_j + b];
        const double *row_j = table(jk) + static_cast<std::size_t>(b) * n_k,
                     *row_i = table(ik) + static_cast<std::size_t>(a) * n_k;
        double *best_j = joint_[1].data() + static_cast<std::size_t>(b) * n_k,
               *best_i = joint_[2].data() + static_cast<std::size_t>(a) * n_k;
        double best = -std::numeric_limits<double>::infinity();
        for (int c = 0; c < n_k; ++c) {
          const double x = own + row_j[c] + row_i[c];
          best = std::max(best, x);
          best_j[c] = std::max(best_j[c], x);
          best_i[c] = std::max(best_i[c], x);
        }
        joint_[0][a * n_j + b] = best;
      }
  }

  // Pairs of nodes with paths of two edges between them, and what triplets over these paths would gain.
  std::vector<Proposal> propose() {
    std::vector<Proposal> found;
    const auto add = [&](int i, int k, std::vector<int>& middle) {
      const double gain = gain_of(i, k, middle);
      if (gain > kLeastGain) found.push_back({gain, i, k, std::move(middle)});
    };
    for (std::size_t e = 0; e < edges_.size() && !out_of_time(); ++e) {
      std::vector<int> middle = triangles_with(edges_[e]);
      if (!middle.empty()) add(edges_[e].first, edges_[e].second, middle);
    }
    for (auto& [pair, middle] : paths_across()) {
      if (out_of_time()) break;
      if (middle.size() > 1) add(static_cast<int>(pair >> 32), static_cast<int>(pair & 0xffffffffu), middle);
    }
    return found;
  }

  // Third nodes of the triangles with an edge that are no triplets yet.
  std::vector<int> triangles_with(const Edge& e) const {
    const bool shorter = edges_of_[e.first].size() <= edges_of_[e.second].size();
    const int from = shorter ? e.first : e.second, to = shorter ? e.second : e.first;
    const auto known = middles_.find(key(from, to));
    std::vector<int> found;
    for (const End& end : edges_of_[from]) {
      const int j = other(end);
      if (j == to || find_edge(j, to) < 0) continue;
      if (known == middles_.end() || known->second.count(j) == 0) found.push_back(j);
    }
    return found;
  }

  // Middles of the paths between nodes that no edge joins.
  std::map<std::uint64_t, std::vector<int>> paths_across() const {
    std::map<std::uint64_t, std::vector<int>> paths;
    for (int j = 0; j < model_.n_nodes; ++j) {
      const auto& ends = edges_of_[j];
      if (ends.size() > kMostNeighbours) continue;
      for (std::size_t x = 0; x < ends.size(); ++x)
        for (std::size_t y = x + 1; y < ends.size(); ++y) {
          const std::uint64_t pair = key(other(ends[x]), other(ends[y]));
          if (edge_between_.count(pair) == 0) paths[pair].push_back(j);
        }
    }
    return paths;
  }

  // By how much the bound would fall if all paths and the edge between their ends had to agree at these.
  double gain_of(int i, int k, const std::vector<int>& middle) {
    const int direct = find_edge(i, k);
    const std::size_t n = static_cast<std::size_t>(size(i)) * size(k);
    double apart = 0;
    sum_.assign(n, 0.0);
    if (direct >= 0) {
      std::copy_n(table(edges_[direct]), n, sum_.begin());
      apart = best_entry(edges_[direct]);
    }
    for (int j : middle) {
      unwatched_ += static_cast<double>(n) * size(j);
      const Edge &one = edges_[find_edge(i, j)], &two = edges_[find_edge(j, k)];
      apart += best_entry(one) + best_entry(two);
      for (int a = 0; a < size(i); ++a)
        for (int c = 0; c < size(k); ++c) {
          double best = -std::numeric_limits<double>::infinity();
          for (int b = 0; b < size(j); ++b) best = std::max(best, entry(one, i, a, b) + entry(two, j, b, c));
          sum_[static_cast<std::size_t>(a) * size(k) + c] += best;
        }
    }
    return apart - *std::max_element(sum_.begin(), sum_.end());
  }

  void accept(const Proposal& p) {
    add_edge(p.first, p.second);
    for (int j : p.middle) {
      std::array<int, 3> nodes{p.first, p.second, j};
      std::sort(nodes.begin(), nodes.end());
      const auto [i, m, k] = nodes;
      if (middles_[key(p.first, p.second)].count(j) > 0) continue;  // by an earlier proposal
      Triplet t{{find_edge(i, m), find_edge(m, k), find_edge(i, k)}, {}};
      for (int s = 0; s < 3; ++s) {
        t.given[s] = given_.size();
        given_.resize(given_.size() + entries(edges_[t.edges[s]]), 0.0);
        memory_ += entries(edges_[t.edges[s]]);
      }
      middles_[key(i, m)].insert(k);
      middles_[key(m, k)].insert(i);
      middles_[key(i, k)].insert(m);
      cost_ += kPerTable + static_cast<double>(size(i)) * size(m) * size(k);
      triplets_.push_back(t);
    }
  }
};

}  // namespace neuralfactors
