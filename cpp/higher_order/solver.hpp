// One problem with factors of any order: the method asked for, the verdict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/deadline.hpp"
#include "core/factor_graph.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/yardstick.hpp"
#include "higher_order/elimination.hpp"
#include "higher_order/exhaustive.hpp"
#include "higher_order/icm.hpp"
#include "higher_order/incumbent.hpp"
#include "higher_order/max_product.hpp"
#include "higher_order/messages.hpp"
#include "higher_order/model.hpp"
#include "higher_order/neighbourhoods.hpp"
#include "higher_order/srmp.hpp"

namespace neuralfactors {

namespace higher_order {

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
    if (options_.progress && (out_.score != told_score_ || out_.bound != told_bound_))
      interrupt_.improved(out_.score, out_.bound);
  }

 private:
  using Model = higher_order::Model;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kCheap = 1 << 18;  // entries of tables: an elimination that always pays
  // Effort of the search without a time limit, beside that of the messages. With twice as much the mean gaps of 40
  // problems of eight kinds are the same.
  static constexpr double kSearch = 1;

  const FactorGraph& graph_;
  const Options& options_;
  Interrupt& interrupt_;
  Outcome& out_;
  const Deadline deadline_;
  double told_score_ = -kInfinity, told_bound_ = kInfinity;  // what the caller has heard

  void dispatch() {
    switch (options_.method) {
      case Method::automatic:
        return run_auto();
      case Method::trws:
        return run_trws();
      case Method::bp:
        return run_bp(Model(graph_));
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

  // The relaxation. Where that leaves a gap: elimination of all nodes, once it costs no more than what came before;
  // until then max-product and a search in large neighbourhoods, which takes as long or until the time limit.
  void run_auto() {
    run_trws();
    if (out_.labels.empty() || is_settled() || deadline_.passed()) return;
    const Model model(graph_);
    higher_order::Elimination elimination(model);
    const double proof_cost = elimination.cost_of_all();
    if (proof_cost > std::max(kCheap, effort(model))) run_bp(model);
    search(model, elimination, proof_cost);
  }

  void search(const Model& model, higher_order::Elimination& elimination, double proof_cost) {
    higher_order::Incumbent best(model, out_.labels, interrupt_);
    higher_order::NeighbourhoodSearch moves(model, elimination, best, options_.seed, interrupt_);
    const double before = effort(model), most = deadline_.limited() ? kInfinity : kSearch * before;
    bool done = is_settled();
    while (!done && moves.effort() <= most && !deadline_.passed()) {
      const bool affordable = proof_cost <= std::max(kCheap, before + moves.effort());
      const bool better = affordable ? moves.prove() : moves.step();
      if (better) out_.labels = best.labels;
      if (moves.proved()) settle();
      if (better || moves.proved()) tell(out_.labels, out_.bound);
      done = moves.proved() || (better && is_settled());
    }
  }

  // Of the sweeps so far, in entries of tables.
  double effort(const Model& model) const { return out_.iterations * model.sweep_cost(); }

  // Whether there is nothing left to look for.
  bool is_settled() {
    judge(graph_, options_.tolerance, out_);
    return out_.status == Status::optimal || out_.status == Status::infeasible ||
           (out_.status == Status::within_tol && options_.is_coarse());
  }

  // No labelling is better than the one at hand. What labels cost refers to the bound, which comes down to its score.
  void settle() {
    const double score = graph_.score(out_.labels.data());
    for (double& cost : out_.reduced_costs) cost = std::max(0.0, cost - (out_.bound - score));
    out_.bound = score;
  }

  // Tells the caller of a labelling or a bound that is better than what it has heard of.
  void tell(const std::vector<int>& labels, double bound) {
    if (!options_.progress) return;
    const double score = std::max(graph_.score(labels.data()), told_score_);
    bound = std::max(score, std::min(bound, told_bound_));
    if (score <= told_score_ && bound >= told_bound_) return;
    told_score_ = score;
    told_bound_ = bound;
    interrupt_.improved(score, bound);
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
      tell(best.labels, bound + model.offset);
      const double gap = bound - best.score;
      if (gap <= std::max(-options_.tolerance * best.score, rounding) || bound < model.least_allowed()) break;
      if (stalled(bound, std::min(gap, model.range))) break;
    }
  }

  void run_bp(const Model& model) {
    if (!begin(model)) return;
    const higher_order::NodeOrder order(model);
    higher_order::MaxProduct bp(model, order);
    higher_order::Incumbent best(model, out_.labels, interrupt_);
    const double still = 1e-9 * model.range / std::max(1, model.n_nodes + model.n_factors());
    double change = kInfinity;
    for (int sweep = 0; sweep < budget(100) && !deadline_.passed() && change > still; ++sweep) {
      change = bp.sweep(interrupt_);
      ++out_.iterations;
      if (best.offer(bp.labels)) tell(best.labels, out_.bound);
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
