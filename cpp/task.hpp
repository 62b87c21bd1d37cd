// The state shared by the stages of one solve: the incumbent, the bound and the buffers that outlive it.
#pragma once

#include <algorithm>
#include <vector>

#include "alpha_expansion.hpp"
#include "elimination.hpp"
#include "interrupt.hpp"
#include "local_search.hpp"
#include "model.hpp"
#include "options.hpp"
#include "prepare.hpp"
#include "problem.hpp"
#include "survey.hpp"
#include "yardstick.hpp"

namespace neuralfactors {

// Buffers that one thread uses for problem after problem.
struct Workspace {
  Model model, restricted;
  LocalSearch local_search;
  Elimination<ModelScores> elimination;
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
  const Survey& survey;
  const Options& options;
  Interrupt& interrupt;
  Workspace& work;
  Outcome& out;
  bool proved = false;    // the incumbent is as good as any labelling, but for rounding
  bool measured = false;  // the yardstick is that of the incumbent

  // Takes over the labelling if it is better than the incumbent.
  bool offer(const std::vector<int>& labels) {
    const double score = problem.score(labels.data());
    if (!out.labels.empty() && score <= out.score) return false;
    out.score = score;
    out.labels = labels;
    measured = false;
    return true;
  }

  // The same for labels of a model, that is in its sweep order and, where it is restricted, in its numbering.
  bool offer(const Model& m, const std::vector<int>& labels) {
    work.by_node.resize(labels.size());
    for (std::size_t p = 0; p < labels.size(); ++p)
      work.by_node[m.node[p]] = m.label_of.empty() ? labels[p] : m.label_of[p * m.n_labels + labels[p]];
    return offer(work.by_node);
  }

  // The incumbent in a model's terms; a restricted model must know its labels.
  void incumbent(const Model& m, std::vector<int>& labels) const {
    labels.resize(m.node.size());
    for (std::size_t p = 0; p < labels.size(); ++p) {
      const int label = out.labels[m.node[p]];
      const auto known = m.label_of.begin() + static_cast<std::ptrdiff_t>(p) * m.n_labels;
      labels[p] = m.label_of.empty() ? label : static_cast<int>(std::find(known, known + m.n_labels, label) - known);
    }
  }

  void tighten(double bound) { out.bound = std::min(out.bound, bound); }

  double gap() const { return out.bound - out.score; }

  double regret() const { return survey.top - out.score; }

  // Looking at every row and table takes time: it is done only where the gap is small enough to pass at all.
  bool optimal() { return proved || (gap() <= most_rounding() && gap() <= yardstick().rounding); }
  bool within_tolerance() {
    const double tolerance = options.tolerance;
    return gap() <= tolerance * regret() && gap() <= tolerance * yardstick().regret;
  }
  bool closed() { return optimal() || within_tolerance(); }

  const Yardstick& yardstick() {
    if (!measured) work.yardstick.measure(problem, survey, out.labels);
    measured = true;
    return work.yardstick;
  }

  // The incumbent is proved optimal.
  void settle() {
    proved = true;
    out.bound = out.score;
  }

  // Leaves out of the problem what the incumbent shows to be too low to matter; returns whether scores have changed, so
  // that models must be built anew.
  bool clip() { return prepared.clip(regret()); }

 private:
  double most_rounding() const {
    return Yardstick::rounding_of(problem.graph->n_nodes + problem.graph->n_edges, survey.top_size + regret());
  }
};

}  // namespace neuralfactors
