// Exact MAP for two labels by one minimum cut.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "problem.hpp"
#include "qpbo.hpp"

namespace neuralfactors {

// Reusable: keeps its memory from one problem to the next.
class BinaryCut {
 public:
  // Solves a problem with two labels exactly if every table is submodular once the labels of some nodes are exchanged;
  // otherwise returns false, and only the labels that roof duality knows are part of an optimum.
  template <class T>
  bool solve(const Problem<T>& problem, std::vector<int>& labels, Interrupt& interrupt) {
    const Graph& graph = *problem.graph;
    qpbo_.reset(graph.n_nodes);
    for (int i = 0; i < graph.n_nodes; ++i) {
      qpbo_.add_gain(i, static_cast<double>(problem.row(i)[1]) - problem.row(i)[0]);
    }
    for (int e = 0; e < graph.n_edges; ++e) {
      const double s00 = problem.at(e, 0, 0), s01 = problem.at(e, 0, 1);
      const double s10 = problem.at(e, 1, 0), s11 = problem.at(e, 1, 1);
      const double coupling = (s11 - s10) - (s01 - s00);
      const double largest = std::max(std::max(std::abs(s00), std::abs(s01)), std::max(std::abs(s10), std::abs(s11)));
      // A table that is a sum of a row and a column but for the rounding of its entries couples nothing.
      const bool coupled = std::abs(coupling) > 4 * std::numeric_limits<T>::epsilon() * largest;
      qpbo_.add_gain(graph.tail[e], s10 - s00);
      qpbo_.add_gain(graph.head[e], s01 - s00);
      if (coupled) qpbo_.add_coupling(graph.tail[e], graph.head[e], coupling);
    }
    qpbo_.solve(interrupt);
    labels.resize(graph.n_nodes);
    for (int i = 0; i < graph.n_nodes; ++i) labels[i] = std::max(qpbo_.value(i), 0);
    return qpbo_.balanced();
  }

 private:
  Qpbo qpbo_;
};

}  // namespace neuralfactors
