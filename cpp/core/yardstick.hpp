// What the gap between bound and score is measured by: the rounding of scores for a proof, the regret of a labelling
// for a tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/factor_graph.hpp"
#include "core/options.hpp"
#include "core/problem.hpp"
#include "core/statistics.hpp"

namespace neuralfactors {

// The regret of a row or table is what its best entry would gain over the one that the labelling uses. Unlike the score
// it does not change when a constant is added, and entries that are neither best nor used, such as penalties, do not
// count. A few rows or tables of huge regret cannot inflate the sum: each counts at most `kMost` times their median.
//
// A score is a sum of N rounded numbers, so that two ways of computing it agree to about N units of rounding of the sum
// of their sizes; `rounding` is 32 times that, which covers the sums and differences that the exact methods take.
struct Yardstick {
  static constexpr double kMost = 100;

  double regret = 0;
  double rounding = 0;

  // Of an allowed labelling, by the gap between its score and a bound.
  Status judge(double gap, double tolerance) const {
    if (gap <= rounding) return Status::optimal;
    return gap <= tolerance * regret ? Status::within_tol : Status::approximate;
  }

  // Of n numbers whose absolute values sum to `size`.
  static double rounding_of(int n, double size) { return std::exp2(-48) * n * size; }

  template <class T>
  void measure(const Problem<T>& p, const Statistics& statistics, const std::vector<int>& y) {
    const Graph& g = *p.graph;
    begin();
    if (!y.empty()) {  // else there is no labelling yet, or no node
      for (int i = 0; i < g.n_nodes; ++i) add(statistics.row_max[i], p.row(i)[y[i]]);
      for (int e = 0; e < g.n_edges; ++e) add(statistics.table_max[e], p.at(e, y[g.tail[e]], y[g.head[e]]));
    }
    finish(g.n_nodes + g.n_edges);
  }

  void measure(const FactorGraph& g, const int* y) {
    begin();
    for (int i = 0; i < g.n_nodes; ++i) add(*std::max_element(g.row(i), g.row(i) + g.count(i)), g.row(i)[y[i]]);
    for (int f = 0; f < g.n_factors(); ++f)
      add(*std::max_element(g.tables[f], g.tables[f] + g.table_size(f)), g.tables[f][g.entry(f, y)]);
    finish(g.n_nodes + g.n_factors());
  }

 private:
  std::vector<double> regrets_;
  double size_ = 0;

  void begin() {
    regrets_.clear();
    size_ = 0;
  }

  void add(double best, double used) {
    if (best > used) regrets_.push_back(best - used);
    size_ += std::max(std::abs(best), std::abs(used));
  }

  void finish(int n) {
    rounding = rounding_of(n, size_);
    regret = add_up();
  }

  double add_up() {
    if (regrets_.empty()) return 0;
    const auto middle = regrets_.begin() + static_cast<std::ptrdiff_t>(regrets_.size() / 2);
    std::nth_element(regrets_.begin(), middle, regrets_.end());
    const double most = kMost * *middle;
    double total = 0;
    for (double r : regrets_) total += std::min(r, most);
    return total;
  }
};

}  // namespace neuralfactors
