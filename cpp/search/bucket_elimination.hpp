// Elimination of variables (dynamic programming over tables) in an order that is found greedily, cheapest first.
//
// Where even the cheapest table would be too large, a variable is frozen: it keeps its value, and whoever fills the
// tables takes that into account. What is found is exact when nothing had to be frozen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/random.hpp"

namespace neuralfactors {

// Call reset, tie, plan, add and run, in this order. Value is that of the tables, Choice holds the number of a value.
template <class Value, class Choice>
class BucketElimination {
 public:
  // Forgets all variables but those to come, of which v has sizes[v] values.
  void reset(const std::vector<int>& sizes) {
    size_ = sizes;
    if (neighbours_.size() < sizes.size()) neighbours_.resize(sizes.size());
    for (std::size_t v = 0; v < sizes.size(); ++v) neighbours_[v].clear();
  }

  // There will be a table of both; once for each pair.
  void tie(int u, int v) {
    neighbours_[u].push_back(v);
    neighbours_[v].push_back(u);
  }

  bool are_tied(int u, int v) const {
    return std::find(neighbours_[u].begin(), neighbours_[u].end(), v) != neighbours_[u].end();
  }

  // Order of elimination, by the graph alone; returns how many variables were frozen. No table has more than max_table
  // entries, and all of them together about max_total.
  int plan(double max_table, double max_total, Random& random) {
    begin_plan();
    int frozen = 0;
    for (int v = next_in_queue(); v >= 0; v = next_in_queue()) {
      const double c = cost_[v];
      if (c > max_table || (total_ + c > max_total && !neighbours_[v].empty())) {
        const int u = to_freeze(v, random);
        leave(u, kFrozen);
        ++frozen;
        if (u != v) put_in_queue(v);
      } else {
        total_ += c;
        rank_[v] = static_cast<int>(buckets_.size());
        buckets_.push_back({v, {scopes_.size(), static_cast<int>(neighbours_[v].size())}, -1, 0});
        scopes_.insert(scopes_.end(), neighbours_[v].begin(), neighbours_[v].end());
        leave(v, kEliminated);
        connect();
      }
      for (int u : touched_) update_cost(u);
    }
    for (Bucket& b : buckets_) forget_frozen(b.scope);
    return frozen;
  }

  // A table over variables that are not frozen, the first one slowest; `fill` appends its entries to a vector.
  template <class Fill>
  void add(const int* variables, int n, Fill fill) {
    const Table table{{scopes_.size(), n}, tables_.size(), -1};
    scopes_.insert(scopes_.end(), variables, variables + n);
    fill(tables_);
    hand_over(table);
  }

  // Finds the best choices; score(v, a) is what value a of variable v scores by itself, tick() is called now and then.
  template <class Score, class Tick>
  void run(Score score, Tick tick) {
    choice_.assign(size_.size(), 0);
    for (std::size_t k = 0; k < buckets_.size(); ++k) {
      tick();
      eliminate(buckets_[k], score);
    }
    for (std::size_t k = buckets_.size(); k-- > 0;) substitute(buckets_[k]);
  }

  bool is_frozen(int v) const { return state_[v] == kFrozen; }
  int size(int v) const { return size_[v]; }
  int choice(int v) const { return choice_[v]; }  // 0 if v is frozen
  int n_variables() const { return static_cast<int>(size_.size()); }
  int n_buckets() const { return static_cast<int>(buckets_.size()); }
  int variable(int bucket) const { return buckets_[bucket].variable; }
  double total() const { return total_; }  // entries of all tables of the plan

 private:
  // Scopes and tables live one after the other in common arrays: thousands of small vectors would cost more than the
  // work.
  struct Scope {
    std::size_t begin = 0;
    int size = 0;
  };
  struct Table {
    Scope scope;  // first variable slowest
    std::size_t begin = 0;
    int next = -1;  // in the list of its bucket
  };
  struct Bucket {
    int variable = 0;
    Scope scope;             // the variables its message depends on
    int tables = -1;         // summed in it, besides the variable's own scores
    std::size_t argmax = 0;  // by state of the scope
  };
  enum State : char { kWaiting, kEliminated, kFrozen };

  std::vector<int> size_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<State> state_;
  std::vector<double> cost_;                   // of eliminating a variable as the graph is now
  std::vector<std::pair<double, int>> queue_;  // heap of costs and variables; some are out of date
  std::vector<int> rank_;                      // place in the elimination
  std::vector<Bucket> buckets_;
  std::vector<Table> handed_;
  std::vector<int> scopes_;
  std::vector<Value> tables_, sum_;
  std::vector<Choice> argmax_;
  std::vector<int> choice_;
  std::vector<int> index_, touched_;
  double total_ = 0;

