// Python's way in to the inference kernels: Python allocates, this file checks, the solvers fill without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "batch.hpp"
#include "bindings/arrays.hpp"
#include "bindings/methods.hpp"
#include "bindings/python_signals.hpp"
#include "core/factor_graph.hpp"
#include "core/input.hpp"
#include "core/machine.hpp"
#include "core/options.hpp"
#include "core/parallel.hpp"
#include "higher_order/solver.hpp"

namespace nb = nanobind;

namespace neuralfactors {

void bind_elimination(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_sums(nb::module_& m);

namespace {

// Called with seconds, score and bound; nobody looks at what it returns.
using Callback = nb::typed<nb::callable, nb::object(double, double, double)>;

template <class T>
std::string place(const ScoreFault& fault, const GraphError& error, const Batch<T>& batch) {
  std::string indices;
  const auto add = [&](std::int64_t index) {
    indices = std::to_string(index) + (indices.empty() ? "" : ", ") + indices;
  };
  if (fault.where == ScoreFault::factor) {
    const std::vector<Factor>& own = batch.factors[error.graph];
    const auto f = std::find_if(own.begin(), own.end(), [&](const Factor& x) { return x.number == fault.item; });
    for (int k = f->order, rest = fault.index; k-- > 0; rest /= batch.count(f->nodes[k]))
      add(rest % batch.count(f->nodes[k]));
    return "factors[" + std::to_string(fault.item) + "][1][" + indices + "]";
  }
  if (fault.where == ScoreFault::unary) {
    add(fault.index);
    add(batch.node_ptr[error.graph] + fault.item);
    return "unary[" + indices + "]";
  }
  const std::int64_t edge = batch.edge_ptr[error.graph] + fault.item;
  const int n_columns = batch.count(batch.edges[2 * edge + 1]);
  add(fault.index % n_columns);
  add(fault.index / n_columns);
  add(batch.table_ptr || batch.table_step > 0 ? edge : 0);
  return "interaction[" + indices + "]";
}

std::string complaint(double value) {
  if (std::isfinite(value)) return " is beyond 1e200, the largest size of a score";
  return std::string(std::isnan(value) ? " is NaN" : " is +inf") +
         ": scores must be finite, or -inf where a label is forbidden";
}

// One sentence about the caller's arrays for what went wrong with one graph of them.
template <class T>
[[noreturn]] void explain(const GraphError& error, const Batch<T>& batch) {
  try {
    std::rethrow_exception(error.what);
  } catch (const EdgeFault& fault) {
    const std::int64_t e = batch.edge_ptr[error.graph] + fault.edge;
    throw nb::value_error(("edges[" + std::to_string(e) + "] is (" + std::to_string(batch.edges[2 * e]) + ", " +
                           std::to_string(batch.edges[2 * e + 1]) + "), but the nodes of its graph are numbered " +
                           std::to_string(batch.node_ptr[error.graph]) + " to " +
                           std::to_string(batch.node_ptr[error.graph + 1] - 1))
                              .c_str());
  } catch (const ScoreFault& fault) {
    throw nb::value_error((place(fault, error, batch) + complaint(fault.value)).c_str());
  } catch (const Unsuitable& reason) {
    const std::string where = batch.n_graphs > 1 ? " (graph " + std::to_string(error.graph) + " of the batch)" : "";
    throw nb::value_error((reason.what() + where).c_str());
  }
}

// A batch of graphs in the caller's arrays, which are kept alive by the binding.
template <class T>
class Graphs {
 public:
  // Rows and tables stand one after the other. Where row_ptr is given, they have sizes of their own, and begin where it
  // and table_ptr say; otherwise every node has n_labels.
  Graphs(const Array<const T, 1>& unary, const Array<const T, 1>& interaction,
         const Array<const std::int64_t, 2>& edges, const Integers& node_ptr, const Integers& edge_ptr, int n_labels,
         const std::optional<Integers>& row_ptr, const std::optional<Integers>& table_ptr)
      : n_graphs_(node_ptr.shape(0) - 1) {
    if (edges.shape(1) != 2) throw nb::value_error("edges needs the shape (n_edges, 2)");
    if (row_ptr.has_value() != table_ptr.has_value()) throw nb::value_error("row_ptr and table_ptr go together");
    if (n_labels < 1 || n_labels > kMostLabels) throw nb::value_error("a node needs between 1 and 46340 labels");
    batch_.unary = unary.data();
    batch_.interaction = interaction.data();
    batch_.edges = edges.data();
    batch_.node_ptr = node_ptr.data();
    batch_.edge_ptr = edge_ptr.data();
    batch_.n_graphs = static_cast<int>(n_graphs_);
    batch_.n_labels = n_labels;
    n_entries_ = unary.shape(0);
    n_nodes_ = row_ptr ? row_ptr->shape(0) - 1 : n_entries_ / n_labels;
    check_pointers(node_ptr, n_nodes_, "node_ptr must rise from 0 to the number of rows of unary");
    check_pointers(edge_ptr, edges.shape(0), "edge_ptr must rise from 0 to the number of edges");
    if (edge_ptr.shape(0) != node_ptr.shape(0)) throw nb::value_error("edge_ptr needs as many entries as node_ptr");
    if (row_ptr)
      place(*row_ptr, *table_ptr, edges, interaction.shape(0));
    else
      check_sizes(edges.shape(0), interaction.shape(0));
  }

  void add_factors(const Integers& ptr, const Integers& nodes, const Array<const double, 1>& tables) {
    batch_.factors.resize(n_graphs_);
    for_each_table(
        ptr, nodes, tables, static_cast<std::int64_t>(n_nodes_), [&](std::int64_t i) { return batch_.count(i); },
        [&](const Factor& factor) { take(factor); });
  }

  void solve(const std::string& method, double tol, std::uint64_t seed, int max_iter, double time_limit,
             const std::optional<Integers>& init, int n_threads, const std::optional<Callback>& callback,
             const Array<std::int64_t, 1>& labels, const Array<double, 1>& score, const Array<double, 1>& bound,
             const Array<std::int8_t, 1>& status, const Array<std::int32_t, 1>& iterations,
             const std::optional<Array<double, 1>>& reduced_costs) {
    if (labels.shape(0) != n_nodes_ || score.shape(0) != n_graphs_ || bound.shape(0) != n_graphs_ ||
        status.shape(0) != n_graphs_ || iterations.shape(0) != n_graphs_)
      throw nb::value_error("labels needs an entry per node; score, bound, status and iterations one per graph");
    if (reduced_costs && reduced_costs->shape(0) != n_entries_)
      throw nb::value_error("reduced_costs needs the shape of unary");
    if (init) check_labels(*init, "init");
    Batch<T> batch = batch_;
    batch.init = init ? init->data() : nullptr;
    const Options options{method_of(method),   tol, max_iter, seed, reduced_costs.has_value(), time_limit,
                          callback.has_value()};
    const BatchOutcome out{labels.data(), score.data(),      bound.data(),
                           status.data(), iterations.data(), reduced_costs ? reduced_costs->data() : nullptr};
    PythonSignals signals(callback);
    try {
      nb::gil_scoped_release release;
      BatchSolver<T>(batch, options, out).run(n_threads, signals);
    } catch (const GraphError& error) {
      explain(error, batch);
    }
  }

  std::tuple<double, double, int> judge(const Integers& labels, double bound, double tol) const {
    if (n_graphs_ != 1) throw nb::value_error("one graph is judged at a time");
    check_labels(labels, "labels");
    Outcome out;
    out.labels.assign(labels.data(), labels.data() + n_nodes_);
    out.bound = bound;
    try {
      const double rounding = neuralfactors::judge(FactorGraph(batch_.graph(0)), tol, out).rounding;
      return {out.score, rounding, static_cast<int>(out.status)};
    } catch (...) {
      explain(GraphError{0, std::current_exception()}, batch_);
    }
  }

 private:
  static constexpr int kMostLabels = 46340;  // so that the entries of a table can be counted by int
  std::size_t n_nodes_ = 0, n_entries_ = 0, n_graphs_ = 0;
  Batch<T> batch_;

  void check_sizes(std::size_t n_edges, std::size_t n_interaction) {
    const std::size_t n_labels = batch_.n_labels, size = n_labels * n_labels;
    if (n_nodes_ * n_labels != n_entries_) throw nb::value_error("unary needs n_labels entries for every node");
    const bool shared = n_interaction == size;  // with one edge it is all the same
    if (!shared && n_interaction != n_edges * size)
      throw nb::value_error("interaction needs n_labels * n_labels entries for every edge, or for all of them");
    batch_.table_step = shared ? 0 : size;
  }

  // An edge to a node that does not exist is left to the solvers, which tell where it is.
  void place(const Integers& row_ptr, const Integers& table_ptr, const Array<const std::int64_t, 2>& edges,
             std::size_t n_interaction) {
    check_pointers(row_ptr, n_entries_, "row_ptr must rise from 0 to the number of entries of unary");
    check_pointers(table_ptr, n_interaction, "table_ptr must rise from 0 to the number of entries of interaction");
    if (table_ptr.shape(0) != edges.shape(0) + 1) throw nb::value_error("table_ptr needs one entry more than edges");
    batch_.row_ptr = row_ptr.data();
    batch_.table_ptr = table_ptr.data();
    for (std::size_t i = 0; i < n_nodes_; ++i)
      if (batch_.count(i) < 1 || batch_.count(i) > batch_.n_labels)
        throw nb::value_error("a node needs between 1 and n_labels labels");
    const auto n_nodes = static_cast<std::int64_t>(n_nodes_);
    for (std::size_t e = 0; e < edges.shape(0); ++e) {
      const std::int64_t u = edges(e, 0), v = edges(e, 1);
      if (u < 0 || v < 0 || u >= n_nodes || v >= n_nodes) continue;
      if (table_ptr(e + 1) - table_ptr(e) != static_cast<std::int64_t>(batch_.count(u)) * batch_.count(v))
        throw nb::value_error("a table needs as many entries as its nodes have pairs of labels");
    }
  }

  void check_labels(const Integers& labels, const std::string& name) const {
    if (labels.shape(0) != n_nodes_) throw nb::value_error((name + " needs one entry per node").c_str());
    for (std::size_t i = 0; i < n_nodes_; ++i)
      if (labels(i) < 0 || labels(i) >= batch_.count(static_cast<std::int64_t>(i)))
        throw nb::value_error((name + " is out of range").c_str());
  }

  void take(const Factor& factor) {
    const std::int64_t *first = batch_.node_ptr, *last = first + n_graphs_ + 1;
    const auto graph_of = [&](std::int64_t node) { return std::upper_bound(first, last, node) - first - 1; };
    const auto graph = graph_of(factor.nodes[0]);
    for (int k = 1; k < factor.order; ++k)
      if (graph_of(factor.nodes[k]) != graph) throw nb::value_error("the nodes of a factor belong to several graphs");
    batch_.factors[graph].push_back(factor);
  }
};

template <class T>
void bind_graphs(nb::module_& m, const char* name) {
  using Integers2 = Array<const std::int64_t, 2>;
  using Scores = Array<const T, 1>;
  using Pointers = std::optional<Integers>;
  nb::class_<Graphs<T>>(m, name)
      .def(nb::init<const Scores&, const Scores&, const Integers2&, const Integers&, const Integers&, int,
                    const Pointers&, const Pointers&>(),
           nb::arg("unary").noconvert(), nb::arg("interaction").noconvert(), nb::arg("edges").noconvert(),
           nb::arg("node_ptr").noconvert(), nb::arg("edge_ptr").noconvert(), nb::arg("n_labels"),
           nb::arg("row_ptr").noconvert().none(), nb::arg("table_ptr").noconvert().none(), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(),
           nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>())
      .def("add_factors", &Graphs<T>::add_factors, nb::arg("ptr").noconvert(), nb::arg("nodes").noconvert(),
           nb::arg("tables").noconvert(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           "Further tables, of any number of nodes; to be called once.")
      .def("solve", &Graphs<T>::solve, nb::arg("method"), nb::arg("tol"), nb::arg("seed"), nb::arg("max_iter"),
           nb::arg("time_limit"), nb::arg("init").noconvert().none(), nb::arg("n_threads"), nb::arg("callback").none(),
           nb::arg("labels").noconvert(), nb::arg("score").noconvert(), nb::arg("bound").noconvert(),
           nb::arg("status").noconvert(), nb::arg("iterations").noconvert(),
           nb::arg("reduced_costs").noconvert().none(), "Fills the arrays of results, the GIL being released.")
      .def("judge", &Graphs<T>::judge, nb::arg("labels").noconvert(), nb::arg("bound"), nb::arg("tol"),
           "Score of a labelling of one graph, the rounding of that score, and the status that a bound proves.");
}

}  // namespace
}  // namespace neuralfactors

NB_MODULE(_kernels, m) {
  m.doc() = "MAP inference kernels; neuralfactors.inference is the way to call them.";
  neuralfactors::bind_graphs<float>(m, "GraphsFloat32");
  neuralfactors::bind_graphs<double>(m, "GraphsFloat64");
  neuralfactors::bind_elimination(m);
  neuralfactors::bind_linear(m);
  neuralfactors::bind_sums(m);
  m.attr("INSTRUCTION_SET") = neuralfactors::instruction_set();
  m.attr("COMPILER") = neuralfactors::compiler();
  m.attr("CHECKED") = neuralfactors::is_checked();
}
