// Eight floats at a time: AVX2, SSE2 or plain C++, whichever the translation unit is compiled for.
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace neuralfactors {
namespace {  // each instruction set has its own copy: these names must not be shared between translation units

#if defined(__AVX2__)

struct Float8 {
  __m256 v;
};
inline Float8 load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store(float* p, Float8 a) { _mm256_storeu_ps(p, a.v); }
inline Float8 fill(float x) { return {_mm256_set1_ps(x)}; }
inline Float8 operator+(Float8 a, Float8 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Float8 operator-(Float8 a, Float8 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Float8 operator*(Float8 a, Float8 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Float8 max(Float8 a, Float8 b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Float8 min(Float8 a, Float8 b) { return {_mm256_min_ps(a.v, b.v)}; }
inline float reduce_max(Float8 a) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  x = _mm_max_ss(x, _mm_shuffle_ps(x, x, 1));
  return _mm_cvtss_f32(x);
}
// Lane k of the result is the maximum of r[k].
inline Float8 reduce_max_each(const Float8 (&r)[8]) {
  auto join = [](__m256 a, __m256 b) { return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)); };
  // After one join, lanes alternate between a and b; a second one leaves one lane of four inputs in each half.
  const __m256 a = join(r[0].v, r[2].v), b = join(r[1].v, r[3].v), c = join(r[4].v, r[6].v), d = join(r[5].v, r[7].v);
  const __m256 ab = join(a, b), cd = join(c, d);
  return {_mm256_max_ps(_mm256_permute2f128_ps(ab, cd, 0x20), _mm256_permute2f128_ps(ab, cd, 0x31))};
}

#elif defined(__SSE2__) || defined(_M_X64)

struct Float8 {
  __m128 lo, hi;
};
inline Float8 load(const float* p) { return {_mm_loadu_ps(p), _mm_loadu_ps(p + 4)}; }
inline void store(float* p, Float8 a) {
  _mm_storeu_ps(p, a.lo);
  _mm_storeu_ps(p + 4, a.hi);
}
inline Float8 fill(float x) { return {_mm_set1_ps(x), _mm_set1_ps(x)}; }
inline Float8 operator+(Float8 a, Float8 b) { return {_mm_add_ps(a.lo, b.lo), _mm_add_ps(a.hi, b.hi)}; }
inline Float8 operator-(Float8 a, Float8 b) { return {_mm_sub_ps(a.lo, b.lo), _mm_sub_ps(a.hi, b.hi)}; }
inline Float8 operator*(Float8 a, Float8 b) { return {_mm_mul_ps(a.lo, b.lo), _mm_mul_ps(a.hi, b.hi)}; }
inline Float8 max(Float8 a, Float8 b) { return {_mm_max_ps(a.lo, b.lo), _mm_max_ps(a.hi, b.hi)}; }
inline Float8 min(Float8 a, Float8 b) { return {_mm_min_ps(a.lo, b.lo), _mm_min_ps(a.hi, b.hi)}; }
inline float reduce_max(Float8 a) {
  __m128 x = _mm_max_ps(a.lo, a.hi);
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  x = _mm_max_ss(x, _mm_shuffle_ps(x, x, 1));
  return _mm_cvtss_f32(x);
}
inline Float8 reduce_max_each(const Float8 (&r)[8]) {
  auto join = [](__m128 a, __m128 b) { return _mm_max_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b)); };
  auto four = [&](const Float8* q) {
    auto half = [](Float8 a) { return _mm_max_ps(a.lo, a.hi); };
    return join(join(half(q[0]), half(q[2])), join(half(q[1]), half(q[3])));
  };
  return {four(r), four(r + 4)};
}

#else

struct Float8 {
  float v[8];
};
template <class F>
inline Float8 lanes(F f) {
  Float8 r;
  for (int k = 0; k < 8; ++k) r.v[k] = f(k);
  return r;
}
inline Float8 load(const float* p) {
  return lanes([&](int k) { return p[k]; });
}
inline void store(float* p, Float8 a) {
  for (int k = 0; k < 8; ++k) p[k] = a.v[k];
}
inline Float8 fill(float x) {
  return lanes([&](int) { return x; });
}
inline Float8 operator+(Float8 a, Float8 b) {
  return lanes([&](int k) { return a.v[k] + b.v[k]; });
}
inline Float8 operator-(Float8 a, Float8 b) {
  return lanes([&](int k) { return a.v[k] - b.v[k]; });
}
inline Float8 operator*(Float8 a, Float8 b) {
  return lanes([&](int k) { return a.v[k] * b.v[k]; });
}
inline Float8 max(Float8 a, Float8 b) {
  return lanes([&](int k) { return a.v[k] > b.v[k] ? a.v[k] : b.v[k]; });
}
inline Float8 min(Float8 a, Float8 b) {
  return lanes([&](int k) { return a.v[k] < b.v[k] ? a.v[k] : b.v[k]; });
}
inline float reduce_max(Float8 a) {
  float best = a.v[0];
  for (float x : a.v) best = x > best ? x : best;
  return best;
}
inline Float8 reduce_max_each(const Float8 (&r)[8]) {
  return lanes([&](int k) { return reduce_max(r[k]); });
}

#endif

}  // namespace
}  // namespace neuralfactors
