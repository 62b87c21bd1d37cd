// Splitting a label image into connected regions of bounded size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuralfactors::vision {

/// Bounds on the area of a region, in pixels.
struct AreaLimits {
  std::int64_t smallest, largest;
};

/// Number the 4-connected pieces of `labels` (height x width) in raster order into `regions`; returns how many there
/// are. A piece grows breadth-first and is cut at `limits.largest` pixels; one below `limits.smallest` joins a region
/// beside it that is already numbered, or stands alone where there is none.
inline std::int32_t connect_regions(const std::int32_t* labels, std::int64_t height, std::int64_t width,
                                    const AreaLimits& limits, std::int32_t* regions) {
  constexpr std::int32_t kNone = -1;
  const std::int64_t n_pixels = height * width;
  std::fill_n(regions, n_pixels, kNone);
  std::vector<std::int64_t> piece;
  std::int32_t n_regions = 0;
  for (std::int64_t start = 0; start < n_pixels; ++start) {
    if (regions[start] != kNone) continue;
    std::int32_t beside = kNone;
    piece.assign(1, start);
    regions[start] = n_regions;
    const auto full = [&] { return static_cast<std::int64_t>(piece.size()) >= limits.largest; };
    for (std::size_t visited = 0; visited < piece.size() && !full(); ++visited) {
      const std::int64_t at = piece[visited], x = at % width;
      const std::array<std::int64_t, 4> around = {x + 1 < width ? at + 1 : -1, x > 0 ? at - 1 : -1,
                                                  at + width < n_pixels ? at + width : -1, at - width};
      for (const std::int64_t next : around) {
        if (next < 0) continue;
        if (regions[next] == kNone && labels[next] == labels[start]) {
          regions[next] = n_regions;
          piece.push_back(next);
          if (full()) break;
        } else if (regions[next] != kNone && regions[next] != n_regions) {
          beside = regions[next];
        }
      }
    }
    if (static_cast<std::int64_t>(piece.size()) >= limits.smallest) {
      ++n_regions;
    } else if (beside != kNone) {
      for (const std::int64_t at : piece) regions[at] = beside;
    }  // else it is the first, and the next piece, which touches it, takes the same number
  }
  return std::max(n_regions, 1);
}

}  // namespace neuralfactors::vision
