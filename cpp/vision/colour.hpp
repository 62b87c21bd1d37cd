// Colour spaces: sRGB bytes to CIE Lab and to a point of the HSV cone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace neuralfactors::vision {

/// Cube root of a number from 0.008 to 1.1, within a unit in the last place; without a branch or a call, so that the
/// compiler uses vector instructions.
inline float cube_root(float t) {
  std::int32_t bits;
  std::memcpy(&bits, &t, sizeof t);
  // A third of the bits is about a third of the logarithm; two steps of Halley's method cube an error of 5 % twice.
  bits = static_cast<std::int32_t>(static_cast<float>(bits) * (1.0f / 3)) + 0x2a5137a0;
  float root;
  std::memcpy(&root, &bits, sizeof root);
  for (int step = 0; step < 2; ++step) {
    const float cube = root * root * root;
    root -= root * ((cube - t) / (2 * cube + t));
  }
  return root;
}

/// CIE Lab (D65, 2 degrees) of interleaved `rgb` bytes, times `scale`, as three planes; `linear` maps a byte to its
/// linear light.
inline void rgb_to_lab(const std::uint8_t* rgb, std::int64_t n_pixels, const float* linear, float scale, float* lab) {
  // Rows: X, Y, Z over their white point.
  constexpr double kToXyz[3][3] = {{0.412453 / 0.95047, 0.357580 / 0.95047, 0.180423 / 0.95047},
                                   {0.212671, 0.715160, 0.072169},
                                   {0.019334 / 1.08883, 0.119193 / 1.08883, 0.950227 / 1.08883}};
  constexpr std::int64_t kBlock = 256;  // pixels: looking bytes up and computing are loops of their own
  float f[3][kBlock];
  for (std::int64_t begin = 0; begin < n_pixels; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, n_pixels - begin);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint8_t* pixel = rgb + 3 * (begin + i);
      const float r = linear[pixel[0]], g = linear[pixel[1]], b = linear[pixel[2]];
      for (int c = 0; c < 3; ++c) f[c][i] = r * float(kToXyz[c][0]) + g * float(kToXyz[c][1]) + b * float(kToXyz[c][2]);
    }
    for (auto& plane : f) {
      for (std::int64_t i = 0; i < n; ++i) {
        const float t = plane[i], dark = float(7.787) * t + float(16.0 / 116.0);
        const float light = cube_root(std::max(t, float(0.008856)));
        plane[i] = t > float(0.008856) ? light : dark;
      }
    }
    float* out = lab + begin;
    for (std::int64_t i = 0; i < n; ++i) {
      out[i] = (116 * f[1][i] - 16) * scale;
      out[n_pixels + i] = 500 * (f[0][i] - f[1][i]) * scale;
      out[2 * n_pixels + i] = 200 * (f[1][i] - f[2][i]) * scale;
    }
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
