// Elimination of variables (dynamic programming over tables) in an order that is found greedily, cheapest first.
//
// Where even the cheapest table would be too large, a variable is frozen: it keeps its value, and whoever fills the
// tables takes that into account. What is found is exact when nothing had to be frozen.
#pragma once

#include <cstddef>
#include <vector>

#include "core/random.hpp"
#include "search/elimination_order.hpp"

namespace neuralfactors {

constexpr double kLargestTable = 1 << 18;  // entries of one in which to look for better labellings
constexpr double kEntries = 2e7;           // of all tables of an elimination: what memory there may be

// Call reset, tie, plan, add and run, in this order. Value is that of the tables, Choice holds the number of a value.
template <class Value, class Choice>
class BucketElimination {
 public:
  // Forgets all variables but those to come, of which v has sizes[v] values.
  void reset(const std::vector<int>& sizes) {
    size_ = sizes;
    order_.reset(size_);
  }

  // There will be a table of both; once for each pair.
  void tie(int u, int v) { order_.tie(u, v); }

  // There will be a table of all n of them.
  void tie_all(const int* variables, int n) {
    for (int j = 1; j < n; ++j)
      for (int i = 0; i < j; ++i)
        if (!order_.are_tied(variables[i], variables[j])) order_.tie(variables[i], variables[j]);
  }

  // Order of elimination, by the graph alone; returns how many variables were frozen. No table has more than max_table
  // entries, and all of them together about max_total.
  int plan(Route route, double max_table, double max_total, Random& random) {
    const int frozen = order_.plan(route, max_table, max_total, random);
    make_buckets();
    return frozen;
  }

  // The same without freezing any; returns whether that is possible.
  bool plan_all(double max_table, double max_total) {
    if (!order_.plan_all(max_table, max_total)) return false;
    make_buckets();
    return true;
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

  bool is_frozen(int v) const { return order_.rank[v] < 0; }
  int size(int v) const { return size_[v]; }
  int choice(int v) const { return choice_[v]; }  // 0 if v is frozen
  int n_variables() const { return static_cast<int>(size_.size()); }
  int n_buckets() const { return static_cast<int>(buckets_.size()); }
  int variable(int bucket) const { return buckets_[bucket].variable; }
  double total() const { return order_.total; }  // entries of all tables of the plan

 private:
  // Scopes and tables live one after the other in common arrays: thousands of small vectors would cost more than the
  // work.
  using Scope = EliminationOrder::Scope;
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

  std::vector<int> size_;
  EliminationOrder order_;
  std::vector<Bucket> buckets_;
  std::vector<Table> handed_;
  std::vector<int> scopes_;
  std::vector<Value> tables_, sum_, pair_;
  std::vector<Choice> argmax_;
  std::vector<int> choice_;
  std::vector<int> index_;

  void make_buckets() {
    buckets_.clear();
    for (const auto& [variable, scope] : order_.steps) buckets_.push_back({variable, scope, -1, 0});
    scopes_ = order_.scopes;
    handed_.clear();
    tables_.clear();
    argmax_.clear();
  }

  // A table belongs to the bucket of whichever of its variables goes first.
  void hand_over(Table table) {
    int first = scopes_[table.scope.begin];
    for (int k = 1; k < table.scope.size; ++k) {
      const int v = scopes_[table.scope.begin + k];
      if (order_.rank[v] < order_.rank[first]) first = v;
    }
    Bucket& b = buckets_[order_.rank[first]];
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
    for (int a = 0; a < size(v); ++a) add_pairs(bucket, a, score(v, a), sum_.data() + a * states);
    for (int id = bucket.tables; id >= 0; id = handed_[id].next)
      if (handed_[id].scope.size != 2) add_table(bucket, handed_[id], states);
    maximise(bucket, states);
    if (bucket.scope.size == 0) return;
    const Table message{bucket.scope, tables_.size(), -1};
    tables_.insert(tables_.end(), sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(states));
    hand_over(message);
  }

  // What value a of the bucket's variable scores by itself and with each other variable, summed for all states of the
  // scope: one addition a state, however many tables there are.
  void add_pairs(const Bucket& bucket, int a, Value own, Value* out) {
    *out = own;
    std::size_t filled = 1;
    for (int d = bucket.scope.size; d-- > 0;) {  // last variable fastest
      const int u = scopes_[bucket.scope.begin + d];
      pair_.assign(size(u), 0);
      for (int id = bucket.tables; id >= 0; id = handed_[id].next) add_pair(handed_[id], bucket.variable, a, u);
      const std::size_t block = filled;
      for (int b = size(u); b-- > 0;)
        for (std::size_t t = 0; t < block; ++t) out[b * block + t] = out[t] + pair_[b];
      filled *= static_cast<std::size_t>(size(u));
    }
  }

  // Adds the row of a table of v and u to pair_, if it is one.
  void add_pair(const Table& table, int v, int a, int u) {
    const int* scope = scopes_.data() + table.scope.begin;
    if (table.scope.size != 2 || (scope[0] != u && scope[1] != u)) return;
    const bool rows = scope[0] == v;
    const Value* entries = tables_.data() + table.begin + static_cast<std::size_t>(a) * (rows ? size(u) : 1);
    for (int b = 0; b < size(u); ++b) pair_[b] += entries[static_cast<std::size_t>(b) * (rows ? 1 : size(v))];
  }

  void add_table(const Bucket& bucket, const Table& table, std::size_t states) {
    const int step = step_of(table, bucket.variable);
    map_states(table, bucket.scope);
    for (int a = 0; a < size(bucket.variable); ++a) {
      Value* out = sum_.data() + a * states;
      const Value* entries = tables_.data() + table.begin + static_cast<std::size_t>(a) * step;
      for (std::size_t t = 0; t < states; ++t) out[t] += entries[index_[t]];
    }
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
