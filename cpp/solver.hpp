// One problem from the caller's arrays to an outcome: preparation, the method asked for, the verdict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/deadline.hpp"
#include "core/factor_graph.hpp"
#include "core/input.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/prepare.hpp"
#include "core/problem.hpp"
#include "cuts/binary_cut.hpp"
#include "higher_order/exhaustive.hpp"
#include "messages/bp.hpp"
#include "messages/trws.hpp"
#include "search/auto.hpp"
#include "search/icm.hpp"
#include "search/tree.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class Solver {
 public:
  // init is (V) or null. Throws EdgeFault, ScoreFault, Unsuitable or Interrupted.
  void solve(const Input<T>& in, const std::int64_t* init, const Options& options, Interrupt& interrupt, Outcome& out) {
    const Deadline deadline(options.time_limit);
    const bool simple = prepared_.link(in);
    if (simple || !std::is_same_v<T, float>) prepared_.build(in);
    if (std::is_same_v<T, float> && (!simple || prepared_.statistics.magnitude > kLargestFloat))
      return solve_in_double(in, init, options, interrupt, out);
    out = Outcome{};
    Task<T> task{prepared_, prepared_.finite, prepared_.statistics, options, interrupt, work_, out, deadline};
    if (init) task.offer(std::vector<int>(init, init + in.n_nodes));
    out.bound = prepared_.statistics.top;
    if (prepared_.hopeless) {
      out.labels.assign(in.n_nodes, 0);
      out.bound = -std::numeric_limits<double>::infinity();
      if (options.reduced_costs) out.reduced_costs.assign(in.n_unary(), 0);
    } else {
      dispatch(task, in);
    }
    judge(task);
  }

 private:
  static constexpr double kLargestFloat = 1e25;

  Prepared<T> prepared_;
  Workspace work_;
  TreeSolver tree_;
  BinaryCut cut_;

  // Sums of float32 tables are not float32 numbers, so parallel edges and self-loops are added up in double precision;
  // and near the end of float32's range a penalty for forbidden entries would overflow.
  void solve_in_double(const Input<T>& in, const std::int64_t* init, const Options& options, Interrupt& interrupt,
                       Outcome& out) {
    const std::vector<double> unary(in.unary, in.unary + in.n_unary());
    const std::vector<double> interaction(in.interaction, in.interaction + in.n_interaction());
    Solver<double>().solve({in, unary.data(), interaction.data()}, init, options, interrupt, out);
  }

  void dispatch(Task<T>& task, const Input<T>& in) {
    switch (task.options.method) {
      case Method::automatic:
        return solve_auto(task);
      case Method::alpha_expansion:
        return solve_expansion(task);
      case Method::trws:
        return solve_trws(task);
      case Method::bp:
        return solve_bp(task);
      case Method::icm:
        return solve_icm(task);
      case Method::tree:
        if (!tree_.order(*task.problem.graph))
          throw Unsuitable("method 'tree' needs a graph without cycles, but this one has a cycle");
        return solve_tree(task);
      case Method::maxflow:
        if (task.problem.n_labels > 2)
          throw Unsuitable("method 'maxflow' needs at most 2 labels, got " + std::to_string(task.problem.n_labels));
        if (!try_binary(task))
          throw Unsuitable(
              "method 'maxflow' needs submodular tables (up to swapping the labels of some nodes), but these are not");
        return;
      case Method::exhaustive:
        return solve_exhaustive(task, in);
    }
  }

  void solve_auto(Task<T>& task) {
    if (tree_.order(*task.problem.graph)) return solve_tree(task);
    if (task.problem.n_labels <= 2 && !task.options.reduced_costs && try_binary(task) && task.optimal()) return;
    AutoSearch<T>(task).run();
  }

  void solve_tree(Task<T>& task) {
    std::vector<int>& labels = task.work.by_node;
    tree_.solve(prepared_.problem, labels, task.interrupt);
    settle(task, task.problem, labels);
    task.out.iterations = 1;
    if (task.options.reduced_costs) tree_.reduced_costs(prepared_.problem, task.out.reduced_costs);
  }

  void solve_exhaustive(Task<T>& task, const Input<T>& in) {
    std::vector<int> labels = higher_order::exhaustive(FactorGraph(in), task.interrupt);
    labels.resize(in.n_nodes);  // empty if every labelling is forbidden
    settle(task, prepared_.problem, labels);
  }

  static void settle(Task<T>& task, const Problem<T>& problem, const std::vector<int>& labels) {
    task.out.labels = labels;
    task.out.score = problem.score(labels.data());
    task.settle();
  }

  // Returns whether two labels, or one, and submodular tables made the labelling exact but for rounding.
  bool try_binary(Task<T>& task) {
    if (task.problem.n_labels < 2) {
      task.offer(std::vector<int>(task.problem.graph->n_nodes, 0));
      task.settle();
    } else if (!cut(task)) {
      return false;
    } else if (!task.optimal() && task.clip()) {
      cut(task);  // large penalties cost the first cut its precision
    }
    task.out.iterations = 1;
    return true;
  }

  bool cut(Task<T>& task) {
    std::vector<int>& labels = task.work.by_node;
    double left_out = 0;
    if (!cut_.solve(task.problem, labels, task.interrupt, left_out)) return false;
    task.offer(labels);
    task.tighten(task.problem.score(labels.data()) + left_out);
    return true;
  }

  void solve_expansion(Task<T>& task) {
    if (task.out.labels.empty()) polish_by_icm(task);
    std::vector<int> labels = task.out.labels;
    task.out.iterations = work_.expansion.run(task.problem, labels, task.budget(100), task.interrupt, task.deadline);
    task.offer(labels);
  }

  // Score in terms of what was asked, and what is proved.
  void judge(Task<T>& task) {
    Outcome& out = task.out;
    out.score = prepared_.problem.score(out.labels.data());
    const bool allowed = out.score > -std::numeric_limits<double>::infinity();
    if (!allowed) {
      const bool none = prepared_.hopeless || out.bound < prepared_.least_allowed;
      out.status = none ? Status::infeasible : Status::unresolved;
      if (none) out.bound = out.score;
      return;
    }
    out.bound = std::max(out.bound, out.score);  // only rounding can put it below
    out.status = task.verdict();
  }
};

}  // namespace neuralfactors
