// What is left of a graph to sum over: nodes with more than one allowed label, and those labels.
#pragma once

#include <cstddef>
#include <vector>

#include "sums/sum_graph.hpp"

namespace neuralfactors {

struct Variables {
  std::vector<int> of_node;  // (V) the variable of a node, -1 when its label is given
  std::vector<int> given;    // (V) that label
  std::vector<int> node;     // by variable
  std::vector<int> size;     // by variable: its number of labels
  std::vector<int> begin;    // by variable: where its labels begin in `labels`
  std::vector<int> labels;

  int count() const { return static_cast<int>(node.size()); }
  const int* labels_of(int variable) const { return labels.data() + begin[variable]; }

  // False when all labels of some node are forbidden.
  template <class T>
  bool collect(const SumGraph<T>& graph) {
    of_node.assign(graph.n_nodes, -1);
    given.assign(graph.n_nodes, 0);
    for (auto* list : {&node, &size, &begin, &labels}) list->clear();
    for (int i = 0; i < graph.n_nodes; ++i) {
      const std::size_t first = labels.size();
      for (int a = 0; a < graph.count(i); ++a)
        if (graph.row(i)[a] != static_cast<T>(kForbiddenScore)) labels.push_back(a);
      const int allowed = static_cast<int>(labels.size() - first);
      if (allowed == 0) return false;
      if (allowed == 1) {
        give(i, labels.back());
        labels.pop_back();
        continue;
      }
      of_node[i] = count();
      node.push_back(i);
      size.push_back(allowed);
      begin.push_back(static_cast<int>(first));
    }
    return true;
  }

  // Fixes the label of a node; its variable, if it has one, keeps its number and goes unused.
  void give(int i, int label) {
    of_node[i] = -1;
    given[i] = label;
  }
};

}  // namespace neuralfactors
