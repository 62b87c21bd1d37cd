// Plain loops that compilers turn into vectors; no header with inline code may come in here (see CONTRIBUTING.md).
#include "sums/sum_kernels.hpp"

#include <math.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

namespace neuralfactors::NF_ISA {
namespace {

// 2^n * exp(r) with |r| <= ln(2) / 2, the second factor by its Taylor series to the 13th power.
void exp_all(double* x, std::size_t n) {
  constexpr double kShift = 0x1.8p52;  // added and taken away again, it rounds to an integer, which its low bits hold
  constexpr double kLog2e = 0x1.71547652b82fep0, kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
  for (std::size_t k = 0; k < n; ++k) {
    const double v = x[k] < -708.0 ? -708.0 : x[k];
    const double shifted = v * kLog2e + kShift;
    const double whole = shifted - kShift;
    const double r = (v - whole * kLn2High) - whole * kLn2Low;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    x[k] = x[k] < -708.0 ? 0.0 : p * power;
  }
}

void accumulate4(double* out, const double* const* rows, const double* c, std::size_t n) {
  const double *a = rows[0], *b = rows[1], *d = rows[2], *e = rows[3];
  const double ca = c[0], cb = c[1], cd = c[2], ce = c[3];
  for (std::size_t k = 0; k < n; ++k) out[k] += (ca * a[k] + cb * b[k]) + (cd * d[k] + ce * e[k]);
}

double larger(double a, double b) { return a > b ? a : b; }

double max_of(const double* x, std::size_t n) {
  double top[4] = {x[0], x[0], x[0], x[0]};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (std::size_t j = 0; j < 4; ++j) top[j] = larger(x[k + j], top[j]);
  for (; k < n; ++k) top[0] = larger(x[k], top[0]);
  return larger(larger(top[0], top[1]), larger(top[2], top[3]));
}

double sum_of(const double* x, std::size_t n) {
  double lanes[4] = {0, 0, 0, 0};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (std::size_t j = 0; j < 4; ++j) lanes[j] += x[k + j];
  double rest = 0;
  for (; k < n; ++k) rest += x[k];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + rest;
}

// All rows go through exp_all together, which is faster where they are short.
void softmax(double* x, std::size_t n_rows, std::size_t n, double* log_sums) {
  for (std::size_t r = 0; r < n_rows; ++r) {
    double* row = x + r * n;
    const double top = log_sums[r] = max_of(row, n);
    if (top < -1.7e308) continue;  // -inf less itself is no number
    for (std::size_t k = 0; k < n; ++k) row[k] -= top;
  }
  exp_all(x, n_rows * n);
  for (std::size_t r = 0; r < n_rows; ++r) {
    double* row = x + r * n;
    const double sum = sum_of(row, n);
    if (sum == 0) continue;
    log_sums[r] += log(sum);
    const double share = 1 / sum;
    for (std::size_t k = 0; k < n; ++k) row[k] *= share;
  }
}

double dot(const double* a, const double* b, std::size_t n) {
  double lanes[4] = {0, 0, 0, 0};
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4)
    for (std::size_t j = 0; j < 4; ++j) lanes[j] += a[k + j] * b[k + j];
  double rest = 0;
  for (; k < n; ++k) rest += a[k] * b[k];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + rest;
}

}  // namespace

extern const SumKernels sum_kernels = {exp_all, softmax, accumulate4, dot};

}  // namespace neuralfactors::NF_ISA
