// Features from arrays of numpy, dense or sparse, without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

#include "linear/features.hpp"

namespace neuralfactors {

using AnyArray = nanobind::ndarray<nanobind::numpy, nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

inline void require(bool good, const char* message) {
  if (!good) throw nanobind::value_error(message);
}

template <class T>
bool is(const AnyArray& array) {
  return array.dtype() == nanobind::dtype<T>();
}

// An array of any type, which is not copied; None makes an empty handle.
inline AnyArray as_array(const nanobind::object& given) {
  AnyArray array;
  require(given.is_none() || nanobind::try_cast(given, array, false), "features must be contiguous numpy arrays");
  return array;
}

inline linear::FeatureMatrix dense(const AnyArray& values, std::size_t n_rows, std::size_t n_columns) {
  require(values.ndim() == 2 && values.shape(0) == n_rows && values.shape(1) == n_columns,
          "features need a row per node or edge, and the problem's number of columns");
  require(is<float>(values) || is<double>(values), "features must be float32 or float64");
  return {values.data(), nullptr, nullptr, n_columns, is<double>(values), false};
}

template <class I>
void check_sparse(const linear::FeatureMatrix& m, std::size_t n_rows, std::size_t n_stored) {
  const I *ptr = static_cast<const I*>(m.row_ptr), *column = static_cast<const I*>(m.columns);
  bool good = ptr[0] == 0 && static_cast<std::size_t>(ptr[n_rows]) == n_stored;
  for (std::size_t r = 0; good && r < n_rows; ++r) good = ptr[r] <= ptr[r + 1];
  for (std::size_t k = 0; good && k < n_stored; ++k)
    good = column[k] >= 0 && static_cast<std::size_t>(column[k]) < m.n_columns;
  require(good, "sparse features need pointers that rise from 0 to the number of entries, and columns in range");
}

inline linear::FeatureMatrix sparse(const AnyArray& values, const AnyArray& columns, const AnyArray& row_ptr,
                                    std::size_t n_rows, std::size_t n_columns) {
  const bool wide = is<std::int64_t>(columns);
  require(is<float>(values) || is<double>(values), "features must be float32 or float64");
  require(values.ndim() == 1 && columns.ndim() == 1 && row_ptr.ndim() == 1 && values.shape(0) == columns.shape(0) &&
              row_ptr.shape(0) == n_rows + 1 && (wide || is<std::int32_t>(columns)) &&
              row_ptr.dtype() == columns.dtype(),
          "sparse features need a column per entry and a pointer per row and one more, all int32 or all int64");
  const linear::FeatureMatrix m{values.data(), columns.data(), row_ptr.data(), n_columns, is<double>(values), wide};
  wide ? check_sparse<std::int64_t>(m, n_rows, values.shape(0))
       : check_sparse<std::int32_t>(m, n_rows, values.shape(0));
  return m;
}

}  // namespace neuralfactors
