// All scores of a model in tables over edges, to be moved from one table to another: the sum of their best entries is a
// bound. A node makes the best entries of its labels equal over all of its edges, which does not let the bound rise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"

namespace neuralfactors {

class EdgeTables {
 public:
  // Begins with what the messages of the model have found.
  explicit EdgeTables(const Model& model) : model_(model), edges_of_(model.n_nodes) {
    for (int i = 0; i < model.n_nodes; ++i)
      for (int q = model.out_begin[i]; q < model.out_begin[i + 1]; ++q) add_edge(i, model.later[q]);
    take_messages();
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

 protected:
  static constexpr double kPerTable = 24;  // entries that take as long as all else that a table takes (measured)

  struct Edge {
    int first, second;  // first < second
    std::size_t table;
  };
  struct End {
    int edge;
    bool first;  // the node is the edge's first
  };

  const Model& model_;
  std::vector<Edge> edges_;
  std::vector<std::vector<End>> edges_of_;
  std::unordered_map<std::uint64_t, int> edge_between_;
  std::vector<double> tables_;
  std::size_t memory_ = 0;  // numbers in all tables
  double cost_ = 0;
  double unwatched_ = 0;  // entries of tables that have been looked at, for whoever watches the time
  std::vector<double> best_, sum_;

  int size(int i) const { return model_.count[i]; }

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

  int other(const End& end) const { return end.first ? edges_[end.edge].second : edges_[end.edge].first; }

  // The entry for label a of node i, an end of the edge, and b of the other end.
  double entry(const Edge& e, int i, int a, int b) const {
    return e.first == i ? table(e)[static_cast<std::size_t>(a) * size(e.second) + b]
                        : table(e)[static_cast<std::size_t>(b) * size(e.second) + a];
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
};

}  // namespace neuralfactors
