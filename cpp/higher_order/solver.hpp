// One problem with factors of any order: the method asked for, the verdict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/deadline.hpp"
#include "core/factor_graph.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/yardstick.hpp"
#include "higher_order/exhaustive.hpp"
#include "higher_order/icm.hpp"
#include "higher_order/max_product.hpp"
#include "higher_order/messages.hpp"
#include "higher_order/model.hpp"
#include "higher_order/srmp.hpp"

namespace neuralfactors {

namespace higher_order {

// `labels` if there are any, or else the best label of each node by itself.
inline std::vector<int> start(const Model& model, std::vector<int> labels) {
  if (!labels.empty()) return labels;
  for (int i = 0; i < model.n_nodes; ++i) {
    const double* row = model.row(i);
    labels.push_back(static_cast<int>(std::max_element(row, row + model.count(i)) - row));
  }
  return labels;
}

// The best labelling met so far, each one polished by ICM before it is compared.
class Incumbent {
 public:
  Incumbent(const Model& model, const std::vector<int>& init, Interrupt& interrupt)
      : labels(start(model, init)), score(model.score(labels.data())), model_(model), interrupt_(interrupt) {
    offer(labels);
  }

  void offer(std::vector<int> candidate) {
    icm(model_, candidate, kPolish, interrupt_);
    const double value = model_.score(candidate.data());
    if (value <= score) return;
    score = value;
    labels = std::move(candidate);
  }

  std::vector<int> labels;
  double score;  // in the model

 private:
  static constexpr int kPolish = 20;  // ICM passes; it is nearly always done after three or four
  const Model& model_;
  Interrupt& interrupt_;
};

// Whether ten sweeps in a row brought next to nothing.
class Stall {
 public:
  bool operator()(double bound, double gap) {
    history_.push_back(bound);
    const std::size_t n = history_.size();
    return n > kSpan && history_[n - 1 - kSpan] - bound < kLeast * gap;
  }

 private:
  static constexpr std::size_t kSpan = 10;
  static constexpr double kLeast = 1e-3;
  std::vector<double> history_;
};

}  // namespace higher_order

// Score of the labelling by the caller's own tables, and what its bound proves.
inline Yardstick judge(const FactorGraph& graph, double tolerance, Outcome& out) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  out.score = graph.score(out.labels.data());
  out.bound = std::max(out.bound, out.score);
  Yardstick yardstick;
  if (out.score > kNone) {
    yardstick.measure(graph, out.labels.data());
    out.status = yardstick.judge(out.bound - out.score, tolerance);
  } else {
    out.status = out.bound == kNone ? Status::infeasible : Status::unresolved;
  }
  return yardstick;
}

// One problem with factors of any order, from the graph to an outcome.
class FactorSolver {
 public:
  FactorSolver(const FactorGraph& graph, const Options& options, Interrupt& interrupt, Outcome& out)
      : graph_(graph), options_(options), interrupt_(interrupt), out_(out), deadline_(options.time_limit) {}

  // init is (V) or null. Throws Unsuitable or Interrupted. The bound is that of the final messages for trws and auto,
  // the score itself for exhaustive, otherwise the sum of the maxima of rows and tables.
  void solve(const std::int64_t* init) {
    out_ = Outcome{};
    if (init) out_.labels.assign(init, init + graph_.n_nodes);
    dispatch();
    if (out_.labels.empty()) out_.labels.assign(graph_.n_nodes, 0);
    judge(graph_, options_.tolerance, out_);
    if (options_.progress) interrupt_.improved(out_.score, out_.bound);
  }

 private:
  using Model = higher_order::Model;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  const FactorGraph& graph_;
  const Options& options_;
  Interrupt& interrupt_;
  Outcome& out_;
  const Deadline deadline_;

