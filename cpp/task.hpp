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

namespace neuralfactors {

// Buffers that one thread uses for problem after problem.
struct Workspace {
  Model model, restricted;
  LocalSearch local_search;
  Elimination elimination;
  Candidates candidates;
  AlphaExpansion expansion;
  std::vector<int> by_node, by_position;
  std::vector<float> belief;
};

template <class T>
struct Task {
  const Problem<T>& problem;  // finite scores only
  const Survey& survey;
  const Options& options;
  Interrupt& interrupt;
  Workspace& work;
  Outcome& out;

  // Takes over the labelling if it is better than the incumbent.
  bool offer(const std::vector<int>& labels) {
    const double score = problem.score(labels.data());
    if (!out.labels.empty() && score <= out.score) return false;
    out.score = score;
    out.labels = labels;
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

  bool closed() const { return gap() <= options.tolerance * survey.scale() + survey.dust(); }
};

}  // namespace neuralfactors
