// A relaxation that is tighter than that over edges: triplets of nodes must agree on the labels of their edges.
//
// All scores lie in tables over edges, and the bound is the sum of their best entries. A node makes the best entries of
// its labels equal over all of its edges; a triplet takes the three tables of its edges, and hands to each a third of
// what the best labelling of all three nodes has with the entry. Neither lets the bound rise. Triplets are added where
// that lowers it most: triangles of the graph, and cycles of four nodes, which get an edge across.
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
#include "core/random.hpp"
#include "messages/packed_model.hpp"

namespace neuralfactors {

class TripletRelaxation {
 public:
  // Begins with what the messages of the model have found. Whatever has been done when the deadline passes, the bound
  // holds.
  TripletRelaxation(const Model& model, const Deadline& deadline)
      : model_(model), deadline_(deadline), edges_of_(model.n_nodes) {
    for (int i = 0; i < model.n_nodes; ++i)
      for (int q = model.out_begin[i]; q < model.out_begin[i + 1]; ++q) add_edge(i, model.later[q]);
    take_messages();
  }

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

  // What a sweep costs, in entries of tables.
  double sweep_cost() const { return cost_; }

  // No labelling of the model scores more.
  double bound() const {
    double sum = 0;
    for (const Edge& e : edges_) sum += best_entry(e);
    for (int i = 0; i < model_.n_nodes; ++i)
      if (edges_of_[i].empty()) sum += *std::max_element(model_.row(i), model_.row(i) + model_.count[i]);
    return model_.unit * sum + model_.offset + model_.rounding;
  }

  // A labelling, node by node: the best label given those before, and the best entries with those after, with some
  // noise on it.
  void round(bool forward, float noise, Random& random, std::vector<int>& labels) {
    labels.assign(model_.n_nodes, -1);
    for (int k = 0; k < model_.n_nodes; ++k) {
      const int i = forward ? k : model_.n_nodes - 1 - k;
      sum_.assign(size(i), 0.0);
      for (int a = 0; a < size(i); ++a)
        sum_[a] = noise * random.normal() + (edges_of_[i].empty() ? model_.row(i)[a] : 0.f);
      for (const End& end : edges_of_[i]) {
        const Edge& e = edges_[end.edge];
        const int there = labels[other(end)];
        if (there < 0) maxima(e, end.first, best_);
        for (int a = 0; a < size(i); ++a) sum_[a] += there < 0 ? best_[a] : entry(e, i, a, there);
      }
      labels[i] = static_cast<int>(std::max_element(sum_.begin(), sum_.end()) - sum_.begin());
    }
  }

  // By entry of the model's rows, at most 0: no labelling in which a node has a label scores more than the bound plus
  // the belief (times the model's unit).
  void beliefs(std::vector<float>& out) {
    out.assign(model_.unary.size(), 0.f);
    for (int i = 0; i < model_.n_nodes; ++i) {
      float* belief = out.data() + model_.begin[i];
      for (const End& end : edges_of_[i]) {
        const Edge& e = edges_[end.edge];
        maxima(e, end.first, best_);
        const double best = best_entry(e);
        for (int a = 0; a < model_.count[i]; ++a) belief[a] += static_cast<float>(best_[a] - best);
      }
      if (edges_of_[i].empty()) {
        const float top = *std::max_element(model_.row(i), model_.row(i) + model_.count[i]);
        for (int a = 0; a < model_.count[i]; ++a) belief[a] = model_.row(i)[a] - top;
      }
    }
  }

 private:
  static constexpr std::size_t kMemory = std::size_t{1} << 24;  // numbers in all tables
  static constexpr int kMostNeighbours = 24;                    // of a node in the middle of a cycle
  static constexpr double kUnwatched = 1e5;                     // entries: a tenth of a millisecond
  static constexpr double kPerTable = 24;                       // entries that take as long as all else (measured)
  static constexpr double kLeastGain = 1e-7;                    // of the scores' unit

  struct Edge {
    int first, second;  // first < second
    std::size_t table;
  };
  struct End {
    int edge;
    bool first;  // the node is the edge's first
  };
  struct Triplet {
    std::array<int, 3> edges;          // (i, j), (j, k), (i, k) with i < j < k
    std::array<std::size_t, 3> given;  // what each has got from this triplet, a table each
  };
  struct Proposal {
    double gain;
    int first, second;        // ends of the edge that the triplets share
    std::vector<int> middle;  // their third nodes
  };

  const Model& model_;
  const Deadline& deadline_;
  double unwatched_ = 0;  // entries of tables since the clock was last looked at
  std::vector<Edge> edges_;
  std::vector<std::vector<End>> edges_of_;
  std::unordered_map<std::uint64_t, int> edge_between_;
  std::unordered_map<std::uint64_t, std::unordered_set<int>> middles_;  // of triplets that there are, by edge
  std::vector<double> tables_, given_;
  std::vector<Triplet> triplets_;
  std::size_t memory_ = 0;
  double cost_ = 0;
  bool forward_ = true;
  std::vector<double> best_, sum_, joint_[3];

