// What the float32 messages prove, computed afresh in double precision from the caller's own numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/problem.hpp"
#include "core/statistics.hpp"
#include "messages/message_kernels.hpp"
#include "messages/packed_model.hpp"

namespace neuralfactors {

// Messages of any values reparametrise the problem: no labelling scores more than `bound`, and none in which a node has
// a label scores more than `bound` less the `cost` of that label. Both speak of labellings with labels of the model
// alone.
struct Certificate {
  double bound = 0;
  std::vector<double> cost;  // by entry of the model's rows, at least 0; empty unless asked for
};

// Collects a certificate edge by edge. Both are tight if the messages are those after a sweep in the given direction:
// each node gives an equal share of its belief to the edges ahead, as the sweep did, each edge contributes its largest
// entry under that reparametrisation, and a label costs what its node and the edges lose by it.
template <class T>
class Certifier {
 public:
  Certifier(const Problem<T>& problem, const Statistics& statistics, const Model& model, bool forward)
      : problem_(problem), statistics_(statistics), m_(model), forward_(forward) {
    for (auto* v : {&belief_, &here_, &ahead_, &best_here_, &best_ahead_}) v->resize(problem.n_labels);
  }

  Certificate run(bool with_costs) {
    Certificate found;
    if (with_costs) found.cost.assign(m_.unary.size(), 0);
    for (int i = 0; i < m_.n_nodes; ++i) add_node(i, found);
    if (!m_.whole) found.bound += fixed_score();
    const double error = rounding();
    found.bound += error;
    for (double& c : found.cost) c = std::max(0.0, (1 - std::exp2(-40)) * c - 2 * error);
    return found;
  }

 private:
  const Problem<T>& problem_;
  const Statistics& statistics_;
  const Model& m_;
  bool forward_;
  std::vector<double> belief_, here_, ahead_, best_here_, best_ahead_;  // (L) by label of the problem

  void add_node(int i, Certificate& found) {
    const T* row = problem_.row(m_.node[i]);
    const int n_labels = problem_.count(m_.node[i]);
    const int n_out = m_.out_begin[i + 1] - m_.out_begin[i], n_in = m_.in_begin[i + 1] - m_.in_begin[i];
    leave_out(belief_);
    for_each_label(i, [&](int a, int) { belief_[a] = row[a]; });
    add_fixed_neighbours(i);
    for (int q = m_.out_begin[i]; q < m_.out_begin[i + 1]; ++q) add_message(i, m_.message_to_earlier(q));
    for (int q = m_.in_begin[i]; q < m_.in_begin[i + 1]; ++q) add_message(i, m_.message_to_later(q));
    const double top = *std::max_element(belief_.begin(), belief_.begin() + n_labels);
    const double share = 1.0 / std::max({n_out, n_in, 1});
    const double kept = 1 - share * (forward_ ? n_out : n_in);  // of the belief, by the node itself
    found.bound += top;
    if (!found.cost.empty()) {
      double* cost = found.cost.data() + m_.begin[i];
      for_each_label(i, [&](int a, int own) { cost[own] += kept * (top - belief_[a]); });
    }
    for (int a = 0; a < n_labels; ++a) belief_[a] = share * (belief_[a] - top);
    const std::vector<int>& begin = forward_ ? m_.out_begin : m_.in_begin;
    for (int q = begin[i]; q < begin[i + 1]; ++q) add_edge(i, q, found);
  }

  static constexpr double kLeftOut = -std::numeric_limits<double>::infinity();

  bool is_fixed(int node) const { return m_.position[node] == Model::kGone; }

  // Score of the nodes that have left the model, and of the edges between them.
  double fixed_score() const {
    const Graph& g = *problem_.graph;
    double score = 0;
    for (int i = 0; i < g.n_nodes; ++i)
      if (is_fixed(i)) score += problem_.row(i)[m_.fixed[i]];
    for (int e = 0; e < g.n_edges; ++e)
      if (is_fixed(g.tail[e]) && is_fixed(g.head[e])) score += problem_.at(e, m_.fixed[g.tail[e]], m_.fixed[g.head[e]]);
    return score;
  }

  void add_fixed_neighbours(int i) {
    if (m_.whole) return;
    const Graph& g = *problem_.graph;
    for (int k = g.begin[m_.node[i]]; k < g.begin[m_.node[i] + 1]; ++k) {
      const Graph::Arc& arc = g.arcs[k];
      if (!is_fixed(arc.node)) continue;
      const auto table = problem_.slice(arc, m_.fixed[arc.node]);
      for_each_label(i, [&](int a, int) { belief_[a] += table[a]; });
    }
  }

