// Tabu search: the best single-node move again and again, downhill where none helps; a label that a node has just left
// is out of bounds for a while.
//
// It needs neither beliefs nor small tables, so it finds its way where constraints are many and graphs are dense.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"

namespace neuralfactors {

class TabuSearch {
 public:
  std::vector<int> best;  // (V) by position: the best labelling since the start
  double visits = 0;      // to nodes whose scores have changed, since ever

  explicit TabuSearch(const Model& model) : model_(model) {
    for (int n : model.count) stride_ = std::max(stride_, (n + kLanes - 1) / kLanes * kLanes);
    unary_.assign(static_cast<std::size_t>(model.n_nodes) * stride_, kNone);
    for (int i = 0; i < model.n_nodes; ++i) std::copy_n(model.row(i), model.count[i], row(unary_, i));
    copy_tables();
    while (leaves_ < model.n_nodes) leaves_ *= 2;
    gain_.assign(2 * static_cast<std::size_t>(leaves_), kNone);
  }

  void start(const std::vector<int>& labels) {
    labels_ = labels;
    ban_.assign(unary_.size(), 0.f);
    freed_.assign(kLongest, {});
    for (int i = 0; i < model_.n_nodes; ++i) row(ban_, i)[labels_[i]] = kNone;
    time_ = 0;
    climbed_ = false;
    add_up();
    best = labels_;
    best_score_ = score_;
  }

  double n_entries() const { return static_cast<double>(tables_.size()); }  // that it keeps copies of

  double score_of_best() const { return best_score_; }  // in the model's units, but for rounding

  // So many moves; returns whether the best labelling has become better.
  bool run(int moves, Random& random) {
    const double before = best_score_;
    for (int k = 0; k < moves && gain_[1] > kNone; ++k) move(random);
    keep_if_best();
    return best_score_ > before;
  }

 private:
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  static constexpr int kLanes = 4;
  static constexpr float kRounding = 1e-6f;  // of the range of a table
  static constexpr int kTenure = 10;   // moves that a label stays out of bounds, at least; less than twice that at most
  static constexpr int kLongest = 64;  // a few more where others would be allowed again at the same time
  static constexpr int kDense = 8;     // parts of the nodes: where one has more neighbours, the tree is built anew

  struct Arc {
    int to;
    std::size_t table;  // rows by the label at its beginning
  };
  struct Freed {
    int node = -1, label = 0;
  };

  const Model& model_;
  int stride_ = 0;                     // of rows, which are padded
  std::vector<float> unary_, tables_;  // padded with kNone and with 0
  std::vector<float> content_;         // (V) a score of its label with which a node can gain nothing, whatever it meets
  std::vector<int> begin_;             // (V + 1)
  std::vector<Arc> arc_;
  std::vector<int> labels_;
  std::vector<float> score_of_;        // of each label of a node given the others
  std::vector<float> ban_;             // kNone where a label is out of bounds or the present one
  double score_ = 0, best_score_ = 0;  // in the model's units
  bool climbed_ = false;               // to the top of the first hill
  int time_ = 0;                       // moves
  std::vector<Freed> freed_;           // by time: what is allowed again
  int leaves_ = 1;
  std::vector<float> gain_;  // a tree: each entry is the larger one of its two children, leaves are nodes

  float* row(std::vector<float>& rows, int i) const { return rows.data() + static_cast<std::size_t>(i) * stride_; }
  const float* row(const std::vector<float>& rows, int i) const {
    return rows.data() + static_cast<std::size_t>(i) * stride_;
  }

