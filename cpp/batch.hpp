// Many problems at once: threads over graphs, results that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/factor_graph.hpp"
#include "core/input.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/parallel.hpp"
#include "higher_order/solver.hpp"
#include "solver.hpp"

namespace neuralfactors {

// Graph g has nodes node_ptr[g] .. node_ptr[g + 1] - 1 and edges edge_ptr[g] .. edge_ptr[g + 1] - 1.
template <class T>
struct Batch {
  const T* unary = nullptr;
  const T* interaction = nullptr;
  const std::int64_t* edges = nullptr;
  const std::int64_t* node_ptr = nullptr;
  const std::int64_t* edge_ptr = nullptr;
  const std::int64_t* init = nullptr;  // may be null
  int n_graphs = 0;
  int n_labels = 0;                          // as in Problem
  std::size_t table_step = 0;                // as in Problem
  const std::int64_t* row_ptr = nullptr;     // (V + 1), where rows begin; null: all have n_labels entries
  const std::int64_t* table_ptr = nullptr;   // (E + 1), likewise
  std::vector<std::vector<Factor>> factors;  // by graph; empty if there are none

  int count(std::int64_t node) const {
    return row_ptr ? static_cast<int>(row_ptr[node + 1] - row_ptr[node]) : n_labels;
  }
  std::size_t row_at(std::int64_t node) const { return row_ptr ? row_ptr[node] : node * n_labels; }
  std::size_t table_at(std::int64_t edge) const { return table_ptr ? table_ptr[edge] : edge * table_step; }

  Input<T> graph(int g) const {
    InputGraph one{edges + 2 * edge_ptr[g],
                   node_ptr[g],
                   static_cast<int>(node_ptr[g + 1] - node_ptr[g]),
                   static_cast<int>(edge_ptr[g + 1] - edge_ptr[g]),
                   n_labels,
                   table_step,
                   nullptr,
                   nullptr,
                   factors.empty() ? nullptr : &factors[g]};
    if (row_ptr) place(one, g);
    return {one, unary + row_at(node_ptr[g]), interaction + table_at(edge_ptr[g])};
  }

 private:
  // A graph whose own nodes all have as many labels is like any other.
  void place(InputGraph& one, int g) const {
    int least = n_labels;
    one.n_labels = 1;
    for (std::int64_t i = node_ptr[g]; i < node_ptr[g + 1]; ++i) {
      least = std::min(least, count(i));
      one.n_labels = std::max(one.n_labels, count(i));
    }
    one.table_step = static_cast<std::size_t>(one.n_labels) * one.n_labels;
    if (least >= one.n_labels) return;
    one.row_ptr = row_ptr + node_ptr[g];
    one.table_ptr = table_ptr + edge_ptr[g];
  }
};

// Where the results go, in arrays the caller made.
struct BatchOutcome {
  std::int64_t* labels = nullptr;      // (V)
  double* score = nullptr;             // (G)
  double* bound = nullptr;             // (G)
  std::int8_t* status = nullptr;       // (G)
  std::int32_t* iterations = nullptr;  // (G)
  double* reduced_costs = nullptr;     // as `unary`, or null
};

template <class T>
class BatchSolver {
 public:
  BatchSolver(const Batch<T>& batch, const Options& options, const BatchOutcome& out)
      : batch_(batch), options_(options), out_(out) {}

  // Throws a GraphError about the first graph to fail.
  void run(int n_threads, Interrupt& interrupt) {
    const bool keep = is_moderate();
    run_tasks(batch_.n_graphs, n_threads, interrupt, [&] {
      return [this, borrowed = Borrowed(keep), outcome = Outcome()](int g, Interrupt& stop) mutable {
        blame(g, [&] { solve(g, *borrowed.solver, outcome, stop); });
      };
    });
  }

 private:
  // Buffers of moderate size outlive the call: getting fresh memory would cost a small problem a tenth of its time.
  // They serve one call at a time; a callback, or a handler of signals, that solves in the midst of it gets others.
  struct Borrowed {
    bool keep;
    std::unique_ptr<Solver<T>> solver;

    explicit Borrowed(bool k) : keep(k), solver(k ? std::move(kept()) : nullptr) {
      if (!solver) solver = std::make_unique<Solver<T>>();
    }
    ~Borrowed() {
      if (keep) kept() = std::move(solver);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;

    static std::unique_ptr<Solver<T>>& kept() {
      thread_local std::unique_ptr<Solver<T>> solver_of_thread;
      return solver_of_thread;
    }
  };

  const Batch<T>& batch_;
  const Options& options_;
  const BatchOutcome& out_;

  bool is_moderate() const {
    const double labels = batch_.n_labels;
    double largest = 0;
    for (int g = 0; g < batch_.n_graphs; ++g) {
      const std::int64_t first = batch_.edge_ptr[g], end = batch_.edge_ptr[g + 1];
      const std::size_t rows = batch_.row_at(batch_.node_ptr[g + 1]) - batch_.row_at(batch_.node_ptr[g]);
      const double tables = batch_.table_ptr ? static_cast<double>(batch_.table_ptr[end] - batch_.table_ptr[first])
                                             : labels * labels * static_cast<double>(end - first);
      largest = std::max(largest, static_cast<double>(rows) + tables);
    }
    return largest < 4e6;
  }

  void solve(int g, Solver<T>& solver, Outcome& outcome, Interrupt& stop) const {
    stop.check();
    const Input<T> in = batch_.graph(g);
    const std::int64_t* init = batch_.init ? batch_.init + batch_.node_ptr[g] : nullptr;
    if (in.is_pairwise())
      solver.solve(in, init, options_, stop, outcome);
    else
      FactorSolver(FactorGraph(in), options_, stop, outcome).solve(init);
    store(g, outcome);
  }

  void store(int g, const Outcome& outcome) const {
    std::copy(outcome.labels.begin(), outcome.labels.end(), out_.labels + batch_.node_ptr[g]);
    out_.score[g] = outcome.score;
    out_.bound[g] = outcome.bound;
    out_.status[g] = static_cast<std::int8_t>(outcome.status);
    out_.iterations[g] = outcome.iterations;
    if (out_.reduced_costs)
      std::copy(outcome.reduced_costs.begin(), outcome.reduced_costs.end(),
                out_.reduced_costs + batch_.row_at(batch_.node_ptr[g]));
  }
};

}  // namespace neuralfactors
