// A small generator whose sequence is the same on every platform.
#pragma once

#include <cstdint>

namespace neuralfactors {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {
    for (int k = 0; k < 4; ++k) next();
  }
  std::uint64_t next() {  // xorshift64; the constant above keeps the state from being 0
    if (state_ == 0) state_ = 1;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  // Roughly normal: the sum of four uniform numbers, scaled to deviation 1.
  float normal() {
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<float>(next() >> 40) * 0x1p-24f - 0.5f;
    return sum * 1.7320508f;
  }
  int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

 private:
  std::uint64_t state_;
};

}  // namespace neuralfactors
