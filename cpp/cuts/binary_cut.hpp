// Exact MAP for two labels by one minimum cut.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"
#include "cuts/qpbo.hpp"

namespace neuralfactors {

// Reusable: keeps its memory from one problem to the next.
class BinaryCut {
 public:
  // Solves a problem with two labels exactly if every table is submodular once the labels of some nodes are exchanged;
  // otherwise returns false. A table that is a sum of a row and a column but for the rounding of its entries may count
  // as one: no labelling is better by more than what was then `left_out`, which includes what rounding did to the cut.
  template <class T>
  bool solve(const Problem<T>& problem, std::vector<int>& labels, Interrupt& interrupt, double& left_out) {
    left_out = 0;
    fill(problem, 0);
    if (!qpbo_.balance()) {
      left_out = fill(problem, 4 * std::numeric_limits<T>::epsilon());
      if (left_out == 0 || !qpbo_.balance()) return false;
    }
    qpbo_.solve(interrupt);
    labels.resize(problem.graph->n_nodes);
    for (int i = 0; i < problem.graph->n_nodes; ++i) labels[i] = qpbo_.value(i);
    left_out += qpbo_.gap();
    return true;
  }

 private:
  Qpbo qpbo_;

  // Sum of the couplings that are at most the share `rounding` of their tables, and are left out.
  template <class T>
  double fill(const Problem<T>& problem, double rounding) {
    const Graph& graph = *problem.graph;
    double left_out = 0;
    qpbo_.reset(graph.n_nodes);
    const auto free = [&](int i) { return problem.count(i) > 1; };  // a node with one label stays at 0
    for (int i = 0; i < graph.n_nodes; ++i)
      if (free(i)) qpbo_.add_gain(i, static_cast<double>(problem.row(i)[1]) - problem.row(i)[0]);
    for (int e = 0; e < graph.n_edges; ++e) {
      const int u = graph.tail[e], v = graph.head[e];
      if (!free(u) || !free(v)) {
        if (free(u)) qpbo_.add_gain(u, problem.at(e, 1, 0) - problem.at(e, 0, 0));
        if (free(v)) qpbo_.add_gain(v, problem.at(e, 0, 1) - problem.at(e, 0, 0));
        continue;
      }
      const double s00 = problem.at(e, 0, 0), s01 = problem.at(e, 0, 1);
      const double s10 = problem.at(e, 1, 0), s11 = problem.at(e, 1, 1);
      const double coupling = (s11 - s10) - (s01 - s00);
      const double largest = std::max(std::max(std::abs(s00), std::abs(s01)), std::max(std::abs(s10), std::abs(s11)));
      qpbo_.add_gain(u, s10 - s00);
      qpbo_.add_gain(v, s01 - s00);
      if (std::abs(coupling) > rounding * largest)
        qpbo_.add_coupling(u, v, coupling);
      else
        left_out += std::abs(coupling);
    }
    return left_out;
  }
};

}  // namespace neuralfactors
