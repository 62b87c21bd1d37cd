// MAP inference with factors of any order: the methods by name, one entry function.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

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

enum class HigherOrderMethod { kTrws, kBp, kIcm, kExhaustive };

struct HigherOrderOptions {
  int max_iter = 0;   // 0: the method's own budget
  double tol = 1e-4;  // of the gap between bound and score, relative to the regret of the labelling
  double max_seconds = std::numeric_limits<double>::infinity();  // message passing begins no sweep after this time
  const int* init = nullptr;                                     // (V) or none; no method ends below it
  bool reduced_costs = false;
};

struct HigherOrderResult {
  std::vector<int> labels;  // (V)
  double score = 0;         // -inf: no allowed labelling was found
  double bound = 0;         // no labelling scores more; -inf: it is proved that every one is forbidden
  Status status = Status::approximate;
  int iterations = 0;
  std::vector<double> reduced_costs;  // (V, L), trws only
};

namespace higher_order {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The caller's labelling, or else the best label of each node by itself.
inline std::vector<int> start(const Model& model, const int* init) {
  if (init != nullptr) return std::vector<int>(init, init + model.n_nodes);
  std::vector<int> labels;
  for (int i = 0; i < model.n_nodes; ++i) {
    const double* row = model.row(i);
    labels.push_back(static_cast<int>(std::max_element(row, row + model.n_labels) - row));
  }
  return labels;
}

// The best labelling met so far, each one polished by ICM before it is compared.
class Incumbent {
 public:
  Incumbent(const Model& model, const int* init, Interrupt& interrupt)
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

// How long message passing may go on.
class Budget {
 public:
  Budget(const HigherOrderOptions& options, int own_sweeps)
      : sweeps_(options.max_iter > 0 ? options.max_iter : own_sweeps), seconds_(options.max_seconds) {}

  bool allows(int sweep) const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return sweep < sweeps_ && spent.count() < seconds_;
  }

 private:
  int sweeps_;
  double seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline void run_trws(Model& model, const HigherOrderOptions& options, HigherOrderResult& result, Interrupt& interrupt) {
  const NodeOrder order(model);
  const Budget budget(options, 500);
  Incumbent best(model, options.init, interrupt);
  const bool exact_costs = options.reduced_costs && order.acyclic;
  if (best.score >= model.least_allowed() && !exact_costs) model.clip(-best.score);
  Srmp srmp(model, order);
  Stall stalled;
  while (budget.allows(result.iterations)) {
    const double bound = srmp.sweep(interrupt);
    ++result.iterations;
    best.offer(srmp.labels);
    const double gap = bound - best.score;
    const double rounding = 1e-14 * (model.range + model.penalty);
    if (gap <= std::max(-options.tol * best.score, rounding) || bound < model.least_allowed()) break;
    if (stalled(bound, std::min(gap, model.range))) break;
  }
  result.labels = best.labels;
  if (exact_costs) {
    MaxProduct exact(model, order);
    exact.sweep(interrupt);
    exact.reduced_costs(result.reduced_costs.data(), interrupt);
  } else if (options.reduced_costs) {
    srmp.reduced_costs(result.reduced_costs.data(), interrupt);
  }
  const double bound = srmp.bound(interrupt);
  result.bound = bound < model.least_allowed() ? -kInfinity : bound + model.offset;
}

inline void run_bp(const Model& model, const HigherOrderOptions& options, HigherOrderResult& result,
                   Interrupt& interrupt) {
  const NodeOrder order(model);
  const Budget budget(options, 100);
  MaxProduct bp(model, order);
  Incumbent best(model, options.init, interrupt);
  const double still = 1e-9 * model.range / std::max(1, model.n_nodes + model.n_factors());
  double change = kInfinity;
  while (budget.allows(result.iterations) && change > still) {
    change = bp.sweep(interrupt);
    ++result.iterations;
    best.offer(bp.labels);
  }
  result.labels = best.labels;
}

inline void run_icm(const Model& model, const HigherOrderOptions& options, HigherOrderResult& result,
                    Interrupt& interrupt) {
  result.labels = start(model, options.init);
  const int max_iter = options.max_iter > 0 ? options.max_iter : std::numeric_limits<int>::max();
  result.iterations = icm(model, result.labels, max_iter, interrupt);
}

inline void run_method(Model& model, HigherOrderMethod method, const HigherOrderOptions& options,
                       HigherOrderResult& result, Interrupt& interrupt) {
  result.bound = model.infeasible ? -kInfinity : model.offset;
  if (options.reduced_costs) result.reduced_costs.assign(model.unary.size(), 0.0);
  if (model.infeasible) return;
  if (method == HigherOrderMethod::kTrws) return run_trws(model, options, result, interrupt);
  if (method == HigherOrderMethod::kBp) return run_bp(model, options, result, interrupt);
  run_icm(model, options, result, interrupt);
}

}  // namespace higher_order

// Labels, their score by the caller's own tables, and a bound: from the final messages for trws, the score itself for
// exhaustive, otherwise the sum of the maxima of rows and tables.
inline HigherOrderResult solve_higher_order(const FactorGraph& graph, HigherOrderMethod method,
                                            const HigherOrderOptions& options, Interrupt& interrupt) {
  using higher_order::kInfinity;
  HigherOrderResult result;
  if (method == HigherOrderMethod::kExhaustive) {
    result.labels = higher_order::exhaustive(graph, interrupt);
    result.bound = -kInfinity;
  } else {
    higher_order::Model model(graph);
    higher_order::run_method(model, method, options, result, interrupt);
  }
  if (result.labels.empty()) result.labels.assign(graph.n_nodes, 0);
  result.score = graph.score(result.labels.data());
  result.bound = std::max(result.bound, result.score);
  if (result.score == -kInfinity) {
    result.status = result.bound == -kInfinity ? Status::infeasible : Status::unresolved;
    return result;
  }
  Yardstick yardstick;
  yardstick.measure(graph, result.labels.data());
  result.status = yardstick.judge(result.bound - result.score, options.tol);
  return result;
}

}  // namespace neuralfactors