  void dispatch() {
    switch (options_.method) {
      case Method::automatic:
        return run_auto();
      case Method::trws:
        return run_trws();
      case Method::bp:
        return run_bp();
      case Method::icm:
        return run_icm();
      case Method::exhaustive:
        out_.labels = higher_order::exhaustive(graph_, interrupt_);
        out_.bound = -kInfinity;
        return;
      default:
        throw Unsuitable("method '" + std::string(kMethodNames[static_cast<std::size_t>(options_.method)]) +
                         "' does not accept factors; use one of auto, trws, bp, icm, exact, exhaustive");
    }
  }

  // The relaxation and, where that leaves a gap, max-product from its labelling.
  void run_auto() {
    run_trws();
    if (out_.labels.empty()) return;
    judge(graph_, options_.tolerance, out_);
    const bool settled = out_.status == Status::optimal || out_.status == Status::infeasible;
    if (!settled && !deadline_.passed()) run_bp();
  }

  int budget(int own) const { return options_.max_iterations > 0 ? options_.max_iterations : own; }

  // The bound that the model gives by itself; returns whether there is anything to look for.
  bool begin(const Model& model) {
    if (options_.reduced_costs && out_.reduced_costs.empty()) out_.reduced_costs.assign(model.unary.size(), 0.0);
    out_.bound = std::min(out_.bound, model.infeasible ? -kInfinity : model.offset);
    return !model.infeasible;
  }

  void run_trws() {
    Model model(graph_);
    if (!begin(model)) return;
    const higher_order::NodeOrder order(model);
    higher_order::Incumbent best(model, out_.labels, interrupt_);
    const bool exact_costs = options_.reduced_costs && order.acyclic;
    if (best.score >= model.least_allowed() && !exact_costs) model.clip(-best.score);
    higher_order::Srmp srmp(model, order);
    iterate(srmp, model, best);
    out_.labels = best.labels;
    if (exact_costs) {
      higher_order::MaxProduct exact(model, order);
      exact.sweep(interrupt_);
      exact.reduced_costs(out_.reduced_costs.data(), interrupt_);
    } else if (options_.reduced_costs) {
      srmp.reduced_costs(out_.reduced_costs.data(), interrupt_);
    }
    const double bound = srmp.bound(interrupt_);
    out_.bound = bound < model.least_allowed() ? -kInfinity : bound + model.offset;
  }

  // Sweeps until the gap is closed, the bound stalls or proves that every labelling is forbidden.
  void iterate(higher_order::Srmp& srmp, const Model& model, higher_order::Incumbent& best) {
    higher_order::Stall stalled;
    const double rounding = 1e-14 * (model.range + model.penalty);
    while (out_.iterations < budget(500) && !deadline_.passed()) {
      const double bound = srmp.sweep(interrupt_);
      ++out_.iterations;
      best.offer(srmp.labels);
      const double gap = bound - best.score;
      if (gap <= std::max(-options_.tolerance * best.score, rounding) || bound < model.least_allowed()) break;
      if (stalled(bound, std::min(gap, model.range))) break;
    }
  }

  void run_bp() {
    const Model model(graph_);
    if (!begin(model)) return;
    const higher_order::NodeOrder order(model);
    higher_order::MaxProduct bp(model, order);
    higher_order::Incumbent best(model, out_.labels, interrupt_);
    const double still = 1e-9 * model.range / std::max(1, model.n_nodes + model.n_factors());
    double change = kInfinity;
    for (int sweep = 0; sweep < budget(100) && !deadline_.passed() && change > still; ++sweep) {
      change = bp.sweep(interrupt_);
      ++out_.iterations;
      best.offer(bp.labels);
    }
    out_.labels = best.labels;
  }

  void run_icm() {
    const Model model(graph_);
    if (!begin(model)) return;
    out_.labels = higher_order::start(model, out_.labels);
    out_.iterations = icm(model, out_.labels, budget(std::numeric_limits<int>::max()), interrupt_);
  }
};

}  // namespace neuralfactors
