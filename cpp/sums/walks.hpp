// Labellings from a cluster tree, root first: samples by the conditionals, and the k best by how far each choice is
// from the best one. What is left after a choice is completed at no further loss, so that a deviation's score is known
// before its labelling is (Lawler's partition; Nilsson 1998).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "sums/cluster_tree.hpp"
#include "sums/sum_graph.hpp"

namespace neuralfactors {

// One labelling (V) after tree.upward(sum).
template <class T>
void draw_labels(const ClusterTree<T>& tree, Random& random, std::int64_t* labels) {
  std::vector<std::int64_t> choices(tree.n_variables(), 0);
  for (int k = 0; k < tree.n_steps(); ++k) {
    const double* p = tree.row(k, choices.data());
    double left = random.uniform();
    int chosen = 0;
    for (int x = 0; x < tree.n_choices(k) && left >= 0; ++x) {
      if (p[x] == 0) continue;
      left -= p[x];
      chosen = x;  // rounding may leave a little after the last one, which then stands
    }
    choices[tree.variable(k)] = chosen;
  }
  tree.labels(choices.data(), labels);
}

// The best labellings after tree.upward(max), which returned `best`.
template <class T>
class BestLabellings {
 public:
  BestLabellings(const ClusterTree<T>& tree, double best, int k) : tree_(tree), k_(k) {
    if (best == kForbiddenScore) return;
    offer({best, -1, 0, 0});
    while (!waiting_.empty() && count() < k) {
      const Deviation next = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      take(next);
    }
  }

  int count() const { return static_cast<int>(scores_.size()); }  // fewer than k where there are no more
  double score(int rank) const { return scores_[rank]; }
  void labels(int rank, std::int64_t* out) const { tree_.labels(choices_[rank].data(), out); }

 private:
  // As labelling `parent` up to `step`, where it takes `choice`, and from there on as good as can be.
  struct Deviation {
    double score;
    int parent, step, choice;
    bool operator<(const Deviation& other) const {  // the better first; equal scores in the order of their places
      return std::tie(other.score, parent, step, choice) < std::tie(score, other.parent, other.step, other.choice);
    }
  };

  const ClusterTree<T>& tree_;
  int k_;
  std::set<Deviation> waiting_;
  std::vector<double> scores_;
  std::vector<std::vector<std::int64_t>> choices_;

  void offer(const Deviation& d) {
    if (d.score == kForbiddenScore) return;
    waiting_.insert(d);
    if (static_cast<int>(waiting_.size()) > k_ - count()) waiting_.erase(std::prev(waiting_.end()));
  }

  void take(const Deviation& d) {
    const bool first = d.parent < 0;
    std::vector<std::int64_t> choices = first ? std::vector<std::int64_t>(tree_.n_variables(), 0) : choices_[d.parent];
    const int rank = count();
    scores_.push_back(d.score);
    if (!first) choices[tree_.variable(d.step)] = d.choice;
    for (int k = first ? 0 : d.step + 1; k < tree_.n_steps(); ++k) {
      const double* loss = tree_.row(k, choices.data());
      const int best = static_cast<int>(std::max_element(loss, loss + tree_.n_choices(k)) - loss);
      choices[tree_.variable(k)] = best;
      for (int x = 0; x < tree_.n_choices(k); ++x)
        if (x != best) offer({d.score + loss[x], rank, k, x});
    }
    choices_.push_back(std::move(choices));
  }
};

}  // namespace neuralfactors
