// Colour spaces: sRGB bytes to CIE Lab and to a point of the HSV cone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace neuralfactors::vision {

/// CIE Lab (D65, 2 degrees) of interleaved `rgb` bytes, times `scale`, as three planes; `linear` maps a byte to its
/// linear light.
inline void rgb_to_lab(const std::uint8_t* rgb, std::int64_t n_pixels, const float* linear, float scale, float* lab) {
  // Rows: X, Y, Z over their white point.
  constexpr double kToXyz[3][3] = {{0.412453 / 0.95047, 0.357580 / 0.95047, 0.180423 / 0.95047},
                                   {0.212671, 0.715160, 0.072169},
                                   {0.019334 / 1.08883, 0.119193 / 1.08883, 0.950227 / 1.08883}};
  for (std::int64_t i = 0; i < n_pixels; ++i) {
    const float r = linear[rgb[3 * i]], g = linear[rgb[3 * i + 1]], b = linear[rgb[3 * i + 2]];
    float f[3];
    for (int c = 0; c < 3; ++c) {
      const float t = r * float(kToXyz[c][0]) + g * float(kToXyz[c][1]) + b * float(kToXyz[c][2]);
      f[c] = t > float(0.008856) ? std::cbrt(t) : float(7.787) * t + float(16.0 / 116.0);
    }
    lab[i] = (116 * f[1] - 16) * scale;
    lab[n_pixels + i] = 500 * (f[0] - f[1]) * scale;
    lab[2 * n_pixels + i] = 200 * (f[1] - f[2]) * scale;
  }
}

/// Hue, saturation and value of interleaved `rgb` bytes as the point (S cos H, S sin H, V): red and the reds just below
/// it in hue are near each other there, and so are all greys.
inline void rgb_to_hsv_cone(const std::uint8_t* rgb, std::int64_t n_pixels, float* cone) {
  constexpr float kSixth = 1.0471975512f;  // a sixth of a turn, in radians
  for (std::int64_t i = 0; i < n_pixels; ++i) {
    const int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    const int value = std::max({r, g, b}), chroma = value - std::min({r, g, b});
    float sixths = 0;
    if (chroma > 0) {
      const float inverse = 1.0f / static_cast<float>(chroma);
      sixths = value == r   ? static_cast<float>(g - b) * inverse
               : value == g ? static_cast<float>(b - r) * inverse + 2
                            : static_cast<float>(r - g) * inverse + 4;
    }
    const float saturation = value > 0 ? static_cast<float>(chroma) / static_cast<float>(value) : 0;
    cone[3 * i] = saturation * std::cos(sixths * kSixth);
    cone[3 * i + 1] = saturation * std::sin(sixths * kSixth);
    cone[3 * i + 2] = static_cast<float>(value) / 255;
  }
}

}  // namespace neuralfactors::vision
