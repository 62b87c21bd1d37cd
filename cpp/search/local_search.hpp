// Improvement of a labelling by single nodes (ICM), in float32 and never downhill.
#pragma once

#include <cmath>
#include <vector>

#include "messages/packed_model.hpp"

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
        m.add_row(q, true, i, labels[m.later[q]], 1, score_row(i));
        m.add_row(q, false, m.later[q], labels[i], 1, score_row(m.later[q]));
      }
  }

  // Of each label of a node, given its neighbours.
  const float* scores(int i) const { return conditional_.data() + model_->begin[i]; }

  // Sweeps of single-node moves until none helps; returns the number of moves.
  int icm(int max_sweeps) {
    int moves = 0;
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      const int before = moves;
      for (int i = 0; i < model_->n_nodes; ++i) {
        const int a = best_label(i, score_row(i));
        if (a == labels[i]) continue;
        set(i, a);
        ++moves;
      }
      if (moves == before) break;
    }
    return moves;
  }

 private:
  const Model* model_ = nullptr;
  std::vector<float> conditional_;  // score of each label of a node given its neighbours' labels

  float* score_row(int i) { return conditional_.data() + model_->begin[i]; }

  // The present label unless another is better by more than rounding.
  int best_label(int i, const float* scores) const {
    const int present = labels[i];
    int best = 0;
    for (int a = 1; a < model_->count[i]; ++a)
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
      m.add_row(q, false, m.later[q], label, 1, score_row(m.later[q]));
      m.add_row(q, false, m.later[q], old, -1, score_row(m.later[q]));
    }
    for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) {
      m.add_row(m.out_slot[q], true, m.earlier[q], label, 1, score_row(m.earlier[q]));
      m.add_row(m.out_slot[q], true, m.earlier[q], old, -1, score_row(m.earlier[q]));
    }
  }
};

}  // namespace neuralfactors
