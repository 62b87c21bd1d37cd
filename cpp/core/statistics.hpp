// One look at every number of a problem: validity, and the largest and smallest entry of every row and table.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/input.hpp"
#include "core/problem.hpp"
#include "messages/message_kernels.hpp"

namespace neuralfactors {

struct Statistics {
  bool forbidden = false;                // some entry is -inf
  bool hopeless = false;                 // a whole row or table is -inf
  double top = 0;                        // sum of the row and table maxima
  double top_size = 0;                   // sum of their absolute values
  double magnitude = 0;                  // largest absolute value
  double range = 0;                      // sum over rows and tables of maximum less minimum; -inf entries do not count
  double widest = 0;                     // the largest of these differences
  std::vector<double> row_max, row_min;  // (V)
  std::vector<double> table_max, table_min;  // (E)

  // Scores leave float32's comfortable range only at the far ends; a power of two brings them back exactly.
  double unit() const {
    if (magnitude == 0 || (magnitude < 1e15 && magnitude > 1e-15)) return 1;
    return std::exp2(std::floor(std::log2(magnitude)));
  }

  // Whether a constant dwarfs the differences between the entries of a table.
  bool is_offset(int edge) const {
    const double size = std::max(std::abs(table_max[edge]), std::abs(table_min[edge]));
    return size > 64 * (table_max[edge] - table_min[edge]) || size > 1e15 || (size < 1e-15 && size > 0);
  }

  template <class T>
  void look(const Problem<T>& p) {
    const int n = p.graph->n_nodes, m = p.graph->n_edges;
    forbidden = hopeless = false;
    top = top_size = magnitude = range = widest = 0;
    for (auto* v : {&row_max, &row_min}) v->resize(n);
    for (auto* v : {&table_max, &table_min}) v->resize(m);
    for (int i = 0; i < n; ++i) {
      const Extent x = extent(p.row(i), p.count(i), ScoreFault::unary, i);
      row_max[i] = x.max;
      row_min[i] = x.min;
      add(x);
    }
    for (int e = 0; e < m; ++e) {
      const bool known = e > 0 && p.shared();
      const Extent x =
          known ? Extent{table_min[0], table_max[0]} : extent(p.table(e), p.table_size(e), ScoreFault::interaction, e);
      table_max[e] = x.max;
      table_min[e] = x.min;
      add(x);
    }
  }

  // Sums and ranges after the minima have changed.
  void add_up() {
    top = top_size = magnitude = range = widest = 0;
    for (std::size_t i = 0; i < row_max.size(); ++i) add({row_min[i], row_max[i]});
    for (std::size_t e = 0; e < table_max.size(); ++e) add({table_min[e], table_max[e]});
  }

 private:
  struct Extent {
    double min, max;
  };

  void add(const Extent& x) {
    top += x.max;
    top_size += std::abs(x.max);
    range += x.max - x.min;
    widest = std::max(widest, x.max - x.min);
    magnitude = std::max({magnitude, std::abs(x.max), std::abs(x.min)});
  }

  template <class T>
  Extent extent(const T* values, std::size_t count, ScoreFault::Where where, int item) {
    Extent x{0, 0};
    bool plain = false;
    if constexpr (std::is_same_v<T, float>) {
      const Spread s = kernels().spread(values, count);
      x = {s.min, s.max};
      plain = std::isfinite(s.sum);
    }
    return plain ? x : careful(values, count, where, item);
  }

  template <class T>
  Extent careful(const T* values, std::size_t count, ScoreFault::Where where, int item) {
    Extent x{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (std::size_t k = 0; k < count; ++k) {
      const double v = values[k];
      if (v == -std::numeric_limits<double>::infinity()) {
        forbidden = true;
        continue;
      }
      if (!ScoreFault::is_score(v)) throw ScoreFault{where, item, static_cast<int>(k), v};
      x.min = std::min(x.min, v);
      x.max = std::max(x.max, v);
    }
    if (x.max >= x.min) return x;
    hopeless = true;
    return {0, 0};
  }
};

}  // namespace neuralfactors
