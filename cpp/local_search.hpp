// Improvement of a labelling: single nodes (ICM) and whole induced forests at a time, never downhill.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "forest.hpp"
#include "message_kernels.hpp"
#include "model.hpp"

namespace neuralfactors {

class LocalSearch {
 public:
  std::vector<int> labels;  // (V) by position

  void start(const Model& m, const std::vector<int>& initial) {
    model_ = &m;
    labels = initial;
    conditional_.assign(m.unary.begin(), m.unary.end());
    for (int i = 0; i < m.n_nodes; ++i)
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) {
        m.add_row(q, true, labels[m.later[q]], 1, score_row(i));
        m.add_row(q, false, labels[i], 1, score_row(m.later[q]));
      }
  }

  // Sweeps of single-node moves until none helps; returns the number of moves.
  int icm(int max_sweeps) {
    int moves = 0;
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      const int before = moves;
      for (int i = 0; i < model_->n_nodes; ++i) {
        const int a = best_label(score_row(i), labels[i]);
        if (a == labels[i]) continue;
        set(i, a);
        ++moves;
      }
      if (moves == before) break;
    }
    return moves;
  }

  // Best labels of all nodes of the forest, the others fixed; false when nothing changed.
  bool optimise(const Forest& forest) {
    const Model& m = *model_;
    const int stride = m.stride;
    const auto& members = forest.members;
    belief_.resize(members.size() * stride);
    message_.resize(stride);
    for (std::size_t k = 0; k < members.size(); ++k)
      std::copy_n(score_row(members[k].node), stride, belief_.data() + k * stride);
    for (std::size_t k = 0; k < members.size(); ++k) {  // what forest neighbours said no longer holds
      const Forest::Member& x = members[k];
      if (x.parent < 0) continue;
      m.add_row(x.slot, x.is_earlier, labels[members[x.parent].node], -1, belief_.data() + k * stride);
      m.add_row(x.slot, !x.is_earlier, labels[x.node], -1,
                belief_.data() + x.parent * static_cast<std::size_t>(stride));
    }
    for (std::size_t k = members.size(); k-- > 0;) {
      const Forest::Member& x = members[k];
      if (x.parent < 0) continue;
      send(x, belief_.data() + k * stride);
      float* up = belief_.data() + x.parent * static_cast<std::size_t>(stride);
      for (int a = 0; a < m.n_labels; ++a) up[a] += message_[a];
    }
    fresh_.resize(members.size());
    bool changed = false;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const Forest::Member& x = members[k];
      float* b = belief_.data() + k * stride;
      if (x.parent >= 0) m.add_row(x.slot, x.is_earlier, fresh_[x.parent], 1, b);
      fresh_[k] = best_label(b, labels[x.node]);
      changed |= fresh_[k] != labels[x.node];
    }
    if (!changed) return false;
    for (std::size_t k = 0; k < members.size(); ++k) set(members[k].node, fresh_[k]);
    return true;
  }

 private:
  const Model* model_ = nullptr;
  std::vector<float> conditional_;  // (V, S) score of each label of a node given its neighbours' labels
  std::vector<float> belief_, message_;
  std::vector<int> fresh_;

  float* score_row(int i) { return conditional_.data() + static_cast<std::size_t>(i) * model_->stride; }

  // The present label unless another is better by more than rounding.
  int best_label(const float* scores, int present) const {
    int best = 0;
    for (int a = 1; a < model_->n_labels; ++a)
      if (scores[a] > scores[best]) best = a;
    const float slack = 1e-6f * (std::abs(scores[best]) + std::abs(scores[present]));
    return scores[best] > scores[present] + slack ? best : present;
  }

  void set(int i, int label) {
    const Model& m = *model_;
    const int old = labels[i];
    if (old == label) return;
    labels[i] = label;
    for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) {
      m.add_row(q, false, label, 1, score_row(m.later[q]));
      m.add_row(q, false, old, -1, score_row(m.later[q]));
    }
    for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) {
      m.add_row(m.out_slot[q], true, label, 1, score_row(m.earlier[q]));
      m.add_row(m.out_slot[q], true, old, -1, score_row(m.earlier[q]));
    }
  }

  void send(const Forest::Member& x, const float* belief) {
    const Model& m = *model_;
    const bool rows_here = x.is_earlier != (m.flipped[x.slot] != 0);
    const auto kernel = rows_here ? kernels().max_over_rows : kernels().max_over_columns;
    kernel(m.table[x.slot], m.n_labels, m.table_row, belief, message_.data());
  }
};

}  // namespace neuralfactors
