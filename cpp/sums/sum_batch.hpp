// Sums, samples and best labellings of many graphs at once; results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/interrupt.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "sums/chain.hpp"
#include "sums/cluster_tree.hpp"
#include "sums/reweighted.hpp"
#include "sums/sum_graph.hpp"
#include "sums/walks.hpp"

namespace neuralfactors {

enum class SumMethod { automatic, exact, trw, bethe };
enum class SumStatus : std::int8_t { exact, upper_bound, approximation };  // in the order of Python's names

// All labellings of a graph are forbidden.
struct AllForbidden {
  int graph;
};

// Exact sums of a graph would need larger tables than allowed.
struct TooLarge {
  int graph;
};

// Graph g has nodes node_ptr[g] .. node_ptr[g + 1] - 1 and edges edge_ptr[g] .. edge_ptr[g + 1] - 1.
template <class T>
struct SumBatch {
  SumGraph<T> all;  // of all graphs
  const std::int64_t* node_ptr = nullptr;
  const std::int64_t* edge_ptr = nullptr;
  int n_graphs = 0;

  // Where the rows and tables of a graph begin.
  std::size_t row_at(int g) const { return all.row_at(static_cast<int>(node_ptr[g])); }
  std::size_t table_at(int g) const { return all.table_at(static_cast<int>(edge_ptr[g])); }

  SumGraph<T> graph(int g) const {
    SumGraph<T> one = all;
    one.unary += row_at(g);
    if (!all.shared) one.tables += table_at(g);
    if (all.row_ptr) one.row_ptr += node_ptr[g];
    if (all.table_ptr) one.table_ptr += edge_ptr[g];
    one.edges += edge_ptr[g] * all.order;
    one.first_node = node_ptr[g];
    one.n_nodes = static_cast<int>(node_ptr[g + 1] - node_ptr[g]);
    one.n_edges = static_cast<int>(edge_ptr[g + 1] - edge_ptr[g]);
    return one;
  }
};

struct SumOptions {
  SumMethod method = SumMethod::automatic;
  double max_entries = 0;
  ReweightedOptions reweighted;
};

// Where the results go, in arrays the caller made; marginals are times `weight`.
template <class T>
struct SumOutcome {
  const double* weight = nullptr;  // (G) or null: 1
  double* log_partition = nullptr;
  std::int8_t* status = nullptr;
  std::int8_t* converged = nullptr;
  T* nodes = nullptr;   // like the rows, or null
  T* tables = nullptr;  // like the tables, one for each edge, or their sum
  bool summed = false;
};

template <class T>
class SumWorker {
 public:
  SumWorker(const SumBatch<T>& batch, const SumOptions& options, const SumOutcome<T>& out)
      : batch_(batch), options_(options), out_(out) {
    if (batch.all.shared && batch.all.order == 2 && options.method <= SumMethod::exact)
      chain_ = std::make_unique<SharedChain<T>>(batch.all.tables, batch.all.n_labels);
  }

  // Graphs first .. end - 1; `shared` (L ** Q) gets the marginals of the edges where they are summed.
  void run(int first, int end, double* shared, Interrupt& interrupt) {
    if (chain_ && shared) chain_->clear();
    for (int g = first; g < end; ++g) {
      interrupt.check();
      run(g, shared, interrupt);
    }
    if (chain_ && shared) chain_->add_pairs(shared);
  }

 private:
  const SumBatch<T>& batch_;
  const SumOptions& options_;
  const SumOutcome<T>& out_;
  std::unique_ptr<SharedChain<T>> chain_;
  ClusterTree<T> tree_;
  ReweightedSums<T> reweighted_;

  void run(int g, double* shared, Interrupt& interrupt) {  // NOLINT(readability-non-const-parameter): written below
    const SumGraph<T> graph = batch_.graph(g);
    MarginalsOf<T> to;
    if (out_.weight) to.weight = out_.weight[g];
    if (out_.nodes) {
      to.nodes = out_.nodes + batch_.row_at(g);
      if (!out_.summed) to.tables = out_.tables + batch_.table_at(g);
      to.shared = shared;
    }
    double& value = out_.log_partition[g];
    out_.converged[g] = 1;
    out_.status[g] = static_cast<std::int8_t>(SumStatus::exact);
    if (!exact(graph, to, value, interrupt)) {
      if (options_.method == SumMethod::exact) throw TooLarge{g};
      value = reweighted_.run(graph, options_.reweighted, to, interrupt);
      out_.converged[g] = reweighted_.converged ? 1 : 0;
      out_.status[g] =
          static_cast<std::int8_t>(options_.reweighted.bethe ? SumStatus::approximation : SumStatus::upper_bound);
    }
    if (value == kForbiddenScore) throw AllForbidden{g};
  }

