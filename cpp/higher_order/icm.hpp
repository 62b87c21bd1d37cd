// Iterated conditional modes on a factor graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/interrupt.hpp"
#include "higher_order/model.hpp"

namespace neuralfactors::higher_order {

// Moves each node in turn to its best label given all others, until no node moves; the number of passes. A node moves
// only for a strict gain, so the score never falls.
inline int icm(const Model& model, std::vector<int>& labels, int max_iter, Interrupt& interrupt) {
  std::vector<double> scores(model.most_labels());
  bool moved = true;
  int passes = 0;
  while (moved && passes < max_iter) {
    moved = false;
    ++passes;
    for (int i = 0; i < model.n_nodes; ++i) {
      interrupt.check();
      const int n_labels = model.count(i);
      std::copy_n(model.row(i), n_labels, scores.begin());
      for (int k = model.first_arc[i]; k < model.first_arc[i + 1]; ++k) {
        const int arc = model.arcs[k], f = model.factor[arc];
        const std::size_t stride = model.stride(arc);
        const double* values = model.tables[f].data() + model.entry(f, labels.data()) - stride * labels[i];
        for (int a = 0; a < n_labels; ++a) scores[a] += values[stride * a];
      }
      const int best = static_cast<int>(std::max_element(scores.begin(), scores.begin() + n_labels) - scores.begin());
      if (scores[best] > scores[labels[i]]) {
        labels[i] = best;
        moved = true;
      }
    }
  }
  return passes;
}

}  // namespace neuralfactors::higher_order