  void begin_plan() {
    state_.assign(size_.size(), kWaiting);
    rank_.assign(size_.size(), -1);
    buckets_.clear();
    scopes_.clear();
    handed_.clear();
    tables_.clear();
    argmax_.clear();
    total_ = 0;
    cost_.resize(size_.size());
    queue_.clear();
    for (int v = 0; v < n_variables(); ++v) queue_.push_back({cost_[v] = table_size(v), v});
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  // Entries of the table that eliminating v would take.
  double table_size(int v) const {
    double entries = size_[v];
    for (int u : neighbours_[v]) entries *= size_[u];
    return entries;
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

  // Of the cheapest bucket, the variable whose absence helps most; chance decides between equals so that moves differ.
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
    int* first = scopes_.data() + scope.begin;
    int* last = std::remove_if(first, first + scope.size, [&](int u) { return is_frozen(u); });
    scope.size = static_cast<int>(last - first);
  }

  // A table belongs to the bucket of whichever of its variables goes first.
  void hand_over(Table table) {
    int first = scopes_[table.scope.begin];
    for (int k = 1; k < table.scope.size; ++k) {
      const int v = scopes_[table.scope.begin + k];
      if (rank_[v] < rank_[first]) first = v;
    }
    Bucket& b = buckets_[rank_[first]];
    table.next = b.tables;
    b.tables = static_cast<int>(handed_.size());
    handed_.push_back(table);
  }

  // How far the entries of a table are apart for neighbouring values of v; 0 when it does not depend on v.
  int step_of(const Table& table, int v) const {
    int step = 1;
    for (int k = table.scope.size; k-- > 0;) {
      const int u = scopes_[table.scope.begin + k];
      if (u == v) return step;
      step *= size(u);
    }
    return 0;
  }

  // For each state of `scope`, where the entry of the table stands when all other variables have their first value.
  void map_states(const Table& table, const Scope& scope) {
    std::size_t filled = 1;
    index_[0] = 0;
    for (int d = scope.size; d-- > 0;) {  // last variable fastest
      const std::size_t block = filled;
      const int v = scopes_[scope.begin + d], step = step_of(table, v);
      for (int a = 1; a < size(v); ++a)
        for (std::size_t t = 0; t < block; ++t) index_[filled++] = index_[t] + a * step;
    }
  }

  template <class Score>
  void eliminate(Bucket& bucket, Score score) {
    const int v = bucket.variable;
    std::size_t states = 1;
    for (int d = 0; d < bucket.scope.size; ++d)
      states *= static_cast<std::size_t>(size(scopes_[bucket.scope.begin + d]));
    sum_.resize(states * size(v));
    index_.resize(states);
    for (int a = 0; a < size(v); ++a) std::fill_n(sum_.begin() + a * states, states, score(v, a));
    for (int id = bucket.tables; id >= 0; id = handed_[id].next) {
      const Table& table = handed_[id];
      const int step = step_of(table, v);
      map_states(table, bucket.scope);
      for (int a = 0; a < size(v); ++a) {
        Value* out = sum_.data() + a * states;
        const Value* entries = tables_.data() + table.begin + static_cast<std::size_t>(a) * step;
        for (std::size_t t = 0; t < states; ++t) out[t] += entries[index_[t]];
      }
    }
    maximise(bucket, states);
    if (bucket.scope.size == 0) return;
    const Table message{bucket.scope, tables_.size(), -1};
    tables_.insert(tables_.end(), sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(states));
    hand_over(message);
  }

  // The best value of the bucket's variable for each state of its scope, and its sum in the first part of sum_.
  void maximise(Bucket& bucket, std::size_t states) {
    bucket.argmax = argmax_.size();
    argmax_.resize(argmax_.size() + states, 0);
    Choice* argmax = argmax_.data() + bucket.argmax;
    for (int a = 1; a < size(bucket.variable); ++a) {
      const Value* x = sum_.data() + a * states;
      for (std::size_t t = 0; t < states; ++t)
        if (x[t] > sum_[t]) {
          sum_[t] = x[t];
          argmax[t] = static_cast<Choice>(a);
        }
    }
  }

  void substitute(const Bucket& bucket) {
    std::size_t state = 0;
    for (int d = 0; d < bucket.scope.size; ++d) {
      const int u = scopes_[bucket.scope.begin + d];
      state = state * static_cast<std::size_t>(size(u)) + choice_[u];
    }
    choice_[bucket.variable] = argmax_[bucket.argmax + state];
  }
};

}  // namespace neuralfactors
