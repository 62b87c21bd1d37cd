// In which order to eliminate the variables of a graph: greedily by the size of the next table, or in a sweep through
// the graph. Where tables would grow beyond a budget, single variables are frozen: they keep a label that is given, and
// the rest comes apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/random.hpp"

namespace neuralfactors {

// By the next table, or breadth-first. Greedy elimination begins everywhere at once, and where tables must not grow,
// its parts remain apart: on a grid of 40 x 40 with 2 labels it freezes 300 nodes with tables of 256 entries and still
// 255 of them with tables of 16384. A sweep has one front, which freezing cuts into strips: 270, but then 185.
enum class Route { greedy, sweep };

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
  int plan(Route route, double max_table, double max_total, Random& random) {
    start();
    const int frozen =
        route == Route::greedy ? plan_greedily(max_table, max_total, random) : plan_sweep(max_table, max_total, random);
    for (Step& step : steps) forget_frozen(step.scope);
    return frozen;
  }

  // The same without freezing any; returns whether that is possible.
  bool plan_all(double max_table, double max_total) {
    start();
    fill_queue();
    for (int v = next_in_queue(); v >= 0; v = next_in_queue()) {
      if (!fits(v, max_table, max_total)) return false;
      eliminate(v);
      update_costs();
    }
    return true;
  }

 private:
  enum State : char { kWaiting, kEliminated, kFrozen };
  static constexpr std::size_t kCosts = 256;  // places in the queue; the last one is for 2^63 entries and more

  const std::vector<int>* size_ = nullptr;
  std::vector<std::vector<int>> neighbours_;
  std::vector<State> state_;
  std::vector<double> cost_;             // of eliminating a variable as the graph is now
  std::vector<std::vector<int>> queue_;  // variables by their cost, those of similar costs together; some out of date
  std::size_t first_ = 0;                // in queue_ that may hold some
  std::vector<int> touched_;
  std::vector<int> sweep_;  // variables in breadth-first order

  int plan_greedily(double max_table, double max_total, Random& random) {
    fill_queue();
    int frozen = 0;
    for (int v = next_in_queue(); v >= 0; v = next_in_queue()) {
      if (fits(v, max_table, max_total)) {
        eliminate(v);
        update_costs();
      } else {
        freeze(v, random);
        ++frozen;
      }
    }
    return frozen;
  }

  int plan_sweep(double max_table, double max_total, Random& random) {
    line_up(random);
    int frozen = 0;
    for (int v : sweep_) {
      cost_[v] = table_size(v);
      if (fits(v, max_table, max_total)) {
        eliminate(v);
      } else {
        leave(v, kFrozen);
        ++frozen;
      }
    }
    return frozen;
  }

  // Fills sweep_, from a random variable, then from the next one that has not been met.
  void line_up(Random& random) {
    const int n = static_cast<int>(size_->size());
    std::vector<char> met(n, 0);
    sweep_.clear();
    const auto meet = [&](int v) {
      if (!met[v]) sweep_.push_back(v);
      met[v] = 1;
    };
    const int first = n > 0 ? random.below(n) : 0;
    for (int k = 0; k < n; ++k) {
      std::size_t next = sweep_.size();
      for (meet((first + k) % n); next < sweep_.size(); ++next)
        for (int u : neighbours_[sweep_[next]]) meet(u);
    }
  }

  void start() {
    state_.assign(size_->size(), kWaiting);
    rank.assign(size_->size(), -1);
    steps.clear();
    scopes.clear();
    total = 0;
    cost_.resize(size_->size());
  }

  void fill_queue() {
    queue_.resize(kCosts);
    for (auto& list : queue_) list.clear();
    for (int v = static_cast<int>(size_->size()) - 1; v >= 0; --v) {
      cost_[v] = table_size(v);
      put_in_queue(v);
    }
  }

  bool fits(int v, double max_table, double max_total) const {
    return cost_[v] <= max_table && (total + cost_[v] <= max_total || neighbours_[v].empty());
  }

  void eliminate(int v) {
    total += cost_[v];
    rank[v] = static_cast<int>(steps.size());
    steps.push_back({v, {scopes.size(), static_cast<int>(neighbours_[v].size())}});
    scopes.insert(scopes.end(), neighbours_[v].begin(), neighbours_[v].end());
    leave(v, kEliminated);
    connect();
  }

  // Freezes v or one of its neighbours.
  void freeze(int v, Random& random) {
    const int u = to_freeze(v, random);
    leave(u, kFrozen);
    update_costs();
    if (u != v) put_in_queue(v);
  }

  // Entries of the table that eliminating v would take.
  double table_size(int v) const {
    double entries = (*size_)[v];
    for (int u : neighbours_[v]) entries *= (*size_)[u];
    return entries;
  }

  // Costs in one place of the queue differ by less than a quarter.
  static std::size_t place(double cost) {
    constexpr int kMantissa = 52, kPrecision = 2;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &cost, sizeof bits);
    constexpr std::uint64_t kOne = 1023;
    return std::min<std::uint64_t>((bits >> (kMantissa - kPrecision)) - (kOne << kPrecision), kCosts - 1);
  }

  void put_in_queue(int v) {
    const std::size_t where = place(cost_[v]);
    queue_[where].push_back(v);
    first_ = std::min(first_, where);
  }

  // Of the neighbours of a variable that has left.
  void update_costs() {
    for (int u : touched_) update_cost(u);
  }

  // A cost that falls is put into the queue; one that rises replaces its entry when that comes up.
  void update_cost(int v) {
    const std::size_t before = place(cost_[v]);
    cost_[v] = table_size(v);
    if (place(cost_[v]) < before) put_in_queue(v);
  }

  // A variable that waits and is one of the cheapest, or -1.
  int next_in_queue() {
    for (; first_ < queue_.size(); ++first_)
      while (!queue_[first_].empty()) {
        const int v = queue_[first_].back();
        queue_[first_].pop_back();
        if (state_[v] != kWaiting || place(cost_[v]) < first_) continue;
        if (place(cost_[v]) == first_) return v;
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
