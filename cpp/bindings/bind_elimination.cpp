// Python's way in to the elimination of variables.
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/python_signals.hpp"
#include "core/input.hpp"
#include "search/bucket_elimination.hpp"

namespace nb = nanobind;

namespace neuralfactors {

void bind_elimination(nb::module_& m);

namespace {

using Elimination = BucketElimination<double, std::int32_t>;

std::vector<int> variables_of(const Factor& f) { return {f.nodes, f.nodes + f.order}; }

void add(Elimination& elimination, const Factor& f) {
  const std::vector<int> variables = variables_of(f);
  std::size_t count = 1;
  for (int v : variables) count *= static_cast<std::size_t>(elimination.size(v));
  elimination.add(variables.data(), f.order,
                  [&](std::vector<double>& tables) { tables.insert(tables.end(), f.table, f.table + count); });
}

bool eliminate(const Integers& sizes, const Integers& ptr, const Integers& nodes, const Array<const double, 1>& tables,
               double max_entries, const Array<std::int64_t, 1>& values) {
  if (values.shape(0) != sizes.shape(0)) throw nb::value_error("values needs one entry per variable");
  for (std::size_t v = 0; v < sizes.shape(0); ++v)
    if (sizes(v) < 1 || sizes(v) > std::numeric_limits<std::int32_t>::max())
      throw nb::value_error("every variable needs at least one value");
  PythonSignals signals;
  Elimination elimination;
  elimination.reset(std::vector<int>(sizes.data(), sizes.data() + sizes.shape(0)));
  const auto for_each = [&](auto use) {
    for_each_table(
        ptr, nodes, tables, static_cast<std::int64_t>(sizes.shape(0)), [&](std::int64_t v) { return sizes(v); }, use);
  };
  for_each([&](const Factor& f) { elimination.tie_all(variables_of(f).data(), f.order); });
  if (!elimination.plan_all(max_entries, std::numeric_limits<double>::infinity())) return false;
  for_each([&](const Factor& f) { add(elimination, f); });
  {
    nb::gil_scoped_release release;
    elimination.run([](int, int) { return 0.0; }, [&] { signals.check(); });
  }
  for (std::size_t v = 0; v < values.shape(0); ++v) values.data()[v] = elimination.choice(static_cast<int>(v));
  return true;
}

}  // namespace

void bind_elimination(nb::module_& m) {
  m.def("eliminate", &eliminate, nb::arg("sizes").noconvert(), nb::arg("ptr").noconvert(), nb::arg("nodes").noconvert(),
        nb::arg("tables").noconvert(), nb::arg("max_entries"), nb::arg("values").noconvert(),
        "Fills in the best values of variables, unless a table would have more than max_entries; returns which.");
}

}  // namespace neuralfactors
