// The best labelling of a factor graph met so far.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"
#include "higher_order/icm.hpp"
#include "higher_order/model.hpp"

namespace neuralfactors::higher_order {

// `labels` if there are any, or else the best label of each node by itself.
inline std::vector<int> start(const Model& model, std::vector<int> labels) {
  if (!labels.empty()) return labels;
  for (int i = 0; i < model.n_nodes; ++i) {
    const double* row = model.row(i);
    labels.push_back(static_cast<int>(std::max_element(row, row + model.count(i)) - row));
  }
  return labels;
}

// The best labelling met so far, each one polished by ICM before it is compared.
class Incumbent {
 public:
  Incumbent(const Model& model, const std::vector<int>& init, Interrupt& interrupt)
      : labels(start(model, init)), score(model.score(labels.data())), model_(model), interrupt_(interrupt) {
    offer(labels);
  }

  // Returns whether it is better than the ones before.
  bool offer(std::vector<int> candidate) {
    icm(model_, candidate, kPolish, interrupt_);
    const double value = model_.score(candidate.data());
    if (value <= score) return false;
    score = value;
    labels = std::move(candidate);
    return true;
  }

  std::vector<int> labels;
  double score;  // in the model

 private:
  static constexpr int kPolish = 20;  // ICM passes; it is nearly always done after three or four
  const Model& model_;
  Interrupt& interrupt_;
};

}  // namespace neuralfactors::higher_order
