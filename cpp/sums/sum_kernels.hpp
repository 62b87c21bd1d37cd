// The inner loops of sum-product, compiled once for each instruction set; the order of all additions is the same in
// each.
#pragma once

#include <cstddef>

#include "core/machine.hpp"

namespace neuralfactors {

struct SumKernels {
  // x[k] = exp(x[k]) for entries of at most 700; -inf, and all below -708, become 0. Accurate to 2 ulp.
  void (*exp_all)(double* x, std::size_t n);
  // Each of the rows x (n_rows, n) becomes exp(x) / sum, and its entry of log_sums the logarithm of that sum; one that
  // is wholly -inf becomes 0, with a log_sum of -inf.
  void (*softmax)(double* x, std::size_t n_rows, std::size_t n, double* log_sums);
  // out[k] += c[0] * rows[0][k] + ... + c[3] * rows[3][k]
  void (*accumulate4)(double* out, const double* const* rows, const double* c, std::size_t n);
  // sum_k a[k] * b[k]
  double (*dot)(const double* a, const double* b, std::size_t n);
};

namespace baseline {
extern const SumKernels sum_kernels;
}
namespace avx2 {
extern const SumKernels sum_kernels;
}

// The kernels for the machine this runs on.
inline const SumKernels& sum_kernels() {
#if defined(NF_HAVE_AVX2)
  if (has_avx2()) return avx2::sum_kernels;
#endif
  return baseline::sum_kernels;
}

}  // namespace neuralfactors
