// Feature matrices as the caller holds them, dense or in compressed sparse rows, and linear maps applied to their rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neuralfactors::linear {

// Nothing is owned, nothing is copied: values are float or double, indices int32 or int64.
struct FeatureMatrix {
  const void* values = nullptr;   // (N, D), or the stored entries
  const void* columns = nullptr;  // null: dense
  const void* row_ptr = nullptr;  // (N + 1) of a sparse matrix
  std::size_t n_columns = 0;
  bool wide_values = false;
  bool wide_indices = false;

  // Calls use(column, value) for the entries of a row that are not zero.
  template <class Use>
  void visit(std::size_t row, Use&& use) const {
    wide_values ? visit_as<double>(row, use) : visit_as<float>(row, use);
  }

 private:
  template <class T, class Use>
  void visit_as(std::size_t row, Use& use) const {
    const T* x = static_cast<const T*>(values);
    if (columns) return wide_indices ? sparse<std::int64_t>(row, x, use) : sparse<std::int32_t>(row, x, use);
    x += row * n_columns;
    for (std::size_t d = 0; d < n_columns; ++d)
      if (x[d] != 0) use(d, static_cast<double>(x[d]));
  }

  template <class I, class T, class Use>
  void sparse(std::size_t row, const T* x, Use& use) const {
    const I *column = static_cast<const I*>(columns), *begin = static_cast<const I*>(row_ptr) + row;
    for (I k = begin[0]; k < begin[1]; ++k) use(static_cast<std::size_t>(column[k]), static_cast<double>(x[k]));
  }
};

// x -> weight' x + bias, a part of the weight vector. The outputs of one input lie side by side, so that inputs that
// are zero cost nothing and the loop over the outputs needs no sum.
template <class T>
struct LinearMap {
  T* weight = nullptr;  // (D, n_outputs)
  T* bias = nullptr;    // (n_outputs) or null
  std::size_t n_outputs = 0;

  void values(const FeatureMatrix& x, std::size_t row, double* out) const {
    for (std::size_t j = 0; j < n_outputs; ++j) out[j] = bias ? bias[j] : 0;
    x.visit(row, [&](std::size_t d, double value) {
      const double* w = weight + d * n_outputs;
      for (std::size_t j = 0; j < n_outputs; ++j) out[j] += value * w[j];
    });
  }

  // Output `plus` less output `minus`.
  double contrast(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus) const {
    double total = bias ? bias[plus] - bias[minus] : 0;
    x.visit(row, [&](std::size_t d, double value) {
      const double* w = weight + d * n_outputs;
      total += value * (w[plus] - w[minus]);
    });
    return total;
  }

  // Adds `scale` times the gradient of contrast().
  void add(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus, double scale) const {
    if (bias) {
      bias[plus] += scale;
      bias[minus] -= scale;
    }
    x.visit(row, [&](std::size_t d, double value) {
      double* w = weight + d * n_outputs;
      w[plus] += scale * value;
      w[minus] -= scale * value;
    });
  }

  // Sets to zero what add() has touched; returns the squares of what was there.
  double clear(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus) const {
    double squares = 0;
    auto take = [&](double& entry) {
      squares += entry * entry;
      entry = 0;
    };
    if (bias) {
      take(bias[plus]);
      take(bias[minus]);
    }
    x.visit(row, [&](std::size_t d, double) {
      take(weight[d * n_outputs + plus]);
      take(weight[d * n_outputs + minus]);
    });
    return squares;
  }
};

}  // namespace neuralfactors::linear