  int size(int i) const { return model_.count[i]; }

  bool out_of_time() {
    if (unwatched_ < kUnwatched) return false;
    unwatched_ = 0;
    return deadline_.passed();
  }
  double* table(const Edge& e) { return tables_.data() + e.table; }
  const double* table(const Edge& e) const { return tables_.data() + e.table; }
  std::size_t entries(const Edge& e) const { return static_cast<std::size_t>(size(e.first)) * size(e.second); }
  double best_entry(const Edge& e) const { return *std::max_element(table(e), table(e) + entries(e)); }

  static std::uint64_t key(int i, int j) {
    return static_cast<std::uint64_t>(std::min(i, j)) << 32 | static_cast<std::uint32_t>(std::max(i, j));
  }

  int find_edge(int i, int j) const {
    const auto found = edge_between_.find(key(i, j));
    return found == edge_between_.end() ? -1 : found->second;
  }

  // Edges that join the same nodes share one table.
  int add_edge(int i, int j) {
    const auto [place, fresh] = edge_between_.emplace(key(i, j), static_cast<int>(edges_.size()));
    if (!fresh) return place->second;
    const Edge e{std::min(i, j), std::max(i, j), tables_.size()};
    edges_of_[e.first].push_back({place->second, true});
    edges_of_[e.second].push_back({place->second, false});
    edges_.push_back(e);
    tables_.resize(tables_.size() + entries(e), 0.0);
    memory_ += entries(e);
    cost_ += kPerTable + static_cast<double>(entries(e));
    return place->second;
  }

  // Tables, with what is left of them after the messages, and the beliefs in equal parts to the edges of a node.
  void take_messages() {
    const Model& m = model_;
    for (int i = 0; i < m.n_nodes; ++i) {
      if (edges_of_[i].empty()) continue;
      best_.assign(m.row(i), m.row(i) + m.count[i]);
      const auto add = [&](const float* message) {
        for (int a = 0; a < m.count[i]; ++a) best_[a] += message[a];
      };
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) add(m.message_to_earlier(q));
      for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) add(m.message_to_later(q));
      for (double& b : best_) b /= static_cast<double>(edges_of_[i].size());
      for (const End& end : edges_of_[i]) shift(edges_[end.edge], end.first, best_);
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) {
        const int j = m.later[q];
        double* out = table(edges_[find_edge(i, j)]);
        const float *here = m.message_to_earlier(q), *there = m.message_to_later(m.in_slot[q]);
        for (int a = 0; a < m.count[i]; ++a)
          for (int b = 0; b < m.count[j]; ++b) *out++ += static_cast<double>(m.at(q, a, b)) - here[a] - there[b];
      }
    }
  }

  // Adds `values` to the table by the label of one of its ends.
  void shift(const Edge& e, bool first, const std::vector<double>& values) {
    unwatched_ += static_cast<double>(entries(e));
    double* t = table(e);
    for (int a = 0; a < size(e.first); ++a)
      for (int b = 0; b < size(e.second); ++b) *t++ += values[first ? a : b];
  }

  // The best entry with each label of one end.
  void maxima(const Edge& e, bool first, std::vector<double>& out) const {
    out.assign(size(first ? e.first : e.second), -std::numeric_limits<double>::infinity());
    const double* t = table(e);
    for (int a = 0; a < size(e.first); ++a)
      for (int b = 0; b < size(e.second); ++b, ++t) out[first ? a : b] = std::max(out[first ? a : b], *t);
  }

  void even_out(int i) {
    if (edges_of_[i].size() < 2) return;
    sum_.assign(size(i), 0.0);
    for (const End& end : edges_of_[i]) {
      maxima(edges_[end.edge], end.first, best_);
      for (int a = 0; a < size(i); ++a) {
        sum_[a] += best_[a];
        best_[a] = -best_[a];
      }
      shift(edges_[end.edge], end.first, best_);
    }
    for (double& s : sum_) s /= static_cast<double>(edges_of_[i].size());
    for (const End& end : edges_of_[i]) shift(edges_[end.edge], end.first, sum_);
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

  int other(const End& end) const { return end.first ? edges_[end.edge].second : edges_[end.edge].first; }

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

  // The entry for label a of node i, an end of the edge, and b of the other end.
  double entry(const Edge& e, int i, int a, int b) const {
    return e.first == i ? table(e)[static_cast<std::size_t>(a) * size(e.second) + b]
                        : table(e)[static_cast<std::size_t>(b) * size(e.second) + a];
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
