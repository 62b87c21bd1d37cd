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
//
// The outputs of a mirrored input are a square table that equals its own transpose, or minus that. Whatever is added to
// such a table is projected onto tables of this kind; so the weights are of this kind, and reading them needs no care.
template <class T>
struct LinearMap {
  T* weight = nullptr;  // (D, n_outputs)
  T* bias = nullptr;    // (n_outputs) or null
  std::size_t n_outputs = 0;
  const std::int8_t* mirror = nullptr;  // (D + 1), the last of the bias: 1, -1, or 0 if free; null: all are
  std::size_t n_inputs = 0, n_rows = 0;

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
    gradient(x, row, plus, minus, [&](double& entry, double slope) { entry += scale * slope; });
  }

  // Sets to zero what add() has touched; returns the squares of what was there.
  double clear(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus) const {
    double squares = 0;
    gradient(x, row, plus, minus, [&](double& entry, double) {
      squares += entry * entry;
      entry = 0;
    });
    return squares;
  }

 private:
  // Calls use(entry, slope) for the entries that contrast() depends on.
  template <class Use>
  void gradient(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus, Use&& use) const {
    if (mirror) return mirrored_gradient(x, row, plus, minus, use);
    if (bias) {
      use(bias[plus], 1);
      use(bias[minus], -1);
    }
    x.visit(row, [&](std::size_t d, double value) {
      double* w = weight + d * n_outputs;
      use(w[plus], value);
      use(w[minus], -value);
    });
  }

  template <class Use>
  void mirrored_gradient(const FeatureMatrix& x, std::size_t row, std::size_t plus, std::size_t minus, Use& use) const {
    auto table = [&](double* w, int sign, double value) {
      const double half = sign == 0 ? value : value / 2;
      use(w[plus], half);
      use(w[minus], -half);
      if (sign == 0) return;
      use(w[transposed(plus)], sign * half);
      use(w[transposed(minus)], -sign * half);
    };
    if (bias) table(bias, mirror[n_inputs], 1);
    x.visit(row, [&](std::size_t d, double value) { table(weight + d * n_outputs, mirror[d], value); });
  }

  std::size_t transposed(std::size_t entry) const { return entry % n_rows * n_rows + entry / n_rows; }
};

}  // namespace neuralfactors::linear