  bool exact(const SumGraph<T>& graph, const MarginalsOf<T>& to, double& value, Interrupt& interrupt) {
    if (options_.method > SumMethod::exact) return false;
    if (chain_ && is_shared_chain(graph) && chain_->run(graph, to, value)) return true;
    const int frozen = tree_.plan(graph, options_.max_entries);
    if (frozen > 0) return false;
    value = frozen < 0 ? kForbiddenScore : tree_.upward(Semiring::sum, interrupt);
    if (to.wanted() && value != kForbiddenScore) tree_.downward(to, interrupt);
    return true;
  }
};

// Tasks are runs of neighbouring graphs, the same ones for any number of threads, so that a shared table's marginals
// are always added in the same order.
template <class T>
void sum_graphs(const SumBatch<T>& batch, const SumOptions& options, const SumOutcome<T>& out, int n_threads,
                Interrupt& interrupt) {
  constexpr int kMostSums = 16;
  const int n_tasks = out.summed ? std::min(batch.n_graphs, kMostSums) : batch.n_graphs;
  const std::size_t size = out.summed ? batch.all.table_size : 0;
  std::vector<double> shared(size * n_tasks, 0.0);
  auto first = [&](int task) { return static_cast<int>(static_cast<std::int64_t>(batch.n_graphs) * task / n_tasks); };
  run_tasks(n_tasks, n_threads, interrupt, [&] {
    return [&, worker = std::make_unique<SumWorker<T>>(batch, options, out)](int task, Interrupt& stop) {
      worker->run(first(task), first(task + 1), out.summed ? shared.data() + size * task : nullptr, stop);
    };
  });
  for (std::size_t k = 0; k < size; ++k) {
    double total = 0;
    for (int task = 0; task < n_tasks; ++task) total += shared[size * task + k];
    out.tables[k] = static_cast<T>(total);
  }
}

// n labellings of every graph by their probabilities: labels (n, V).
template <class T>
void sample_graphs(const SumBatch<T>& batch, double max_entries, int n, std::uint64_t seed, int n_threads,
                   std::int64_t* labels, Interrupt& interrupt) {
  run_tasks(batch.n_graphs, n_threads, interrupt, [&] {
    return [&, tree = std::make_unique<ClusterTree<T>>()](int g, Interrupt& stop) {
      const SumGraph<T> graph = batch.graph(g);
      const int frozen = tree->plan(graph, max_entries);
      if (frozen > 0) throw TooLarge{g};
      if (frozen < 0 || tree->upward(Semiring::sum, stop) == kForbiddenScore) throw AllForbidden{g};
      Random random(mix(seed, g));
      for (int k = 0; k < n; ++k) {
        stop.check();
        draw_labels(*tree, random, labels + static_cast<std::int64_t>(k) * batch.all.n_nodes + batch.node_ptr[g]);
      }
    };
  });
}

// The k best labellings of every graph: labels (k, V) and scores (k, G), which are -inf where there are fewer. Where
// exact tables would be too large, nodes keep the labels that `frozen` (V) has for them; without it nothing is written
// there. n_frozen (G) says how many did, or would.
template <class T>
void best_labellings(const SumBatch<T>& batch, double max_entries, int k, const std::int64_t* frozen, int n_threads,
                     std::int64_t* labels, double* scores, std::int64_t* n_frozen, Interrupt& interrupt) {
  run_tasks(batch.n_graphs, n_threads, interrupt, [&] {
    return [&, tree = std::make_unique<ClusterTree<T>>()](int g, Interrupt& stop) {
      const SumGraph<T> graph = batch.graph(g);
      const int count = tree->plan(graph, max_entries, frozen ? frozen + batch.node_ptr[g] : nullptr);
      n_frozen[g] = std::max(count, 0);
      if (count > 0 && !frozen) return;
      const double best = count < 0 ? kForbiddenScore : tree->upward(Semiring::max, stop);
      if (best == kForbiddenScore && count <= 0) throw AllForbidden{g};  // labels that are kept prove nothing
      const BestLabellings<T> found(*tree, best, k);
      for (int rank = 0; rank < k; ++rank) {
        const bool exists = rank < found.count();
        scores[static_cast<std::int64_t>(rank) * batch.n_graphs + g] = exists ? found.score(rank) : kForbiddenScore;
        std::int64_t* to = labels + static_cast<std::int64_t>(rank) * batch.all.n_nodes + batch.node_ptr[g];
        exists ? found.labels(rank, to) : void(std::fill_n(to, graph.n_nodes, std::int64_t{-1}));
      }
    };
  });
}

}  // namespace neuralfactors
