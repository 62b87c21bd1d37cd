// SLIC superpixels (Achanta et al., 2012): k-means on colour and position in which a centre competes only for the
// pixels near it, followed by a pass that leaves every region connected and of a reasonable size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace neuralfactors::vision {

/// A centre: its position in pixels and its colour. One that has lost all its pixels takes no further part.
struct Centre {
  float y, x;
  float colour[3] = {0, 0, 0};
  bool alive = true;
};

/// An image of three planes, each height x width, one after the other.
struct Planes {
  const float* data;
  std::int64_t height, width;
  const float* row(int plane, std::int64_t y) const { return data + (plane * height + y) * width; }
};

/// Half the side of the square a centre competes for, and the weight of a squared pixel against a squared colour unit.
struct Reach {
  std::int64_t y, x;
  float weight;
};

/// Give `centre`, numbered `k`, the pixels of row `y` from `begin` to `end` to which it is nearer than all before it.
inline void compete_for_row(const Planes& image, const Centre& centre, std::int32_t k, std::int64_t y,
                            std::int64_t begin, std::int64_t end, float weight, float* nearest, std::int32_t* labels) {
  const float* first = image.row(0, y);
  const float* second = image.row(1, y);
  const float* third = image.row(2, y);
  const float dy = centre.y - static_cast<float>(y);
  const float dy_squared = dy * dy;
  // Without a branch, which lets the compiler use vector instructions.
  for (std::int64_t x = begin; x < end; ++x) {
    const float dx = centre.x - static_cast<float>(static_cast<std::int32_t>(x));
    const float d0 = first[x] - centre.colour[0];
    const float d1 = second[x] - centre.colour[1];
    const float d2 = third[x] - centre.colour[2];
    const float distance = (dy_squared + dx * dx) * weight + ((d0 * d0 + d1 * d1) + d2 * d2);
    const std::int32_t nearer = -static_cast<std::int32_t>(distance < nearest[x]);  // all bits or none
    nearest[x] = std::min(nearest[x], distance);
    labels[x] = (k & nearer) | (labels[x] & ~nearer);
  }
}

/// Label every pixel with its nearest centre; ties go to the lower number, pixels out of everyone's reach keep theirs.
inline void assign_pixels(const Planes& image, const std::vector<Centre>& centres, const Reach& reach,
                          std::vector<float>& nearest, std::int32_t* labels) {
  std::fill(nearest.begin(), nearest.end(), std::numeric_limits<float>::max());
  for (std::size_t k = 0; k < centres.size(); ++k) {
    const Centre& c = centres[k];
    if (!c.alive) continue;
    const auto low = [](float centre, std::int64_t by) {
      return static_cast<std::int64_t>(std::max(centre - static_cast<float>(by), 0.0f));
    };
    const auto high = [](float centre, std::int64_t by, std::int64_t size) {
      return static_cast<std::int64_t>(std::min(centre + static_cast<float>(by + 1), static_cast<float>(size)));
    };
    const std::int64_t x_begin = low(c.x, reach.x), x_end = high(c.x, reach.x, image.width);
    const std::int64_t y_begin = low(c.y, reach.y), y_end = high(c.y, reach.y, image.height);
    for (std::int64_t y = y_begin; y < y_end; ++y) {
      compete_for_row(image, c, static_cast<std::int32_t>(k), y, x_begin, x_end, reach.weight,
                      nearest.data() + y * image.width, labels + y * image.width);
    }
  }
}

/// Move every centre to the mean of its pixels.
inline void move_centres(const Planes& image, const std::int32_t* labels, std::vector<Centre>& centres) {
  struct Sum {
    double y = 0, x = 0, colour[3] = {0, 0, 0};
    std::int64_t count = 0;
  };
  std::vector<Sum> sums(centres.size());
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      Sum& sum = sums[labels[y * image.width + x]];
      sum.y += static_cast<double>(y);
      sum.x += static_cast<double>(x);
      for (int c = 0; c < 3; ++c) sum.colour[c] += image.row(c, y)[x];
      ++sum.count;
    }
  }
  for (std::size_t k = 0; k < centres.size(); ++k) {
    const Sum& sum = sums[k];
    centres[k].alive = sum.count > 0;
    if (!centres[k].alive) continue;
    const double count = static_cast<double>(sum.count);
    centres[k].y = static_cast<float>(sum.y / count);
    centres[k].x = static_cast<float>(sum.x / count);
    for (int c = 0; c < 3; ++c) centres[k].colour[c] = static_cast<float>(sum.colour[c] / count);
  }
}

/// Cluster the pixels of `image` into `labels` (height x width) around `centres`, which are moved `n_iterations` times.
/// The centres start without a colour, so the first round goes by position alone.
inline void slic(const Planes& image, std::vector<Centre> centres, const Reach& reach, int n_iterations,
                 std::int32_t* labels) {
  std::vector<float> nearest(static_cast<std::size_t>(image.height * image.width));
  std::fill_n(labels, nearest.size(), 0);
  for (int i = 0; i < n_iterations; ++i) {
    if (i > 0) move_centres(image, labels, centres);
    assign_pixels(image, centres, reach, nearest, labels);
  }
}

}  // namespace neuralfactors::vision
