// The best mixture of two labellings: where they differ each node has the label of one or of the other.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "messages/packed_model.hpp"
#include "search/bucket_elimination.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "search/elimination_order.hpp"
#include "task.hpp"

namespace neuralfactors {

// Of a large elimination, beside those of an entry of a sweep (measured: 1 to 10 and 5000 to 10000).
constexpr double kEntryCost = 8, kVariableCost = 8000;

template <class Scores>
double cost_of(const Elimination<Scores>& elimination) {
  return kEntryCost * elimination.total() + kVariableCost * elimination.n_variables();
}

// Offers the best mixture of a labelling (by position) and the incumbent, or nearly the best where tables would be too
// large; returns whether it is better than the incumbent. May not take more than `effort`.
template <class T>
bool fuse(Task<T>& task, const Model& model, const std::vector<int>& labels, Random& random,
          double effort = std::numeric_limits<double>::infinity()) {
  std::vector<int>& mixed = task.work.by_position;
  Candidates& candidates = task.work.candidates;
  task.incumbent(model, mixed);
  candidates.begin.assign(1, 0);
  candidates.label.clear();
  for (int i = 0; i < model.n_nodes; ++i) {
    candidates.label.push_back(mixed[i]);
    if (labels[i] != mixed[i]) candidates.label.push_back(labels[i]);
    candidates.begin.push_back(static_cast<int>(candidates.label.size()));
  }
  const auto differ = static_cast<double>(candidates.label.size()) - model.n_nodes;
  const double max_total = std::min((effort - kVariableCost * differ) / kEntryCost, kEntries);
  if (differ == 0 || max_total < differ) return false;
  Elimination<ModelScores>& elimination = task.work.elimination;
  const Route route = random.below(2) == 0 ? Route::greedy : Route::sweep;
  elimination.improve(ModelScores{model}, candidates, mixed, route, kLargestTable, max_total, random);
  task.effort += cost_of(elimination);
  return task.offer(model, mixed);
}

}  // namespace neuralfactors
