// Python's way in to the inference kernels: Python allocates, this file checks, the solvers fill without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include "batch.hpp"
#include "bindings/python_signals.hpp"
#include "core/options.hpp"
#include "core/prepare.hpp"
#include "core/statistics.hpp"
#include "solver.hpp"

namespace nb = nanobind;

namespace neuralfactors {

void bind_higher_order(nb::module_& m);

namespace {

template <class T, int N>
using Array = nb::ndarray<T, nb::numpy, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

// Called with seconds, score and bound; nobody looks at what it returns.
using Callback = nb::typed<nb::callable, nb::object(double, double, double)>;

Method method_of(const std::string& name) {
  if (name == "auto") return Method::automatic;
  if (name == "alpha-expansion") return Method::alpha_expansion;
  if (name == "trws") return Method::trws;
  if (name == "bp") return Method::bp;
  if (name == "icm") return Method::icm;
  if (name == "tree") return Method::tree;
  if (name == "maxflow") return Method::maxflow;
  if (name == "exhaustive") return Method::exhaustive;
  throw nb::value_error("method is not one of the kernel's");
}

// Pointers must rise from 0 to the number of rows; everything that indexes with them relies on it.
void check_pointers(const Array<const std::int64_t, 1>& ptr, std::size_t n_rows, const char* message) {
  const std::size_t n = ptr.shape(0);
  bool good = n > 0 && ptr(0) == 0 && ptr(n - 1) == static_cast<std::int64_t>(n_rows);
  for (std::size_t g = 1; good && g < n; ++g)
    good = ptr(g) >= ptr(g - 1) && ptr(g) - ptr(g - 1) <= std::numeric_limits<int>::max() / 2;
  if (!good) throw nb::value_error(message);
}

std::string place(const Statistics::Fault& fault, std::int64_t first, int n_labels) {
  const std::int64_t item = first + fault.item;
  std::string where = "interaction[" + std::to_string(item) + ", " + std::to_string(fault.index / n_labels) + ", " +
                      std::to_string(fault.index % n_labels) + "]";
  if (fault.in_unary) where = "unary[" + std::to_string(item) + ", " + std::to_string(fault.index) + "]";
  if (std::isfinite(fault.value)) return where + " is beyond 1e200, the largest size of a score";
  return where + (std::isnan(fault.value) ? " is NaN" : " is +inf") +
         ": scores must be finite, or -inf where a label is forbidden";
}

// One sentence about the caller's arrays for what went wrong with one graph of them.
template <class T>
[[noreturn]] void explain(const BatchError& error, const Batch<T>& batch) {
  try {
    std::rethrow_exception(error.what);
  } catch (const EdgeFault& fault) {
    const std::int64_t e = batch.edge_ptr[error.graph] + fault.edge;
    throw nb::value_error(("edges[" + std::to_string(e) + "] is (" + std::to_string(batch.edges[2 * e]) + ", " +
                           std::to_string(batch.edges[2 * e + 1]) + "), but the nodes of its graph are numbered " +
                           std::to_string(batch.node_ptr[error.graph]) + " to " +
                           std::to_string(batch.node_ptr[error.graph + 1] - 1))
                              .c_str());
  } catch (const Statistics::Fault& fault) {
    const std::int64_t first = fault.in_unary ? batch.node_ptr[error.graph] : batch.edge_ptr[error.graph];
    throw nb::value_error(place(fault, first, batch.n_labels).c_str());
  } catch (const Unsuitable& reason) {
    const std::string where = batch.n_graphs > 1 ? " (graph " + std::to_string(error.graph) + " of the batch)" : "";
    throw nb::value_error((reason.what() + where).c_str());
  }
}

template <class T>
void solve_batch(const Array<const T, 2>& unary, const Array<const T, 3>& interaction,
                 const Array<const std::int64_t, 2>& edges, const Array<const std::int64_t, 1>& node_ptr,
                 const Array<const std::int64_t, 1>& edge_ptr, const std::string& method,
                 const std::optional<Array<const std::int64_t, 1>>& init, double tol, int max_iter, std::uint64_t seed,
                 double time_limit, const std::optional<Callback>& callback, int n_threads,
                 const Array<std::int64_t, 1>& labels, const Array<double, 1>& score, const Array<double, 1>& bound,
                 const Array<std::int8_t, 1>& status, const Array<std::int32_t, 1>& iterations,
                 const std::optional<Array<double, 2>>& reduced_costs) {
  const std::size_t n_nodes = unary.shape(0), n_labels = unary.shape(1), n_edges = edges.shape(0);
  if (n_labels < 1 || n_labels > 46340) throw nb::value_error("unary needs between 1 and 46340 labels");
  if (interaction.shape(0) != n_edges || interaction.shape(1) != n_labels || interaction.shape(2) != n_labels)
    throw nb::value_error("interaction needs the shape (n_edges, n_labels, n_labels)");
  if (edges.shape(1) != 2) throw nb::value_error("edges needs the shape (n_edges, 2)");
  check_pointers(node_ptr, n_nodes, "node_ptr must rise from 0 to the number of rows of unary");
  check_pointers(edge_ptr, n_edges, "edge_ptr must rise from 0 to the number of edges");
  const std::size_t n_graphs = node_ptr.shape(0) - 1;
  if (edge_ptr.shape(0) != n_graphs + 1) throw nb::value_error("edge_ptr needs as many entries as node_ptr");
  if (labels.shape(0) != n_nodes || score.shape(0) != n_graphs || bound.shape(0) != n_graphs ||
      status.shape(0) != n_graphs || iterations.shape(0) != n_graphs)
    throw nb::value_error("labels needs an entry per node; score, bound, status and iterations one per graph");
  if (reduced_costs && (reduced_costs->shape(0) != n_nodes || reduced_costs->shape(1) != n_labels))
    throw nb::value_error("reduced_costs needs the shape of unary");
  if (init) {
    if (init->shape(0) != n_nodes) throw nb::value_error("init needs one entry per node");
    for (std::size_t i = 0; i < n_nodes; ++i)
      if ((*init)(i) < 0 || (*init)(i) >= static_cast<std::int64_t>(n_labels))
        throw nb::value_error("init is out of range");
  }
  Options options;
  options.method = method_of(method);
  options.tolerance = tol;
  options.max_iterations = max_iter;
  options.seed = seed;
  options.reduced_costs = reduced_costs.has_value();
  options.time_limit = time_limit;
  options.progress = callback.has_value();
  const Batch<T> batch{unary.data(),
                       interaction.data(),
                       edges.data(),
                       node_ptr.data(),
                       edge_ptr.data(),
                       init ? init->data() : nullptr,
                       static_cast<int>(n_graphs),
                       static_cast<int>(n_labels)};
  const BatchOutcome out{labels.data(), score.data(),      bound.data(),
                         status.data(), iterations.data(), reduced_costs ? reduced_costs->data() : nullptr};
  PythonSignals signals(callback);
  try {
    nb::gil_scoped_release release;
    BatchSolver<T>(batch, options, out).run(n_threads, signals);
  } catch (const BatchError& error) {
    explain(error, batch);
  }
}

template <class T>
void bind_solve_batch(nb::module_& m, const char* name) {
  m.def(name, &solve_batch<T>, nb::arg("unary").noconvert(), nb::arg("interaction").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("node_ptr").noconvert(), nb::arg("edge_ptr").noconvert(),
        nb::arg("method"), nb::arg("init").noconvert().none(), nb::arg("tol"), nb::arg("max_iter"), nb::arg("seed"),
        nb::arg("time_limit"), nb::arg("callback").none(), nb::arg("n_threads"), nb::arg("labels").noconvert(),
        nb::arg("score").noconvert(), nb::arg("bound").noconvert(), nb::arg("status").noconvert(),
        nb::arg("iterations").noconvert(), nb::arg("reduced_costs").noconvert().none());
}

}  // namespace
}  // namespace neuralfactors

NB_MODULE(_kernels, m) {
  m.doc() = "MAP inference kernels; neuralfactors.inference is the way to call them.";
  neuralfactors::bind_solve_batch<float>(m, "solve_batch_float32");
  neuralfactors::bind_solve_batch<double>(m, "solve_batch_float64");
  neuralfactors::bind_higher_order(m);
}
