// Python's way in to the learners of linear factors; neuralfactors.learning._linear_passes is the way to call them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/feature_arrays.hpp"
#include "bindings/methods.hpp"
#include "bindings/python_signals.hpp"
#include "core/input.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/parallel.hpp"
#include "linear/features.hpp"
#include "linear/inference_cache.hpp"
#include "linear/oracle.hpp"
#include "linear/problem.hpp"
#include "linear/sample.hpp"
#include "linear/scores.hpp"
#include "linear/signs.hpp"
#include "linear/simplex.hpp"
#include "linear/working_sets.hpp"

namespace nb = nanobind;

namespace neuralfactors {
namespace {

using linear::FeatureMatrix, linear::InferenceCache, linear::Layout, linear::Oracle, linear::PassOutcome,
    linear::LinearProblem, linear::Sample, linear::Scores, linear::WorkingSets;

// decode(unary (V, L), tables (E, L^Q), edges (E, Q)) -> labels, score, bound, status
using Decode = nb::typed<nb::callable, nb::object(nb::object, nb::object, nb::object)>;

// With the arrays that its samples point into.
struct HeldProblem : LinearProblem {
  struct Held {
    AnyArray node_features, columns, row_ptr, edge_features;
    Array<const std::int64_t, 2> edges;
    Integers y;
    Array<const double, 2> costs;
  };
  using LinearProblem::LinearProblem;
  std::vector<Held> held;
  bool complete = false;  // working sets and caches have the size that the problem had when they were made
};

// Methods that are written in Python, and factors of order above 2.
class PythonOracle : public Oracle {
 public:
  explicit PythonOracle(Decode decode) : decode_(std::move(decode)) {}

  bool needs_tables(const Sample&) const override { return true; }

  void decode(const Sample& s, const Layout& layout, const Scores& scores, Interrupt&, Outcome& out) override {
    const nb::gil_scoped_acquire gil;
    const nb::object found =
        decode_(copy(scores.unary.data(), s.n_nodes, layout.n_labels),
                copy(scores.tables.data(), s.n_edges, layout.n_joint), copy(s.edges, s.n_edges, layout.order));
    const auto [labels, score, bound, status] = nb::cast<std::tuple<Integers, double, double, int>>(found);
    require(labels.shape(0) == s.n_nodes, "decode must return one label per node");
    for (std::size_t i = 0; i < s.n_nodes; ++i)
      require(labels(i) >= 0 && labels(i) < static_cast<std::int64_t>(layout.n_labels), "decode must return labels");
    out.labels.assign(labels.data(), labels.data() + s.n_nodes);
    out.score = score;
    out.bound = bound;
    out.status = static_cast<Status>(status);
  }

 private:
  Decode decode_;

