// The last word on a move: does it raise the score?
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/problem.hpp"

namespace neuralfactors {

// Whether moving the nodes of a set to their alternatives raises the score by more than the rounding of its terms.
// `chosen(i)` tells the members of the set, `alternative(i)` their new labels.
template <class T, class Chosen, class Alternative>
bool improves(const Problem<T>& problem, const std::vector<int>& labels, const std::vector<int>& nodes, Chosen chosen,
              Alternative alternative) {
  const Graph& graph = *problem.graph;
  double gain = 0, size = 0;
  const auto count = [&](double after, double before) {
    gain += after - before;
    size += std::abs(after) + std::abs(before);
  };
  for (int i : nodes) {
    count(problem.row(i)[alternative(i)], problem.row(i)[labels[i]]);
    for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
      const Graph::Arc& arc = graph.arcs[a];
      const int y = labels[arc.node];
      const int z = chosen(arc.node) ? alternative(arc.node) : y;
      if (arc.from_tail) {
        count(problem.at(arc.edge, alternative(i), z), problem.at(arc.edge, labels[i], y));
      } else if (!chosen(arc.node)) {  // otherwise counted from the other end
        count(problem.at(arc.edge, y, alternative(i)), problem.at(arc.edge, y, labels[i]));
      }
    }
  }
  return gain > 4 * std::numeric_limits<double>::epsilon() * size;
}

}  // namespace neuralfactors
