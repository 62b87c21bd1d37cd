// In which order to eliminate the variables of a graph, greedily by the size of the next table. Where tables would grow
// beyond a budget, single variables are frozen: they keep a label that is given, and the rest comes apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/random.hpp"

namespace neuralfactors {

class EliminationOrder {
 public:
  struct Scope {  // in `scopes`
    std::size_t begin = 0;
    int size = 0;
  };
  struct Step {
    int variable = 0;
    Scope scope;  // the variables that are left and share a table with it when it goes
  };
  std::vector<Step> steps;
  std::vector<int> scopes;  // one after the other
  std::vector<int> rank;    // of each variable: its place in `steps`, -1 when frozen
  double total = 0;         // entries of all tables

  // Forgets the graph; variable v of the new one has size[v] labels. `size` is to stay until the order is planned.
  void reset(const std::vector<int>& size) {
    size_ = &size;
    if (neighbours_.size() < size.size()) neighbours_.resize(size.size());
    for (std::size_t v = 0; v < size.size(); ++v) neighbours_[v].clear();
  }

  // There will be a table of both; once for each pair.
  void tie(int u, int v) {
    neighbours_[u].push_back(v);
    neighbours_[v].push_back(u);
  }

  bool are_tied(int u, int v) const {
    return std::find(neighbours_[u].begin(), neighbours_[u].end(), v) != neighbours_[u].end();
  }

  // Fills `steps`; returns how many variables were frozen so that no table has more than max_table entries and all of
  // them together about max_total.
  int plan(double max_table, double max_total, Random& random) {
    state_.assign(size_->size(), kWaiting);
    rank.assign(size_->size(), -1);
    steps.clear();
    scopes.clear();
    start_queue();
    int frozen = 0;
    total = 0;
    for (int v = next_in_queue(); v >= 0; v = next_in_queue()) {
      const double c = cost_[v];
      if (c > max_table || (total + c > max_total && !neighbours_[v].empty())) {
        const int u = to_freeze(v, random);
        leave(u, kFrozen);
        ++frozen;
        if (u != v) put_in_queue(v);
      } else {
        total += c;
        rank[v] = static_cast<int>(steps.size());
        steps.push_back({v, {scopes.size(), static_cast<int>(neighbours_[v].size())}});
        scopes.insert(scopes.end(), neighbours_[v].begin(), neighbours_[v].end());
        leave(v, kEliminated);
        connect();
      }
      for (int u : touched_) update_cost(u);
    }
    for (Step& step : steps) forget_frozen(step.scope);
    return frozen;
  }

 private:
  enum State : char { kWaiting, kEliminated, kFrozen };

  const std::vector<int>* size_ = nullptr;
  std::vector<std::vector<int>> neighbours_;
  std::vector<State> state_;
  std::vector<double> cost_;                   // of eliminating a variable as the graph is now
  std::vector<std::pair<double, int>> queue_;  // heap of costs and variables; some are out of date
  std::vector<int> touched_;

  // Entries of the table that eliminating v would take.
  double table_size(int v) const {
    double entries = (*size_)[v];
    for (int u : neighbours_[v]) entries *= (*size_)[u];
    return entries;
  }

  void start_queue() {
    cost_.resize(size_->size());
    queue_.clear();
    for (int v = 0; v < static_cast<int>(size_->size()); ++v) queue_.push_back({cost_[v] = table_size(v), v});
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  void put_in_queue(int v) {
    queue_.push_back({cost_[v], v});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  // A cost that falls is put into the queue; one that rises replaces its entry when that comes up.
  void update_cost(int v) {
    const double before = cost_[v];
    cost_[v] = table_size(v);
    if (cost_[v] < before) put_in_queue(v);
  }

  // The cheapest variable that waits, or -1.
  int next_in_queue() {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const auto [cost, v] = queue_.back();
      queue_.pop_back();
      if (state_[v] != kWaiting || cost > cost_[v]) continue;
      if (cost == cost_[v]) return v;
      put_in_queue(v);
    }
    return -1;
  }

  // Takes v out of the graph; touched_ holds its former neighbours.
  void leave(int v, State state) {
    state_[v] = state;
    touched_ = neighbours_[v];
    for (int u : touched_) {
      auto& list = neighbours_[u];
      list.erase(std::find(list.begin(), list.end(), v));
    }
  }

  void connect() {
    for (int a : touched_)
      for (int b : touched_)
        if (a < b && !are_tied(a, b)) tie(a, b);
  }

  // Of the cheapest bucket, the node whose absence helps most; chance decides between equals so that moves differ.
  int to_freeze(int v, Random& random) const {
    int best = v;
    double best_gain = -1;
    auto consider = [&](int u) {
      const double gain = static_cast<double>(neighbours_[u].size()) * (1 + 0.001 * random.below(1000));
      if (gain > best_gain) {
        best_gain = gain;
        best = u;
      }
    };
    consider(v);
    for (int u : neighbours_[v]) consider(u);
    return best;
  }

  void forget_frozen(Scope& scope) {
    int* first = scopes.data() + scope.begin;
    int* last = std::remove_if(first, first + scope.size, [&](int u) { return state_[u] == kFrozen; });
    scope.size = static_cast<int>(last - first);
  }
};

}  // namespace neuralfactors