  template <class T>
  static nb::object copy(const T* values, std::size_t rows, std::size_t columns) {
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<2>>(values, {rows, columns}), nb::rv_policy::copy);
  }
};

// columns and row_ptr are None for dense features.
void add_sample(HeldProblem& problem, const nb::object& node_features, const nb::object& columns,
                const nb::object& row_ptr, const Array<const std::int64_t, 2>& edges, const nb::object& edge_features,
                const Integers& y, const Array<const double, 2>& costs) {
  const Layout& layout = problem.layout;
  require(columns.is_none() == row_ptr.is_none(), "columns and row_ptr come together");
  require(!problem.complete, "graphs are added before anything is learnt from them");
  Sample s;
  s.n_nodes = y.shape(0);
  s.n_edges = edges.shape(0);
  require(s.n_nodes < (1u << 30) && s.n_edges < (1u << 30), "a graph may have at most 2^30 nodes and edges");
  s.n_costs = costs.shape(1);
  require(costs.shape(0) == s.n_nodes, "costs needs one entry per node");
  require(s.n_costs == 1 || s.n_costs == layout.n_labels, "costs needs one column, or one per label");
  require(edges.shape(1) == layout.order, "edges needs the problem's order as its number of columns");
  const AnyArray nodes = as_array(node_features), joints = as_array(edge_features);
  const AnyArray index = as_array(columns), begin = as_array(row_ptr);
  s.node_features = columns.is_none() ? dense(nodes, s.n_nodes, layout.n_node_features)
                                      : sparse(nodes, index, begin, s.n_nodes, layout.n_node_features);
  s.edge_features = dense(joints, s.n_edges, layout.n_edge_features);
  for (std::size_t i = 0; i < s.n_nodes; ++i)
    require(y(i) >= 0 && y(i) < static_cast<std::int64_t>(layout.n_labels), "y is out of range");
  for (std::size_t k = 0; k < s.n_edges * layout.order; ++k)
    require(edges.data()[k] >= 0 && edges.data()[k] < static_cast<std::int64_t>(s.n_nodes), "edges is out of range");
  s.edges = edges.data();
  s.y = y.data();
  s.costs = costs.data();
  problem.add(std::move(s));
  problem.held.push_back({nodes, index, begin, joints, edges, y, costs});
}

// Runs without the GIL what may be interrupted; errors tell their graph.
template <class Run>
void guarded(Run&& run) {
  PythonSignals signals;
  try {
    const nb::gil_scoped_release release;
    run(signals);
  } catch (const GraphError& error) {
    const std::string graph = " (graph " + std::to_string(error.graph) + ")";
    try {
      std::rethrow_exception(error.what);
    } catch (const Unsuitable& reason) {
      throw nb::value_error((reason.what() + graph).c_str());
    } catch (const ScoreFault&) {
      throw nb::value_error(("scores are beyond 1e200: scale features or node_weight down" + graph).c_str());
    }
  }
}

// Calls step(n, interrupt) for the samples of `order`, one after the other.
template <class Step>
void in_order(const LinearProblem& problem, const Integers& order, Step&& step) {
  const std::int64_t *begin = order.data(), *end = begin + order.shape(0);
  for (const std::int64_t* n = begin; n < end; ++n)
    require(*n >= 0 && *n < static_cast<std::int64_t>(problem.samples.size()), "order is out of range");
  guarded([&](Interrupt& interrupt) {
    for (const std::int64_t* n = begin; n < end; ++n) {
      interrupt.check();
      blame(static_cast<int>(*n), [&] { step(static_cast<std::size_t>(*n), interrupt); });
    }
  });
}

using Labels = Array<std::int32_t, 1>;
using ConstLabels = Array<const std::int32_t, 1>;
using Signs = Array<const std::int8_t, 1>;

void check_labels(const LinearProblem& problem, const ConstLabels& labels) {
  require(labels.shape(0) == problem.node_ptr.back(), "labels needs one entry per node of all graphs");
  for (std::size_t i = 0; i < labels.shape(0); ++i)
    require(labels(i) >= 0 && labels(i) < static_cast<int>(problem.layout.n_labels), "labels is out of range");
}

void most_violated(HeldProblem& problem, const Labels& labels, const Array<double, 1>& hinge,
                   const Array<double, 1>& gap, const Array<std::int8_t, 1>& status) {
  const std::size_t n = problem.samples.size();
  require(
      labels.shape(0) == problem.node_ptr.back() && hinge.shape(0) == n && gap.shape(0) == n && status.shape(0) == n,
      "labels needs one entry per node; hinge, gap and status one per graph");
  const PassOutcome out{labels.data(), hinge.data(), gap.data(), status.data()};
  guarded([&](Interrupt& interrupt) { problem.most_violated(interrupt, out); });
}

void init_problem(HeldProblem* self, std::size_t n_labels, std::size_t order, std::size_t n_node_features,
                  std::size_t n_edge_features, bool node_bias, bool edge_bias, const std::string& method, double tol,
                  int max_iter, std::uint64_t seed, std::size_t n_threads, const std::optional<Decode>& decode,
                  const std::optional<Signs>& edge_mirror, const std::optional<Signs>& weight_sign) {
  require(n_labels >= 1 && n_labels <= 46340, "n_labels must be between 1 and 46340");
  Layout layout{n_labels, order, 1, n_node_features, n_edge_features, node_bias, edge_bias, {}};
  for (std::size_t q = 0; q < order; ++q) {
    layout.n_joint *= n_labels;
    require(layout.n_joint < (std::size_t{1} << 40), "n_labels^order must be below 2^40");
  }
  require(decode || order == 2, "the kernel decodes edges of order 2");
  if (edge_mirror) {
    require(order == 2 && edge_mirror->shape(0) == n_edge_features + 1,
            "edge_mirror needs edges of order 2, and one entry per edge feature and one for the bias");
    layout.edge_mirror.assign(edge_mirror->data(), edge_mirror->data() + edge_mirror->shape(0));
  }
  require(!weight_sign || weight_sign->shape(0) == layout.dim(), "weight_sign needs one entry per weight");
  Options options;
  if (!decode) options.method = method_of(method);
  options.tolerance = tol;
  options.max_iterations = max_iter;
  options.seed = seed;
  auto make_oracle = [&]() -> std::unique_ptr<Oracle> {
    if (decode) return std::make_unique<PythonOracle>(*decode);
    return std::make_unique<linear::KernelOracle>(options);
  };
  new (self) HeldProblem(layout, decode ? 1 : n_threads, make_oracle);
  if (weight_sign) self->signs = linear::SignConstraints(weight_sign->data(), layout.dim());
}

void bind_problem(nb::module_& m) {
  nb::class_<HeldProblem>(m, "LinearProblem", "Training graphs with linear factors, and the weights.")
      .def("__init__", &init_problem, nb::arg("n_labels"), nb::arg("order"), nb::arg("n_node_features"),
           nb::arg("n_edge_features"), nb::arg("node_bias"), nb::arg("edge_bias"), nb::arg("method"), nb::arg("tol"),
           nb::arg("max_iter"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("decode").none(),
           nb::arg("edge_mirror").none() = nb::none(), nb::arg("weight_sign").none() = nb::none())
      .def("add", &add_sample, nb::arg("node_features"), nb::arg("columns").none(), nb::arg("row_ptr").none(),
           nb::arg("edges").noconvert(), nb::arg("edge_features"), nb::arg("y").noconvert(),
           nb::arg("costs").noconvert(), "Take in a graph, whose arrays are not copied.")
      .def_prop_ro(
          "w",
          [](HeldProblem& p) {
            return nb::ndarray<nb::numpy, double, nb::ndim<1>>(p.w.data(), {p.w.size()}, nb::find(p));
          },
          "Weights (dim,): those of the nodes (D, L) and their biases (L,), then those of the edges.")
      .def("most_violated", &most_violated, nb::arg("labels").noconvert(), nb::arg("hinge").noconvert(),
           nb::arg("gap").noconvert(), nb::arg("status").noconvert())
      .def(
          "add_mean",
          [](const HeldProblem& p, const ConstLabels& labels, const Array<double, 1>& vector) {
            check_labels(p, labels);
            require(vector.shape(0) == p.w.size(), "vector needs the length of w");
            const nb::gil_scoped_release release;
            return p.add_mean(labels.data(), vector.data());
          },
          nb::arg("labels").noconvert(), nb::arg("vector").noconvert(),
          "Add the mean over the graphs of psi(z) to `vector`; returns the mean loss.");
}

using OwnedWeights = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using OwnedLabels = nb::ndarray<nb::numpy, linear::Label, nb::ndim<2>>;

nb::typed<nb::tuple, OwnedLabels, OwnedWeights> block(const WorkingSets& sets, std::size_t n) {
  require(n < sets.problem().samples.size(), "n is out of range");
  linear::Block found = sets.block(n);
  const std::size_t count = found.alpha.size() - 1;
  OwnedLabels labels(found.labellings.data(), {count, sets.problem().samples[n].n_nodes});
  OwnedWeights alpha(found.alpha.data() + 1, {count});
  return nb::make_tuple(nb::cast(labels, nb::rv_policy::copy), nb::cast(alpha, nb::rv_policy::copy));
}

void restore(WorkingSets& sets, std::size_t n, const Array<const linear::Label, 2>& labels,
             const Array<const double, 1>& alpha) {
  const LinearProblem& problem = sets.problem();
  require(n < problem.samples.size() && sets.block(n).alpha.size() == 1, "n is out of range, or has constraints");
  require(labels.shape(0) == alpha.shape(0) && labels.shape(1) == problem.samples[n].n_nodes,
          "labellings needs a row per weight and a column per node");
  for (std::size_t k = 0; k < labels.size(); ++k)
    require(labels.data()[k] < problem.layout.n_labels, "labellings is out of range");
  double total = 0;
  for (std::size_t k = 0; k < alpha.shape(0); total += alpha(k++)) require(alpha(k) >= 0, "alpha must not be negative");
  require(total <= sets.block(n).alpha[0] * (1 + 1e-9), "alpha must sum to at most C/N");
  sets.restore(n, labels.data(), alpha.data(), alpha.shape(0));
}

void bind_working_sets(nb::module_& m) {
  nb::class_<WorkingSets>(m, "WorkingSets", "The dual of an N-slack structural SVM.")
      .def(
          "__init__",
          [](WorkingSets* self, HeldProblem& problem, double C, bool with_gram) {
            problem.complete = true;
            new (self) WorkingSets(problem, C, with_gram);
          },
          nb::arg("problem"), nb::arg("C"), nb::arg("with_gram"), nb::keep_alive<1, 2>())
      .def_prop_ro("n_constraints", &WorkingSets::n_constraints)
      .def("dual", &WorkingSets::dual)
      .def(
          "frank_wolfe_pass",
          [](WorkingSets& sets, const Integers& order, bool corrective) {
            in_order(sets.problem(), order, [&](std::size_t n, Interrupt& interrupt) {
              corrective ? sets.corrective_step(n, interrupt) : sets.frank_wolfe_step(n, interrupt);
            });
          },
          nb::arg("order").noconvert(), nb::arg("corrective"))
      .def(
          "add",
          [](WorkingSets& sets, const ConstLabels& labels) {
            check_labels(sets.problem(), labels);
            const nb::gil_scoped_release release;
            for (std::size_t n = 0; n < sets.problem().samples.size(); ++n)
              sets.position(n, labels.data() + sets.problem().node_ptr[n]);
          },
          nb::arg("labels").noconvert(), "Take in one constraint a graph.")
      .def(
          "sweep",
          [](WorkingSets& sets, const Integers& order, const Array<double, 1>& gaps) {
            require(gaps.shape(0) == order.shape(0), "gaps needs the length of order");
            double* gap = gaps.data();
            in_order(sets.problem(), order, [&](std::size_t n, Interrupt&) { *gap++ = sets.optimise(n); });
          },
          nb::arg("order").noconvert(), nb::arg("gaps").noconvert(),
          "Optimise the weights of the graphs of `order` in turn, and tell what the dual was short of before.")
      .def("block", &block, nb::arg("n"), "Labellings (K, V) of graph n and their weights, without the true one.")
      .def("restore", &restore, nb::arg("n"), nb::arg("labellings").noconvert(), nb::arg("alpha").noconvert(),
           "Give labellings of a graph that has none yet their weights; those sum to at most C/N.")
      .def("prune", [](WorkingSets& sets) {
        for (std::size_t n = 0; n < sets.problem().samples.size(); ++n) sets.prune(n);
      });
}

void maximise(const Array<const double, 2>& gram, const Array<const double, 1>& linear, const Array<double, 1>& alpha,
              double tol, std::size_t max_iter) {
  const std::size_t n = alpha.shape(0);
  require(n > 0 && linear.shape(0) == n && gram.shape(0) == n && gram.shape(1) == n,
          "gram needs the shape (K, K), linear and alpha (K,)");
  const nb::gil_scoped_release release;
  linear::maximise_on_simplex(gram.data(), linear.data(), alpha.data(), n, tol, max_iter);
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_problem(m);
  bind_working_sets(m);
  nb::class_<InferenceCache>(m, "InferenceCache", "The last labellings found for every graph.")
      .def(
          "__init__",
          [](InferenceCache* self, HeldProblem& problem, std::size_t size) {
            require(size > 0, "size must be positive");
            problem.complete = true;
            new (self) InferenceCache(problem, size);
          },
          nb::arg("problem"), nb::arg("size"), nb::keep_alive<1, 2>())
      .def(
          "store",
          [](InferenceCache& cache, const ConstLabels& labels) {
            check_labels(cache.problem(), labels);
            cache.store(labels.data());
          },
          nb::arg("labels").noconvert())
      .def(
          "best",
          [](InferenceCache& cache, const Labels& labels) {
            require(labels.shape(0) == cache.problem().node_ptr.back(),
                    "labels needs one entry per node of all graphs");
            guarded([&](Interrupt& interrupt) { cache.best(interrupt, labels.data()); });
          },
          nb::arg("labels").noconvert());
  m.def("maximise_on_simplex", &maximise, nb::arg("gram").noconvert(), nb::arg("linear").noconvert(),
        nb::arg("alpha").noconvert(), nb::arg("tol"), nb::arg("max_iter"));
}

}  // namespace neuralfactors
