// Exact improvement of a labelling within given candidate labels, by variable elimination.
//
// Where tables would be too large, nodes are frozen at their present labels and the others are optimised jointly given
// these: a move that is never downhill, and exact within the candidates when nothing had to be frozen.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "core/random.hpp"
#include "core/statistics.hpp"
#include "messages/packed_model.hpp"
#include "messages/sweep_graph.hpp"
#include "search/bucket_elimination.hpp"
#include "search/candidates.hpp"
#include "search/elimination_order.hpp"

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
      score += problem.slice(arc, there)[here] - statistics.table_max[arc.edge];
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
  int improve(const Scores& scores, const Candidates& candidates, std::vector<int>& labels, Route route,
              double max_table, double max_total, Random& random) {
    prepare(scores, candidates);
    const int frozen = buckets_.plan(route, max_table, max_total, random);
    run(labels);
    return frozen;
  }

  // The same, or nothing at all if nodes would have to be frozen; returns which.
  bool solve(const Scores& scores, const Candidates& candidates, std::vector<int>& labels, double max_total) {
    prepare(scores, candidates);
    if (!buckets_.plan_all(max_total, max_total)) return false;
    run(labels);
    return true;
  }

  double total() const { return buckets_.total(); }  // entries of all tables of the last call
  int n_variables() const { return buckets_.n_variables(); }

 private:
  using Value = typename Scores::Value;

  const Scores* scores_ = nullptr;
  const SweepGraph* links_ = nullptr;
  const Candidates* candidates_ = nullptr;
  std::vector<int> variable_;  // (V) node -> variable, -1 when its label is given
  std::vector<int> node_;      // variable -> node
  std::vector<int> size_;      // (variables) candidates
  BucketElimination<Value, std::uint8_t> buckets_;

  void prepare(const Scores& scores, const Candidates& candidates) {
    scores_ = &scores;
    links_ = &scores.links();
    candidates_ = &candidates;
    collect_variables();
  }

  void run(std::vector<int>& labels) {
    const SweepGraph& m = *links_;
    for (int k = 0; k < buckets_.n_buckets(); ++k) {
      const int u = buckets_.variable(k), i = node_[u];
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q)
        if (is_free(m.later[q])) add_pair(q, u, variable_[m.later[q]]);
    }
    buckets_.run([&](int v, int a) { return own_score(v, labels_of(v)[a]); }, [] {});
    for (int v = 0; v < n_variables(); ++v) labels[node_[v]] = labels_of(v)[buckets_.choice(v)];
  }

  const int* labels_of(int v) const { return candidates_->label.data() + candidates_->begin[node_[v]]; }

  bool is_free(int i) const { return variable_[i] >= 0 && !buckets_.is_frozen(variable_[i]); }

  void collect_variables() {
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
    buckets_.reset(size_);
    for (int i : node_)
      for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q)
        if (variable_[m.later[q]] >= 0) buckets_.tie(variable_[i], variable_[m.later[q]]);
  }

  void add_pair(int slot, int u, int v) {  // u is the earlier end
    const std::array scope{u, v};
    buckets_.add(scope.data(), 2, [&](std::vector<Value>& table) {
      for (int x = 0; x < size_[u]; ++x)
        for (int y = 0; y < size_[v]; ++y) table.push_back(scores_->table(slot, labels_of(u)[x], labels_of(v)[y]));
    });
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
};

}  // namespace neuralfactors
