// Python's way in to sums over all labellings, samples and best labellings.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/python_signals.hpp"
#include "core/interrupt.hpp"
#include "sums/sum_batch.hpp"
#include "sums/sum_graph.hpp"

namespace nb = nanobind;

namespace neuralfactors {
namespace {

SumMethod method_of(const std::string& name) {
  if (name == "auto") return SumMethod::automatic;
  if (name == "exact") return SumMethod::exact;
  if (name == "trw") return SumMethod::trw;
  if (name == "bethe") return SumMethod::bethe;
  throw nb::value_error("method is not one of the kernel's");
}

// Everything that indexes by edges relies on this.
template <class T>
void check_edges(const SumBatch<T>& batch) {
  for (int g = 0; g < batch.n_graphs; ++g) {
    const std::int64_t first = batch.node_ptr[g], end = batch.node_ptr[g + 1];
    for (std::int64_t e = batch.edge_ptr[g]; e < batch.edge_ptr[g + 1]; ++e)
      for (int q = 0; q < batch.all.order; ++q) {
        const std::int64_t i = batch.all.edges[e * batch.all.order + q];
        if (i >= first && i < end) continue;
        throw nb::value_error(("edges[" + std::to_string(e) + "] has node " + std::to_string(i) +
                               ", but the nodes of its graph are numbered " + std::to_string(first) + " to " +
                               std::to_string(end - 1))
                                  .c_str());
      }
  }
}

// A batch in the caller's arrays. Where row_ptr is given, rows and tables have sizes of their own, and begin where it
// and table_ptr say; otherwise every node has n_labels.
template <class T>
struct SumArrays {
  const Array<const T, 1>& unary;
  const Array<const T, 1>& tables;
  const Array<const std::int64_t, 2>& edges;
  const Integers &node_ptr, &edge_ptr;
  int n_labels;
  const std::optional<Integers>&row_ptr, &table_ptr;

  SumBatch<T> batch() const {
    const std::size_t n_edges = edges.shape(0);
    if (n_labels < 1 || n_labels > 46340) throw nb::value_error("a node needs between 1 and 46340 labels");
    if (edges.shape(1) < 1) throw nb::value_error("edges needs at least one column");
    if (row_ptr.has_value() != table_ptr.has_value()) throw nb::value_error("row_ptr and table_ptr go together");
    SumBatch<T> batch;
    SumGraph<T>& all = batch.all;
    all.unary = unary.data();
    all.tables = tables.data();
    all.edges = edges.data();
    all.n_edges = static_cast<int>(n_edges);
    all.order = static_cast<int>(edges.shape(1));
    all.n_labels = n_labels;
    const std::size_t n_nodes = row_ptr ? row_ptr->shape(0) - 1 : unary.shape(0) / n_labels;
    all.n_nodes = static_cast<int>(n_nodes);
    check_pointers(node_ptr, n_nodes, "node_ptr must rise from 0 to the number of rows of unary");
    check_pointers(edge_ptr, n_edges, "edge_ptr must rise from 0 to the number of edges");
    if (node_ptr.shape(0) != edge_ptr.shape(0)) throw nb::value_error("edge_ptr needs as many entries as node_ptr");
    batch.node_ptr = node_ptr.data();
    batch.edge_ptr = edge_ptr.data();
    batch.n_graphs = static_cast<int>(node_ptr.shape(0)) - 1;
    check_edges(batch);
    if (row_ptr && table_ptr)
      place(*row_ptr, *table_ptr, all);
    else
      check_sizes(all);
    return batch;
  }

 private:
  void check_sizes(SumGraph<T>& all) const {
    const std::size_t n_tables = tables.shape(0), n_edges = edges.shape(0);
    if (static_cast<std::size_t>(all.n_nodes) * n_labels != unary.shape(0))
      throw nb::value_error("unary needs n_labels entries for every node");
    all.table_size = 1;
    for (int q = 0; q < all.order && all.table_size <= n_tables; ++q) all.table_size *= n_labels;
    all.shared = n_tables == all.table_size && n_edges != 1;
    if (!all.shared && n_tables != n_edges * all.table_size)
      throw nb::value_error("tables needs n_labels ** n_columns of edges entries for every edge, or for all of them");
  }

