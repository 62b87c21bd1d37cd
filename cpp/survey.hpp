// One look at every number of a problem: validity, extent and the scale that tolerances refer to.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "message_kernels.hpp"
#include "problem.hpp"

namespace neuralfactors {

struct Survey {
  bool forbidden = false;          // some entry is -inf
  bool hopeless = false;           // a whole row or table is -inf
  double top = 0, bottom = 0;      // sums of the row and table maxima and minima; -inf entries do not count
  double mean = 0;                 // score of an average labelling
  double magnitude = 0;            // largest absolute value
  double total_magnitude = 0;      // sum of the largest absolute values of the rows and tables
  double penalty = 0;              // what stands for -inf lies this much below the maximum of its row or table
  std::vector<double> row_max;     // (V)
  std::vector<double> table_max;   // (E)
  std::vector<char> offset_table;  // (E) a constant dwarfs the differences between entries

  // Scores leave float32's comfortable range only at the far ends; a power of two brings them back exactly.
  double unit() const {
    if (magnitude == 0 || (magnitude < 1e15 && magnitude > 1e-15)) return 1;
    return std::exp2(std::floor(std::log2(magnitude)));
  }

  // What the best entry of every row and table would gain over an average labelling: unlike the score itself, it does
  // not change when a constant is added to a row or table. Tolerances are relative to it.
  double scale() const { return std::max(top - mean, 0.0); }

  // What the order of summation may change in a float64 score.
  double dust() const { return 1e-14 * total_magnitude; }

  // What float32 arithmetic may get wrong in a sum over the whole problem.
  double rounding() const { return 2e-6 * (top - bottom + penalty); }

  static constexpr double kLargest = 1e200;  // sums of larger scores could overflow

  // Entry `index` of row or table `item` is no score: NaN, +inf or beyond kLargest.
  struct Fault {
    bool in_unary;
    int item;
    int index;
    double value;
  };

  template <class T>
  void look(const Problem<T>& p) {
    const int n = p.graph->n_nodes, m = p.graph->n_edges, n_labels = p.n_labels;
    *this = Survey{};
    row_max.resize(n);
    table_max.resize(m);
    offset_table.assign(m, 0);
    for (int i = 0; i < n; ++i) row_max[i] = extent(p.row(i), n_labels, true, i).max;
    for (int e = 0; e < m; ++e) {
      const Extent x = extent(p.table(e), static_cast<std::size_t>(n_labels) * n_labels, false, e);
      table_max[e] = x.max;
      const double size = std::max(std::abs(x.max), std::abs(x.min));
      offset_table[e] = size > 64 * (x.max - x.min) || size > 1e15 || (size < 1e-15 && size > 0);
    }
  }

 private:
  struct Extent {
    double min, max, sum;
    std::size_t count;
  };

  template <class T>
  Extent extent(const T* values, std::size_t count, bool in_unary, int item) {
    Extent x{0, 0, 0, count};
    bool plain = false;
    if constexpr (std::is_same_v<T, float>) {
      const Spread s = kernels().spread(values, count);
      x = {s.min, s.max, s.sum, count};
      plain = std::isfinite(s.sum);
    }
    if (!plain) x = careful(values, count, in_unary, item);
    if (x.count == 0) {
      hopeless = true;
      return {0, 0, 0, 0};
    }
    top += x.max;
    bottom += x.min;
    mean += x.sum / static_cast<double>(x.count);
    const double largest = std::max(std::abs(x.max), std::abs(x.min));
    magnitude = std::max(magnitude, largest);
    total_magnitude += largest;
    return x;
  }

  template <class T>
  Extent careful(const T* values, std::size_t count, bool in_unary, int item) {
    Extent x{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0, 0};
    for (std::size_t k = 0; k < count; ++k) {
      const double v = values[k];
      if (v == -std::numeric_limits<double>::infinity()) {
        forbidden = true;
        continue;
      }
      if (!(std::abs(v) <= kLargest)) throw Fault{in_unary, item, static_cast<int>(k), v};
      x.min = std::min(x.min, v);
      x.max = std::max(x.max, v);
      x.sum += v;
      ++x.count;
    }
    return x;
  }
};

}  // namespace neuralfactors
