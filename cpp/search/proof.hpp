// The proof that a labelling is optimal: exact search, in double precision, over all labels that a better one could
// have.
#pragma once

#include <cstddef>
#include <vector>

#include "messages/certificate.hpp"
#include "messages/packed_model.hpp"
#include "search/bucket_elimination.hpp"
#include "search/candidates.hpp"
#include "search/elimination.hpp"
#include "task.hpp"

namespace neuralfactors {

constexpr double kProofPerNode = 2;  // further labels a node on average that a proof looks at

// The incumbent's labels and those that cost no more than `gap`; returns whether they are few enough to search.
inline bool choose_by_cost(const Certificate& certificate, const Model& model, double gap,
                           const std::vector<int>& present, Candidates& out) {
  const double room = kProofPerNode * static_cast<double>(present.size()) + 8;
  out.begin.assign(1, 0);
  out.label.clear();
  for (std::size_t i = 0; i < present.size(); ++i) {
    const double* cost = certificate.cost.data() + model.begin[i];
    out.label.push_back(present[i]);
    for (int a = 0; a < model.count[i]; ++a)
      if (a != present[i] && cost[a] <= gap) out.label.push_back(a);
    out.begin.push_back(static_cast<int>(out.label.size()));
    const auto more = static_cast<double>(out.label.size()) - static_cast<double>(i + 1);
    if (more > room || out.size(static_cast<int>(i)) > Elimination<ModelScores>::kMaxCandidates) return false;
  }
  return true;
}

// Settles the task if the best of the candidates, which must hold all labels that a labelling better than the incumbent
// could have, can be found by elimination.
template <class T>
bool search_candidates(Task<T>& task, const Model& model, double max_total = kEntries) {
  std::vector<int>& labels = task.work.by_position;
  const ExactScores<T> scores{task.problem, task.statistics, model};
  task.incumbent(model, labels);
  auto& elimination = std::get<Elimination<ExactScores<T>>>(task.work.proofs);
  if (!elimination.solve(scores, task.work.candidates, labels, max_total)) return false;
  task.offer(model, labels);
  task.settle();
  return true;
}

// Tightens the bound by the certificate of the messages of `model`, and settles the task if that leaves few labels.
template <class T>
void prove(Task<T>& task, const Model& model, const Certificate& certificate) {
  task.tighten(certificate.bound);
  if (task.optimal()) return;
  task.incumbent(model, task.work.by_position);
  const double gap = certificate.bound - task.out.score + task.yardstick().rounding;
  if (choose_by_cost(certificate, model, gap, task.work.by_position, task.work.candidates))
    search_candidates(task, model);
}

}  // namespace neuralfactors
