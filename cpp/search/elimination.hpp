// Exact improvement of a labelling within given candidate labels, by variable elimination.
//
// Nodes are eliminated cheapest first. Where even the cheapest table would be too large, a node is frozen at its
// present label and the others are optimised jointly given the frozen ones: a move that is never downhill, and exact
// within the candidates when nothing had to be frozen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "core/random.hpp"
#include "core/statistics.hpp"
#include "messages/packed_model.hpp"
#include "messages/sweep_graph.hpp"
#include "search/candidates.hpp"

namespace neuralfactors {

// The float32 scores of a model: enough to search by.
struct ModelScores {
  using Value = float;
  const Model& model;

  const SweepGraph& links() const { return model; }
  float row(int i, int label) const { return model.row(i)[label]; }
  float table(int slot, int earlier, int later) const { return model.at(slot, earlier, later); }
};

// The caller's own scores, the best entry of every row and table being 0: exact but for the rounding of doubles.
template <class T>
struct ExactScores {
  using Value = double;
  const Problem<T>& problem;
  const Statistics& statistics;
  const Model& model;  // for the order of its nodes and the numbers of its labels

  const SweepGraph& links() const { return model; }
  double row(int i, int label) const {
    const Graph& g = *problem.graph;
    const int here = model.label(i, label), u = model.node[i];
    double score = problem.row(u)[here] - statistics.row_max[u];
    for (int k = g.begin[u]; k < g.begin[u + 1] && !model.whole; ++k) {
      const Graph::Arc& arc = g.arcs[k];
      if (model.position[arc.node] != Model::kGone) continue;
      const int there = model.fixed[arc.node];
      score += (arc.from_tail ? problem.at(arc.edge, here, there) : problem.at(arc.edge, there, here)) -
               statistics.table_max[arc.edge];
    }
    return score;
  }
  double table(int slot, int earlier, int later) const {
    const int e = model.edge[slot], u = problem.graph->tail[e], v = problem.graph->head[e];
    const bool from_tail = model.position[u] < model.position[v];
    const int i = model.position[from_tail ? u : v], j = model.position[from_tail ? v : u];
    const int a = model.label(i, earlier), b = model.label(j, later);
    return problem.at(e, from_tail ? a : b, from_tail ? b : a) - statistics.table_max[e];
  }
};

template <class Scores>
class Elimination {
 public:
  static constexpr int kMaxCandidates = 255;  // of one node: choices are stored as bytes

  // Labels (by position) become the best ones among the candidates; returns the number of frozen nodes. No table has
  // more than max_table entries, and all of them together about max_total.
  int improve(const Scores& scores, const Candidates& candidates, std::vector<int>& labels, double max_table,
              double max_total, Random& random) {
    const int frozen = prepare(scores, candidates, max_table, max_total, random);
    run(labels);
    return frozen;
  }

  // The same, or nothing at all if nodes would have to be frozen; returns which.
  bool solve(const Scores& scores, const Candidates& candidates, std::vector<int>& labels, double max_total,
             Random& random) {
    if (prepare(scores, candidates, max_total, max_total, random) > 0) return false;
    run(labels);
    return true;
  }

  double total() const { return total_; }  // entries of all tables of the last call
  int n_variables() const { return static_cast<int>(node_.size()); }

 private:
  double total_ = 0;

  int prepare(const Scores& scores, const Candidates& candidates, double max_table, double max_total, Random& random) {
    scores_ = &scores;
    links_ = &scores.links();
    candidates_ = &candidates;
    collect_free_nodes();
    return plan(max_table, max_total, random);
  }

  void run(std::vector<int>& labels) {
    fill_tables();
    for (std::size_t k = 0; k < buckets_.size(); ++k) eliminate(buckets_[k]);
    for (std::size_t k = buckets_.size(); k-- > 0;) substitute(buckets_[k]);
    for (std::size_t v = 0; v < node_.size(); ++v)
      labels[node_[v]] = candidates_->label[candidates_->begin[node_[v]] + choice_[v]];
  }

