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
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // from 0 to below 1
  int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

 private:
  std::uint64_t state_;
};

// A seed of its own for each of several generators (splitmix64).
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t z = seed + (stream + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace neuralfactors
