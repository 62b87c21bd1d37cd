// A small quadratic programme over a simplex, which the duals of structural SVMs fall into.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace neuralfactors::linear {

// Maximises <linear, alpha> - 1/2 alpha' gram alpha over alpha >= 0 whose sum stays that of the start, in place. Moves
// weight to the entry of steepest gain from the one that makes the most of it (sequential minimal optimisation with
// second-order choice), until the slopes differ by at most `tol` times the size of `linear`, or for `max_moves` moves.
inline void maximise_on_simplex(const double* gram, const double* linear, double* alpha, std::size_t n, double tol,
                                std::size_t max_moves) {
  thread_local std::vector<double> gradient;
  gradient.assign(linear, linear + n);
  double scale = 0;
  for (std::size_t i = 0; i < n; ++i) {
    scale = std::max(scale, std::abs(linear[i]));
    if (alpha[i] != 0)
      for (std::size_t j = 0; j < n; ++j) gradient[j] -= gram[i * n + j] * alpha[i];
  }
  if (scale == 0) scale = 1;
  for (std::size_t move = 0; move < max_moves; ++move) {
    const std::size_t gain = std::max_element(gradient.begin(), gradient.end()) - gradient.begin();
    const double* row = gram + gain * n;
    double steepest = 0, most = -1, step = 0;
    std::size_t give = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (!(alpha[j] > 0)) continue;
      const double slope = gradient[gain] - gradient[j], own = gram[j * n + j];
      const double curvature = std::max(row[gain] + own - 2 * row[j], 1e-12 * (1 + own));
      steepest = std::max(steepest, slope);
      if (slope * slope / curvature <= most) continue;
      most = slope * slope / curvature;
      give = j;
      step = std::min(alpha[j], slope / curvature);
    }
    if (steepest <= tol * scale) return;
    alpha[gain] += step;
    alpha[give] -= step;
    for (std::size_t j = 0; j < n; ++j) gradient[j] -= step * (row[j] - gram[give * n + j]);
  }
}

}  // namespace neuralfactors::linear