  // Scopes and tables live one after the other in common arrays: thousands of small vectors would cost more than the
  // work.
  struct Scope {
    std::size_t begin = 0;
    int size = 0;
  };
  struct Factor {
    Scope scope;  // first variable slowest
    std::size_t table = 0;
    int next = -1;  // in the list of its bucket
  };
  struct Bucket {
    int variable = 0;
    Scope scope;             // the variables its message depends on
    int factors = -1;        // tables summed in it, besides the variable's own scores
    std::size_t argmax = 0;  // by state of the scope
  };
  enum State : char { kWaiting, kEliminated, kFrozen };

  using Value = typename Scores::Value;

  const Scores* scores_ = nullptr;
  const SweepGraph* links_ = nullptr;
  const Candidates* candidates_ = nullptr;
  std::vector<int> variable_;  // (V) node -> variable, -1 when its label is given
  std::vector<int> node_;      // variable -> node
  std::vector<int> size_;      // of a variable: its candidates
  std::vector<std::vector<int>> neighbours_;
  std::vector<State> state_;
  std::vector<double> cost_;                   // of eliminating a variable as the graph is now
  std::vector<std::pair<double, int>> queue_;  // heap of costs and variables; some are out of date
  std::vector<int> rank_;  // place in the elimination
  std::vector<Bucket> buckets_;
  std::vector<Factor> factors_;
  std::vector<int> scopes_;
  std::vector<Value> tables_, sum_;
  std::vector<std::uint8_t> argmax_;
  std::vector<int> choice_;  // index of the label chosen
  std::vector<int> index_, touched_;

  bool is_free(int i) const { return variable_[i] >= 0 && state_[variable_[i]] == kEliminated; }

  void collect_free_nodes() {
    const SweepGraph& m = *links_;
    variable_.assign(m.n_nodes, -1);
    node_.clear();
    size_.clear();
    for (int i = 0; i < m.n_nodes; ++i)
      if (candidates_->size(i) > 1) {
        variable_[i] = static_cast<int>(node_.size());
        node_.push_back(i);
        size_.push_back(candidates_->size(i));
      }
    if (neighbours_.size() < node_.size()) neighbours_.resize(node_.size());
    for (std::size_t v = 0; v < node_.size(); ++v) neighbours_[v].clear();
    for (int i : node_)
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) {
        const int u = variable_[i], v = variable_[m.later[q]];
        if (v < 0) continue;
        neighbours_[u].push_back(v);
        neighbours_[v].push_back(u);
      }
  }

  // Entries of the table that eliminating v would take.
  double table_size(int v) const {
    double entries = size_[v];
    for (int u : neighbours_[v]) entries *= size_[u];
    return entries;
  }

  void start_queue() {
    cost_.resize(node_.size());
    queue_.clear();
    for (int v = 0; v < static_cast<int>(node_.size()); ++v) queue_.push_back({cost_[v] = table_size(v), v});
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

  // Order of elimination, by the graph alone: fills buckets_ with variables and scopes; returns how many were frozen.
  int plan(double max_table, double max_total, Random& random) {
    state_.assign(node_.size(), kWaiting);
    rank_.assign(node_.size(), -1);
    buckets_.clear();
    scopes_.clear();
    start_queue();
    int frozen = 0;
    total_ = 0;
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
        if (a < b && std::find(neighbours_[a].begin(), neighbours_[a].end(), b) == neighbours_[a].end()) {
          neighbours_[a].push_back(b);
          neighbours_[b].push_back(a);
        }
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
    int* first = scopes_.data() + scope.begin;
    int* last = std::remove_if(first, first + scope.size, [&](int u) { return state_[u] == kFrozen; });
    scope.size = static_cast<int>(last - first);
  }

  void fill_tables() {
    const SweepGraph& m = *links_;
    factors_.clear();
    tables_.clear();
    argmax_.clear();
    choice_.assign(node_.size(), 0);
    for (const Bucket& b : buckets_) {
      const int i = node_[b.variable];
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q)
        if (is_free(m.later[q])) add_pair(q, b.variable, variable_[m.later[q]]);
    }
  }

  void add_pair(int slot, int u, int v) {  // u is the earlier end
    const int* a = candidates_->label.data() + candidates_->begin[node_[u]];
    const int* b = candidates_->label.data() + candidates_->begin[node_[v]];
    const Factor f{{scopes_.size(), 2}, tables_.size(), -1};
    scopes_.push_back(u);
    scopes_.push_back(v);
    for (int x = 0; x < size_[u]; ++x)
      for (int y = 0; y < size_[v]; ++y) tables_.push_back(scores_->table(slot, a[x], b[y]));
    hand_over(f);
  }