  void leave_out(std::vector<double>& values) const {
    if (!m_.whole) std::fill(values.begin(), values.end(), kLeftOut);
  }

  // f(label of the problem, its number in the model)
  template <class F>
  void for_each_label(int i, F f) const {
    if (m_.whole)
      for (int a = 0; a < m_.count[i]; ++a) f(a, a);
    else
      for (int a = 0; a < m_.count[i]; ++a) f(m_.label(i, a), a);
  }

  void add_message(int i, const float* message) {
    for_each_label(i, [&](int a, int own) { belief_[a] += m_.unit * message[own]; });
  }

  // The edge ahead of node i at slot q of the sweep's direction.
  void add_edge(int i, int q, Certificate& found) {
    const int slot = forward_ ? q : m_.out_slot[q];
    const float* to_earlier = m_.message_to_earlier(slot);
    const float* to_later = m_.message_to_later(m_.in_slot[slot]);
    const float *from_ahead = forward_ ? to_earlier : to_later, *to_ahead = forward_ ? to_later : to_earlier;
    const int j = forward_ ? m_.later[q] : m_.earlier[q];
    leave_out(here_);
    leave_out(ahead_);
    for_each_label(i, [&](int a, int own) { here_[a] = belief_[a] - m_.unit * from_ahead[own]; });
    for_each_label(j, [&](int a, int own) { ahead_[a] = -m_.unit * to_ahead[own]; });
    const int edge = m_.edge[slot];
    const bool rows_here = problem_.graph->tail[edge] == m_.node[i];
    const double *row_term = (rows_here ? here_ : ahead_).data(), *column_term = (rows_here ? ahead_ : here_).data();
    if (found.cost.empty()) {
      found.bound += max_of_table(edge, row_term, column_term);
      return;
    }
    double *by_row = (rows_here ? best_here_ : best_ahead_).data(),
           *by_column = (rows_here ? best_ahead_ : best_here_).data();
    const double best = maxima_of_table(edge, row_term, column_term, by_row, by_column);
    found.bound += best;
    charge(found, i, best, best_here_);
    charge(found, j, best, best_ahead_);
  }

  void charge(Certificate& found, int i, double best, const std::vector<double>& best_with) {
    double* cost = found.cost.data() + m_.begin[i];
    for_each_label(i, [&](int a, int own) { cost[own] += best - best_with[a]; });
  }

  double max_of_table(int edge, const double* row, const double* column) const {
    const int n_rows = problem_.count(problem_.graph->tail[edge]), n_columns = problem_.columns(edge);
    if constexpr (std::is_same_v<T, float>)
      return kernels().max_of_table(problem_.table(edge), n_rows, n_columns, row, column);
    else
      return kernels().max_of_table64(problem_.table(edge), n_rows, n_columns, row, column);
  }
  double maxima_of_table(int edge, const double* row, const double* column, double* by_row, double* by_column) const {
    const int n_rows = problem_.count(problem_.graph->tail[edge]), n_columns = problem_.columns(edge);
    if constexpr (std::is_same_v<T, float>)
      return kernels().maxima_of_table(problem_.table(edge), n_rows, n_columns, row, column, by_row, by_column);
    else
      return kernels().maxima_of_table64(problem_.table(edge), n_rows, n_columns, row, column, by_row, by_column);
  }

  // More than double arithmetic can have lost: the entries that decide a maximum lie below the largest one by no more
  // than the messages amount to.
  double rounding() const {
    double size = 0;
    for (double top : statistics_.row_max) size += std::abs(top);
    for (double top : statistics_.table_max) size += std::abs(top);
    auto add = [&](const float* message, int count) {
      float largest = 0;
      for (int a = 0; a < count; ++a) largest = std::max(largest, std::abs(message[a]));
      size += 4 * m_.unit * largest;
    };
    for (int i = 0; i < m_.n_nodes; ++i) {
      for (int q = m_.out_begin[i]; q < m_.out_begin[i + 1]; ++q) add(m_.message_to_earlier(q), m_.count[i]);
      for (int q = m_.in_begin[i]; q < m_.in_begin[i + 1]; ++q) add(m_.message_to_later(q), m_.count[i]);
    }
    return std::exp2(-52) * (m_.n_nodes + m_.n_edges + 8.0) * size;
  }
};

}  // namespace neuralfactors