  // Both ways, so that what a move changes lies side by side.
  void copy_tables() {
    const Model& m = model_;
    begin_.assign(1, 0);
    for (int i = 0; i < m.n_nodes; ++i) {
      content_.push_back(*std::max_element(m.row(i), m.row(i) + m.count[i]));
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) copy_table(i, m.later[q], q, true);
      for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) copy_table(i, m.earlier[q], m.out_slot[q], false);
      begin_.push_back(static_cast<int>(arc_.size()));
    }
  }

  void copy_table(int from, int to, int slot, bool forward) {
    arc_.push_back({to, tables_.size()});
    tables_.resize(tables_.size() + static_cast<std::size_t>(model_.count[from]) * stride_, 0.f);
    float *out = tables_.data() + arc_.back().table, low = -kNone, high = kNone;
    for (int a = 0; a < model_.count[from]; ++a, out += stride_)
      for (int b = 0; b < model_.count[to]; ++b) {
        out[b] = forward ? model_.at(slot, a, b) : model_.at(slot, b, a);
        low = std::min(low, out[b]);
        high = std::max(high, out[b]);
      }
    content_[from] += high - kRounding * (high - low);
  }

  const float* table_row(const Arc& arc, int label) const {
    return tables_.data() + arc.table + static_cast<std::size_t>(label) * stride_;
  }

  void add(const Arc& arc, int label) {
    float* scores = row(score_of_, arc.to);
    const float* entries = table_row(arc, label);
    for (int a = 0; a < stride_; ++a) scores[a] += entries[a];
  }

  // All scores, from the labels.
  void add_up() {
    score_of_ = unary_;
    for (int i = 0; i < model_.n_nodes; ++i)
      for (int k = begin_[i]; k < begin_[i + 1]; ++k) add(arc_[k], labels_[i]);
    score_ = 0;
    for (int i = 0; i < model_.n_nodes; ++i) {  // each table is part of the scores of both of its nodes
      score_ += (static_cast<double>(row(score_of_, i)[labels_[i]]) + row(unary_, i)[labels_[i]]) / 2;
      rate(i);
    }
    build_tree();
    visits += model_.n_nodes;
  }

  // What the best move of a node gains. Nodes that violate nothing stay: where scores are constraints, moves of them
  // lead nowhere, and there are always some that cost nothing.
  void rate(int i) {
    const float *scores = row(score_of_, i), *ban = row(ban_, i);
    float most[kLanes] = {kNone, kNone, kNone, kNone};
    for (int a = 0; a < stride_; a += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const float x = scores[a + lane] + ban[a + lane];
        most[lane] = most[lane] > x ? most[lane] : x;
      }
    const float own = scores[labels_[i]];
    gain_[leaves_ + i] =
        own < content_[i] ? std::max(std::max(most[0], most[1]), std::max(most[2], most[3])) - own : kNone;
  }

  int best_label(int i) const {
    const float *scores = row(score_of_, i), *ban = row(ban_, i);
    int best_one = 0;
    for (int a = 1; a < model_.count[i]; ++a)
      if (scores[a] + ban[a] > scores[best_one] + ban[best_one]) best_one = a;
    return best_one;
  }

  void build_tree() {
    for (int k = leaves_ - 1; k > 0; --k) gain_[k] = std::max(gain_[2 * k], gain_[2 * k + 1]);
  }

  void update_tree(int i) {
    for (int k = (leaves_ + i) / 2; k > 0; k /= 2) {
      const float larger = std::max(gain_[2 * k], gain_[2 * k + 1]);
      if (larger == gain_[k]) return;
      gain_[k] = larger;
    }
  }

  void move(Random& random) {
    if (gain_[1] < 0 && !std::exchange(climbed_, true)) add_up();  // penalties, now gone, have left rounding behind
    const int i = best_node(random), old = labels_[i], fresh = best_label(i);
    const float gain = gain_[leaves_ + i];
    if (gain < 0) keep_if_best();
    score_ += gain;
    labels_[i] = fresh;
    row(ban_, i)[fresh] = kNone;
    ++time_;
    forbid(i, old, kTenure + random.below(kTenure));
    rate(i);
    for (int k = begin_[i]; k < begin_[i + 1]; ++k) {
      shift(arc_[k], old, fresh);
      rate(arc_[k].to);
    }
    const Freed freed = std::exchange(freed_[time_ % kLongest], Freed{});
    if (freed.node >= 0 && labels_[freed.node] != freed.label) {
      row(ban_, freed.node)[freed.label] = 0;
      rate(freed.node);
      update_tree(freed.node);
    }
    const int n = begin_[i + 1] - begin_[i];
    visits += n + 1;
    if (kDense * n > leaves_) return build_tree();
    update_tree(i);
    for (int k = begin_[i]; k < begin_[i + 1]; ++k) update_tree(arc_[k].to);
  }

  void shift(const Arc& arc, int old, int fresh) {
    float* scores = row(score_of_, arc.to);
    const float *less = table_row(arc, old), *more = table_row(arc, fresh);
    for (int a = 0; a < stride_; ++a) scores[a] += more[a] - less[a];
  }

  // The label that a node leaves. Only one is allowed again at a time.
  void forbid(int i, int label, int moves) {
    while (freed_[(time_ + moves) % kLongest].node >= 0) ++moves;
    freed_[(time_ + moves) % kLongest] = {i, label};
  }

  void keep_if_best() {
    if (!(score_ > best_score_)) return;
    best_score_ = score_;
    best = labels_;
  }

  // One of those with the largest gain.
  int best_node(Random& random) const {
    int k = 1;
    while (k < leaves_) {
      const float left = gain_[2 * k], right = gain_[2 * k + 1];
      k = 2 * k + (left == right ? static_cast<int>(random.next() >> 63) : static_cast<int>(right > left));
    }
    return k - leaves_;
  }
};

}  // namespace neuralfactors
