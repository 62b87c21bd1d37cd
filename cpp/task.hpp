// The state shared by the stages of one solve: the incumbent, the bound and the buffers that outlive it.
#pragma once

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "core/deadline.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/prepare.hpp"
#include "core/problem.hpp"
#include "core/statistics.hpp"
#include "core/yardstick.hpp"
#include "expansion/alpha_expansion.hpp"
#include "messages/packed_model.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "search/local_search.hpp"

namespace neuralfactors {

// Buffers that one thread uses for problem after problem.
struct Workspace {
  Model model, next_model, small_model;
  LocalSearch local_search;
  Elimination<ModelScores> elimination;
  std::tuple<Elimination<ExactScores<float>>, Elimination<ExactScores<double>>> proofs;
  Candidates candidates;
  AlphaExpansion expansion;
  std::vector<int> by_node, by_position;
  std::vector<float> belief;
  Yardstick yardstick;
};

template <class T>
struct Task {
  Prepared<T>& prepared;
  const Problem<T>& problem;  // finite scores only
  const Statistics& statistics;
  const Options& options;
  Interrupt& interrupt;
  Workspace& work;
  Outcome& out;
  const Deadline& deadline;
  bool proved = false;    // the incumbent is as good as any labelling, but for rounding
  bool measured = false;  // the yardstick is that of the incumbent
  double effort = 0;      // entries of tables that have been looked at

  // Takes over the labelling if it is better than the incumbent.
  bool offer(const std::vector<int>& labels) {
    const double score = problem.score(labels.data());
    if (!out.labels.empty() && score <= out.score) return false;
    out.score = score;
    out.labels = labels;
    measured = false;
    tell();
    return true;
  }

  // The same for labels of a model, that is in its order and numbering.
  bool offer(const Model& m, const std::vector<int>& labels) {
    to_problem(m, labels);
    return offer(work.by_node);
  }

  double score_of(const Model& m, const std::vector<int>& labels) {
    to_problem(m, labels);
    return problem.score(work.by_node.data());
  }

  // The incumbent in a model's terms; where the model has left its label out, the first one.
  void incumbent(const Model& m, std::vector<int>& labels) const {
    labels.resize(m.n_nodes);
    for (int p = 0; p < m.n_nodes; ++p) labels[p] = std::max(m.own_label(p, out.labels[m.node[p]]), 0);
  }

  void tighten(double bound) {
    if (!(bound < out.bound)) return;
    out.bound = bound;
    tell();
  }

  // Iterations asked for; else as many as the time allows; else the method's own number of them.
  int budget(int own) const {
    if (options.max_iterations > 0) return options.max_iterations;
    return deadline.limited() ? std::numeric_limits<int>::max() : own;
  }

  bool out_of_time() const { return deadline.passed(); }

  double gap() const { return out.bound - out.score; }

  double regret() const { return statistics.top - out.score; }

  // Looking at every row and table takes time: it is done only where the gap is small enough to pass at all.
  bool optimal() { return proved || (gap() <= most_rounding() && gap() <= yardstick().rounding); }
  bool within_tolerance() {
    const double tolerance = options.tolerance;
    return gap() <= tolerance * regret() && gap() <= tolerance * yardstick().regret;
  }
  bool closed() { return optimal() || within_tolerance(); }
  Status verdict() {
    if (optimal()) return Status::optimal;
    return within_tolerance() ? Status::within_tol : Status::approximate;
  }

  const Yardstick& yardstick() {
    if (!measured) work.yardstick.measure(problem, statistics, out.labels);
    measured = true;
    return work.yardstick;
  }

  // The incumbent is proved optimal.
  void settle() {
    proved = true;
    out.bound = out.score;
    tell();
  }

  // Leaves out of the problem what the incumbent shows to be too low to matter; returns whether scores have changed, so
  // that models must be built anew.
  bool clip() { return prepared.clip(regret()); }

 private:
  void to_problem(const Model& m, const std::vector<int>& labels) {
    work.by_node = m.fixed;
    work.by_node.resize(m.position.size());
    for (int p = 0; p < m.n_nodes; ++p) work.by_node[m.node[p]] = m.label(p, labels[p]);
  }

  // Callers hear of labellings that are allowed, and of bounds.
  void tell() {
    if (!options.progress || out.labels.empty()) return;
    const double score = prepared.problem.score(out.labels.data());
    interrupt.improved(score, std::max(out.bound, score));
  }

  double most_rounding() const {
    return Yardstick::rounding_of(problem.graph->n_nodes + problem.graph->n_edges, statistics.top_size + regret());
  }
};

}  // namespace neuralfactors