  // A table belongs to the bucket of whichever of its variables goes first.
  void hand_over(Factor f) {
    int first = scopes_[f.scope.begin];
    for (int k = 1; k < f.scope.size; ++k) {
      const int v = scopes_[f.scope.begin + k];
      if (rank_[v] < rank_[first]) first = v;
    }
    Bucket& b = buckets_[rank_[first]];
    f.next = b.factors;
    b.factors = static_cast<int>(factors_.size());
    factors_.push_back(f);
  }

  // Score of a label, neighbours whose labels are given included.
  Value own_score(int v, int label) const {
    const SweepGraph& m = *links_;
    const int i = node_[v];
    Value s = scores_->row(i, label);
    for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q)
      if (!is_free(m.later[q])) s += scores_->table(q, label, candidates_->present(m.later[q]));
    for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q)
      if (!is_free(m.earlier[q])) s += scores_->table(m.out_slot[q], candidates_->present(m.earlier[q]), label);
    return s;
  }

  // For each state of `scope`, where the entry of `f` stands when `variable` has its first label; returns the step from
  // one label of `variable` to the next.
  int map_states(const Factor& f, int variable, const Scope& scope) {
    int step = 1, own_step = 0;
    std::size_t filled = 1;
    index_[0] = 0;
    auto step_of = [&](int v) {  // 0 when f does not depend on v
      int s = 1;
      for (int k = f.scope.size; k-- > 0;) {
        const int u = scopes_[f.scope.begin + k];
        if (u == v) return s;
        s *= size_[u];
      }
      return 0;
    };
    own_step = step_of(variable);
    for (int d = scope.size; d-- > 0;) {  // last variable fastest
      const std::size_t block = filled;
      const int v = scopes_[scope.begin + d];
      step = step_of(v);
      for (int a = 1; a < size_[v]; ++a)
        for (std::size_t t = 0; t < block; ++t) index_[filled++] = index_[t] + a * step;
    }
    return own_step;
  }

  void eliminate(Bucket& bucket) {
    const int v = bucket.variable, k = size_[v];
    const int* labels = candidates_->label.data() + candidates_->begin[node_[v]];
    std::size_t states = 1;
    for (int d = 0; d < bucket.scope.size; ++d)
      states *= static_cast<std::size_t>(size_[scopes_[bucket.scope.begin + d]]);
    sum_.resize(states * k);
    index_.resize(states);
    for (int a = 0; a < k; ++a) std::fill_n(sum_.begin() + a * states, states, own_score(v, labels[a]));
    for (int id = bucket.factors; id >= 0; id = factors_[id].next) {
      const Factor& f = factors_[id];
      const int step = map_states(f, v, bucket.scope);
      for (int a = 0; a < k; ++a) {
        Value* out = sum_.data() + a * states;
        const Value* table = tables_.data() + f.table + static_cast<std::size_t>(a) * step;
        for (std::size_t t = 0; t < states; ++t) out[t] += table[index_[t]];
      }
    }
    bucket.argmax = argmax_.size();
    argmax_.resize(argmax_.size() + states, 0);
    std::uint8_t* argmax = argmax_.data() + bucket.argmax;
    for (int a = 1; a < k; ++a) {
      const Value* x = sum_.data() + a * states;
      for (std::size_t t = 0; t < states; ++t)
        if (x[t] > sum_[t]) {
          sum_[t] = x[t];
          argmax[t] = static_cast<std::uint8_t>(a);
        }
    }
    if (bucket.scope.size == 0) return;
    const Factor message{bucket.scope, tables_.size(), -1};
    tables_.insert(tables_.end(), sum_.begin(), sum_.begin() + static_cast<std::ptrdiff_t>(states));
    hand_over(message);
  }

  void substitute(const Bucket& bucket) {
    std::size_t state = 0;
    for (int d = 0; d < bucket.scope.size; ++d) {
      const int u = scopes_[bucket.scope.begin + d];
      state = state * static_cast<std::size_t>(size_[u]) + choice_[u];
    }
    choice_[bucket.variable] = argmax_[bucket.argmax + state];
  }
};

}  // namespace neuralfactors
