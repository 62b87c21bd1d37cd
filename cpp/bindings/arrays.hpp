// Arrays of numpy as the kernels take them, and the checks that several of them need.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/input.hpp"

namespace neuralfactors {

template <class T, int N>
using Array = nanobind::ndarray<T, nanobind::numpy, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;
using Integers = Array<const std::int64_t, 1>;

// Pointers must rise from 0 to the number of rows; everything that indexes with them relies on it.
inline void check_pointers(const Integers& ptr, std::size_t n_rows, const char* message) {
  const std::size_t n = ptr.shape(0);
  bool good = n > 0 && ptr(0) == 0 && ptr(n - 1) == static_cast<std::int64_t>(n_rows);
  for (std::size_t g = 1; good && g < n; ++g)
    good = ptr(g) >= ptr(g - 1) && ptr(g) - ptr(g - 1) <= std::numeric_limits<int>::max() / 2;
  if (!good) throw nanobind::value_error(message);
}

// Tables over variables, one after the other: table k is over nodes[ptr[k]:ptr[k + 1]]; size(v) is the number of values
// of variable v. Calls use(Factor), after checking that everything is in its place.
template <class Size, class Use>
void for_each_table(const Integers& ptr, const Integers& nodes, const Array<const double, 1>& tables,
                    std::int64_t n_variables, Size size, Use use) {
  check_pointers(ptr, nodes.shape(0), "the pointers of factors must rise from 0 to the number of their nodes");
  std::size_t used = 0;
  for (std::size_t k = 0; k + 1 < ptr.shape(0); ++k) {
    if (ptr(k + 1) == ptr(k)) throw nanobind::value_error("every factor needs at least one node");
    std::size_t entries = 1;
    for (std::int64_t at = ptr(k); at < ptr(k + 1); ++at) {
      const std::int64_t v = nodes(at);
      if (v < 0 || v >= n_variables) throw nanobind::value_error("the nodes of a factor are out of range");
      for (std::int64_t other = ptr(k); other < at; ++other)
        if (nodes(other) == v) throw nanobind::value_error("the nodes of a factor must be distinct");
      entries *= static_cast<std::size_t>(size(v));
      if (entries > tables.shape(0) - used) throw nanobind::value_error("the tables are too short for the factors");
    }
    use(Factor{static_cast<int>(k), static_cast<int>(ptr(k + 1) - ptr(k)), nodes.data() + ptr(k),
               tables.data() + used});
    used += entries;
  }
  if (used != tables.shape(0)) throw nanobind::value_error("the tables are too long for the factors");
}

}  // namespace neuralfactors
