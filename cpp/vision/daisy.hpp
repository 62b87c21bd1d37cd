// Dense DAISY descriptors (Tola et al., 2010) on a lattice of points.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuralfactors::vision {

constexpr int kOrientations = 8;
using Histogram = std::array<float, kOrientations>;  // gradient strength by orientation

/// Histograms of a descriptor that are smoothed alike: where they lie, relative to the point described.
struct Ring {
  std::vector<float> kernel;  // one half of a symmetric smoothing kernel, from its middle outwards
  std::vector<std::array<std::int64_t, 2>> offsets;
};

/// The points to describe: `origin` + `stride` * (i, j), with `points` many i and j.
struct Lattice {
  std::array<std::int64_t, 2> origin;
  std::int64_t stride;
  std::array<std::int64_t, 2> points;
};

/// Orientation histogram of every pixel of `grey` (height x width): gradient strength times a circular normal
/// distribution.
inline std::vector<Histogram> gradient_histograms(const float* grey, std::int64_t height, std::int64_t width) {
  constexpr double kPi = 3.14159265358979323846;
  constexpr int kHalf = kOrientations / 2;
  float cosine[kHalf], sine[kHalf];  // times the concentration of the distribution
  for (int o = 0; o < kHalf; ++o) {
    const double angle = 2 * o * kPi / kOrientations - kPi;
    cosine[o] = static_cast<float>(std::cos(angle) * kOrientations / kPi);
    sine[o] = static_cast<float>(std::sin(angle) * kOrientations / kPi);
  }
  std::vector<Histogram> histograms(static_cast<std::size_t>(height * width));  // zeros
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const float* at = grey + y * width + x;
      const float dx = x + 1 < width ? at[1] - at[0] : 0, dy = y + 1 < height ? at[width] - at[0] : 0;
      const float strength = std::sqrt(dx * dx + dy * dy);
      if (strength == 0) continue;  // no gradient, no orientation: all zeros
      float* histogram = histograms[y * width + x].data();
      const float inverse = 1 / strength;
      for (int o = 0; o < kHalf; ++o) {
        // The opposite orientation has the opposite cosine: its weight is the reciprocal.
        const float weight = std::exp((cosine[o] * dx + sine[o] * dy) * inverse);
        histogram[o] = strength * weight;
        histogram[o + kHalf] = strength / weight;
      }
    }
  }
  return histograms;
}

/// The index within [0, size) that `i` falls on when the ends are mirrored, edge included: c b a | a b c | c b a.
inline std::int64_t mirror(std::int64_t i, std::int64_t size) {
  const std::int64_t period = 2 * size;
  i = ((i % period) + period) % period;
  return i < size ? i : period - 1 - i;
}

/// `histograms` smoothed down the columns with `kernel`.
inline std::vector<Histogram> smooth_columns(const std::vector<Histogram>& histograms, std::int64_t height,
                                             std::int64_t width, const std::vector<float>& kernel) {
  std::vector<Histogram> smooth(histograms.size());
  const std::int64_t n = width * kOrientations;
  const auto row = [&](std::int64_t y) { return histograms[mirror(y, height) * width].data(); };
  for (std::int64_t y = 0; y < height; ++y) {
    float* out = smooth[y * width].data();
    const float* middle = row(y);
    for (std::int64_t i = 0; i < n; ++i) out[i] = kernel[0] * middle[i];
    for (std::size_t t = 1; t < kernel.size(); ++t) {
      const float* above = row(y - static_cast<std::int64_t>(t));
      const float* below = row(y + static_cast<std::int64_t>(t));
      const float weight = kernel[t];
      for (std::int64_t i = 0; i < n; ++i) out[i] += weight * (above[i] + below[i]);
    }
  }
  return smooth;
}

/// The histogram at `x` of one row smoothed along it with `kernel`, written to `out`.
inline void smooth_point(const Histogram* row, std::int64_t width, std::int64_t x, const std::vector<float>& kernel,
                         float* out) {
  const float *weight = kernel.data(), *middle = row[x].data();
  const std::int64_t reach = static_cast<std::int64_t>(kernel.size()) - 1;
  const bool inside = x >= reach && x + reach < width;
  float sum[kOrientations];
  for (int o = 0; o < kOrientations; ++o) sum[o] = weight[0] * middle[o];
  for (std::int64_t t = 1; t <= reach; ++t) {
    const float* left = row[inside ? x - t : mirror(x - t, width)].data();
    const float* right = row[inside ? x + t : mirror(x + t, width)].data();
    for (int o = 0; o < kOrientations; ++o) sum[o] += weight[t] * (left[o] + right[o]);
  }
  std::copy_n(sum, kOrientations, out);
}

/// Scale each of `n` descriptors of `size` values so that its values sum to one.
inline void normalise(float* descriptors, std::int64_t n, std::int64_t size) {
  constexpr float kTiny = 1e-10f;  // a flat patch gets the uniform descriptor
  for (std::int64_t i = 0; i < n; ++i, descriptors += size) {
    float sum = 0;
    for (std::int64_t j = 0; j < size; ++j) sum += descriptors[j] + kTiny;
    const float inverse = 1 / sum;
    for (std::int64_t j = 0; j < size; ++j) descriptors[j] = (descriptors[j] + kTiny) * inverse;
  }
}

/// Descriptors of the points of `lattice` in `grey` (height x width), into rows x columns x (size of one).
/// Columns are smoothed everywhere, rows only at the points that are asked for.
inline void daisy(const float* grey, std::int64_t height, std::int64_t width, const std::vector<Ring>& rings,
                  const Lattice& lattice, float* descriptors) {
  const auto [rows, columns] = lattice.points;
  std::int64_t n_histograms = 0, done = 0;
  for (const Ring& ring : rings) n_histograms += static_cast<std::int64_t>(ring.offsets.size());
  const std::int64_t size = n_histograms * kOrientations;
  const std::vector<Histogram> histograms = gradient_histograms(grey, height, width);
  for (const Ring& ring : rings) {
    const std::vector<Histogram> smooth = smooth_columns(histograms, height, width, ring.kernel);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        float* out = descriptors + (i * columns + j) * size + done * kOrientations;
        const std::int64_t y = lattice.origin[0] + i * lattice.stride, x = lattice.origin[1] + j * lattice.stride;
        for (const auto& offset : ring.offsets) {
          smooth_point(smooth.data() + (y + offset[0]) * width, width, x + offset[1], ring.kernel, out);
          out += kOrientations;
        }
      }
    }
    done += static_cast<std::int64_t>(ring.offsets.size());
  }
  normalise(descriptors, rows * columns, size);
}

}  // namespace neuralfactors::vision