  void place(const Integers& rows, const Integers& places, SumGraph<T>& all) const {
    check_pointers(rows, unary.shape(0), "row_ptr must rise from 0 to the number of entries of unary");
    check_pointers(places, tables.shape(0), "table_ptr must rise from 0 to the number of entries of tables");
    if (places.shape(0) != edges.shape(0) + 1) throw nb::value_error("table_ptr needs one entry more than edges");
    all.row_ptr = rows.data();
    all.table_ptr = places.data();
    for (int i = 0; i < all.n_nodes; ++i)
      if (all.count(i) < 1 || all.count(i) > n_labels)
        throw nb::value_error("a node needs between 1 and n_labels labels");
    for (int e = 0; e < all.n_edges; ++e) {
      std::size_t entries = 1;
      for (int q = 0; q < all.order && entries <= tables.shape(0); ++q) entries *= all.count(all.node(e, q));
      if (all.entries(e) != entries)
        throw nb::value_error("a table needs as many entries as its nodes have combinations of labels");
    }
  }
};

// Runs `work` without the GIL; what went wrong with a graph becomes a sentence.
template <class Work>
void run(int n_graphs, const Work& work) {
  PythonSignals signals;
  auto where = [&](int graph) {
    return n_graphs > 1 ? "graph " + std::to_string(graph) + " of the batch" : "the graph";
  };
  try {
    nb::gil_scoped_release release;
    work(signals);
  } catch (const AllForbidden& fault) {
    throw nb::value_error(
        ("every labelling of " + where(fault.graph) + " is forbidden by scores of -inf: there is nothing to sum over")
            .c_str());
  } catch (const TooLarge& fault) {
    throw nb::value_error(("exact sums over " + where(fault.graph) +
                           " need larger tables than max_entries allows: raise it, or use another method")
                              .c_str());
  }
}

template <class T>
void sum_batch(const Array<const T, 1>& unary, const Array<const T, 1>& tables,
               const Array<const std::int64_t, 2>& edges, const Integers& node_ptr, const Integers& edge_ptr,
               int n_labels, const std::optional<Integers>& row_ptr, const std::optional<Integers>& table_ptr,
               const std::string& method, double max_entries, int max_iter, double tol, int n_threads,
               const std::optional<Array<const double, 1>>& weight, const Array<double, 1>& log_partition,
               const Array<std::int8_t, 1>& status, const Array<std::int8_t, 1>& converged,
               const std::optional<Array<T, 1>>& nodes, const std::optional<Array<T, 1>>& pairs) {
  const auto batch = SumArrays<T>{unary, tables, edges, node_ptr, edge_ptr, n_labels, row_ptr, table_ptr}.batch();
  const auto n_graphs = static_cast<std::size_t>(batch.n_graphs);
  if (log_partition.shape(0) != n_graphs || status.shape(0) != n_graphs || converged.shape(0) != n_graphs ||
      (weight && weight->shape(0) != n_graphs))
    throw nb::value_error("weight, log_partition, status and converged need an entry per graph");
  const std::size_t n_entries = batch.all.table_at(batch.all.n_edges);
  const bool summed = pairs && pairs->shape(0) != n_entries;
  if (nodes.has_value() != pairs.has_value() || (nodes && nodes->shape(0) != unary.shape(0)) ||
      (summed && (row_ptr || pairs->shape(0) != batch.all.table_size)))
    throw nb::value_error("nodes needs the shape of unary, and pairs a table per edge, or one");
  SumOptions options;
  options.method = method_of(method);
  if (options.method > SumMethod::exact && batch.all.order != 2)
    throw nb::value_error("method trw or bethe needs edges of two nodes");
  options.max_entries = max_entries;
  options.reweighted = {options.method == SumMethod::bethe, max_iter, tol};
  const SumOutcome<T> out{weight ? weight->data() : nullptr,
                          log_partition.data(),
                          status.data(),
                          converged.data(),
                          nodes ? nodes->data() : nullptr,
                          pairs ? pairs->data() : nullptr,
                          summed};
  run(batch.n_graphs, [&](Interrupt& stop) { sum_graphs(batch, options, out, n_threads, stop); });
}

template <class T>
void sample_batch(const Array<const T, 1>& unary, const Array<const T, 1>& tables,
                  const Array<const std::int64_t, 2>& edges, const Integers& node_ptr, const Integers& edge_ptr,
                  int n_labels, const std::optional<Integers>& row_ptr, const std::optional<Integers>& table_ptr,
                  double max_entries, std::uint64_t seed, int n_threads, const Array<std::int64_t, 2>& labels) {
  const auto batch = SumArrays<T>{unary, tables, edges, node_ptr, edge_ptr, n_labels, row_ptr, table_ptr}.batch();
  if (labels.shape(1) != static_cast<std::size_t>(batch.all.n_nodes))
    throw nb::value_error("labels needs a column per node");
  const int n = static_cast<int>(labels.shape(0));
  run(batch.n_graphs,
      [&](Interrupt& stop) { sample_graphs(batch, max_entries, n, seed, n_threads, labels.data(), stop); });
}

template <class T>
void topk_batch(const Array<const T, 1>& unary, const Array<const T, 1>& tables,
                const Array<const std::int64_t, 2>& edges, const Integers& node_ptr, const Integers& edge_ptr,
                int n_labels, const std::optional<Integers>& row_ptr, const std::optional<Integers>& table_ptr,
                double max_entries, const std::optional<Array<const std::int64_t, 1>>& frozen, int n_threads,
                const Array<std::int64_t, 2>& labels, const Array<double, 2>& scores,
                const Array<std::int64_t, 1>& n_frozen) {
  const auto batch = SumArrays<T>{unary, tables, edges, node_ptr, edge_ptr, n_labels, row_ptr, table_ptr}.batch();
  const auto n_graphs = static_cast<std::size_t>(batch.n_graphs), n_nodes = static_cast<std::size_t>(batch.all.n_nodes);
  if (labels.shape(1) != n_nodes || scores.shape(0) != labels.shape(0) || scores.shape(1) != n_graphs ||
      n_frozen.shape(0) != n_graphs)
    throw nb::value_error("labels needs the shape (k, n_nodes), scores (k, n_graphs) and n_frozen (n_graphs,)");
  if (frozen) {
    if (frozen->shape(0) != n_nodes) throw nb::value_error("frozen needs one entry per node");
    for (int i = 0; i < batch.all.n_nodes; ++i)
      if ((*frozen)(i) < 0 || (*frozen)(i) >= batch.all.count(i)) throw nb::value_error("frozen is out of range");
  }
  const int k = static_cast<int>(labels.shape(0));
  run(batch.n_graphs, [&](Interrupt& stop) {
    best_labellings(batch, max_entries, k, frozen ? frozen->data() : nullptr, n_threads, labels.data(), scores.data(),
                    n_frozen.data(), stop);
  });
}

template <class T>
void bind(nb::module_& m, const std::string& type) {
  m.def(("sum_batch_" + type).c_str(), &sum_batch<T>, nb::arg("unary").noconvert(), nb::arg("tables").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("node_ptr").noconvert(), nb::arg("edge_ptr").noconvert(),
        nb::arg("n_labels"), nb::arg("row_ptr").noconvert().none(), nb::arg("table_ptr").noconvert().none(),
        nb::arg("method"), nb::arg("max_entries"), nb::arg("max_iter"), nb::arg("tol"), nb::arg("n_threads"),
        nb::arg("weight").noconvert().none(), nb::arg("log_partition").noconvert(), nb::arg("status").noconvert(),
        nb::arg("converged").noconvert(), nb::arg("nodes").noconvert().none(), nb::arg("pairs").noconvert().none());
  m.def(("sample_batch_" + type).c_str(), &sample_batch<T>, nb::arg("unary").noconvert(), nb::arg("tables").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("node_ptr").noconvert(), nb::arg("edge_ptr").noconvert(),
        nb::arg("n_labels"), nb::arg("row_ptr").noconvert().none(), nb::arg("table_ptr").noconvert().none(),
        nb::arg("max_entries"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("labels").noconvert());
  m.def(("topk_batch_" + type).c_str(), &topk_batch<T>, nb::arg("unary").noconvert(), nb::arg("tables").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("node_ptr").noconvert(), nb::arg("edge_ptr").noconvert(),
        nb::arg("n_labels"), nb::arg("row_ptr").noconvert().none(), nb::arg("table_ptr").noconvert().none(),
        nb::arg("max_entries"), nb::arg("frozen").noconvert().none(), nb::arg("n_threads"),
        nb::arg("labels").noconvert(), nb::arg("scores").noconvert(), nb::arg("n_frozen").noconvert());
}

}  // namespace

void bind_sums(nb::module_& m) {
  bind<float>(m, "float32");
  bind<double>(m, "float64");
}

}  // namespace neuralfactors
