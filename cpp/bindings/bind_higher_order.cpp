// Python's way in to MAP inference with factors of any order.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/python_signals.hpp"
#include "core/factor_graph.hpp"
#include "core/yardstick.hpp"
#include "higher_order/solver.hpp"

namespace nb = nanobind;

namespace neuralfactors {
namespace {

template <class T, int N>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

HigherOrderMethod method_of(const std::string& name) {
  if (name == "trws") return HigherOrderMethod::kTrws;
  if (name == "bp") return HigherOrderMethod::kBp;
  if (name == "icm") return HigherOrderMethod::kIcm;
  if (name == "exhaustive") return HigherOrderMethod::kExhaustive;
  throw nb::value_error("method must be trws, bp, icm or exhaustive");
}

// Factor f is over nodes[node_ptr[f]:node_ptr[f + 1]]; the tables follow each other in one array.
FactorGraph make_graph(const Array<const double, 2>& unary, const Array<const std::int64_t, 1>& node_ptr,
                       const Array<const std::int64_t, 1>& nodes, const Array<const double, 1>& tables) {
  FactorGraph graph;
  graph.n_nodes = static_cast<int>(unary.shape(0));
  graph.n_labels = static_cast<int>(unary.shape(1));
  graph.unary = unary.data();
  if (graph.n_labels < 1) throw nb::value_error("unary needs at least one label");
  if (node_ptr.shape(0) < 1 || node_ptr(0) != 0) throw nb::value_error("node_ptr must start with 0");
  const std::size_t n_factors = node_ptr.shape(0) - 1;
  if (node_ptr(n_factors) != static_cast<std::int64_t>(nodes.shape(0)))
    throw nb::value_error("node_ptr must end with the length of nodes");
  std::size_t used = 0;
  for (std::size_t f = 0; f < n_factors; ++f) {
    if (node_ptr(f + 1) <= node_ptr(f) || node_ptr(f + 1) > node_ptr(n_factors))
      throw nb::value_error("every factor needs at least one node");
    std::size_t size = 1;
    for (std::int64_t k = node_ptr(f); k < node_ptr(f + 1); ++k) {
      if (nodes(k) < 0 || nodes(k) >= graph.n_nodes) throw nb::value_error("nodes is out of range");
      for (std::int64_t other = node_ptr(f); other < k; ++other)
        if (nodes(other) == nodes(k)) throw nb::value_error("the nodes of a factor must be distinct");
      graph.nodes.push_back(static_cast<int>(nodes(k)));
      size *= static_cast<std::size_t>(graph.n_labels);
      if (size > tables.shape(0) - used) throw nb::value_error("tables is too short for the factors");
    }
    graph.begin.push_back(static_cast<int>(graph.nodes.size()));
    graph.tables.push_back(tables.data() + used);
    used += size;
  }
  if (used != tables.shape(0)) throw nb::value_error("tables is too long for the factors");
  return graph;
}

std::vector<int> check_labels(const Array<const std::int64_t, 1>& labels, const FactorGraph& graph,
                              const std::string& name) {
  if (labels.shape(0) != static_cast<std::size_t>(graph.n_nodes))
    throw nb::value_error((name + " needs one entry per row of unary").c_str());
  for (std::size_t i = 0; i < labels.shape(0); ++i)
    if (labels(i) < 0 || labels(i) >= graph.n_labels) throw nb::value_error((name + " is out of range").c_str());
  return std::vector<int>(labels.data(), labels.data() + labels.shape(0));
}

std::tuple<double, double, int, int> solve_factor_graph(
    const Array<const double, 2>& unary, const Array<const std::int64_t, 1>& node_ptr,
    const Array<const std::int64_t, 1>& nodes, const Array<const double, 1>& tables, const std::string& method,
    int max_iter, double tol, double max_seconds, const std::optional<Array<const std::int64_t, 1>>& init,
    const Array<std::int64_t, 1>& labels, const std::optional<Array<double, 2>>& reduced_costs) {
  const FactorGraph graph = make_graph(unary, node_ptr, nodes, tables);
  if (labels.shape(0) != unary.shape(0)) throw nb::value_error("labels needs one entry per row of unary");
  if (reduced_costs && (reduced_costs->shape(0) != unary.shape(0) || reduced_costs->shape(1) != unary.shape(1)))
    throw nb::value_error("reduced_costs needs the shape of unary");
  std::vector<int> start;
  if (init) start = check_labels(*init, graph, "init");
  HigherOrderOptions options;
  options.max_iter = max_iter;
  options.tol = tol;
  options.max_seconds = max_seconds;
  options.init = init ? start.data() : nullptr;
  options.reduced_costs = reduced_costs.has_value();
  if (options.reduced_costs && method_of(method) != HigherOrderMethod::kTrws)
    throw nb::value_error("reduced_costs come from trws only");

  PythonSignals signals;
  HigherOrderResult result;
  {
    nb::gil_scoped_release release;
    result = solve_higher_order(graph, method_of(method), options, signals);
  }
  std::copy(result.labels.begin(), result.labels.end(), labels.data());
  if (reduced_costs) std::copy(result.reduced_costs.begin(), result.reduced_costs.end(), reduced_costs->data());
  return {result.score, result.bound, static_cast<int>(result.status), result.iterations};
}

std::tuple<double, double> measure_labelling(const Array<const double, 2>& unary,
                                             const Array<const std::int64_t, 1>& node_ptr,
                                             const Array<const std::int64_t, 1>& nodes,
                                             const Array<const double, 1>& tables,
                                             const Array<const std::int64_t, 1>& labels) {
  const FactorGraph graph = make_graph(unary, node_ptr, nodes, tables);
  const std::vector<int> y = check_labels(labels, graph, "labels");
  Yardstick yardstick;
  yardstick.measure(graph, y.data());
  return {yardstick.regret, yardstick.rounding};
}

}  // namespace

void bind_higher_order(nb::module_& m) {
  m.def("solve_factor_graph", &solve_factor_graph, nb::arg("unary").noconvert(), nb::arg("node_ptr").noconvert(),
        nb::arg("nodes").noconvert(), nb::arg("tables").noconvert(), nb::arg("method"), nb::arg("max_iter"),
        nb::arg("tol"), nb::arg("max_seconds"), nb::arg("init").noconvert().none(), nb::arg("labels").noconvert(),
        nb::arg("reduced_costs").noconvert().none(),
        "Score, bound, status and number of iterations; fills labels (V,) and, for trws, reduced_costs (V, L).");
  m.def("measure_labelling", &measure_labelling, nb::arg("unary").noconvert(), nb::arg("node_ptr").noconvert(),
        nb::arg("nodes").noconvert(), nb::arg("tables").noconvert(), nb::arg("labels").noconvert(),
        "What a gap is measured by: the regret of an allowed labelling and the rounding of its score.");
}

}  // namespace neuralfactors
