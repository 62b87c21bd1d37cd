// A problem in the form the float32 kernels want: nodes in sweep order, rows padded, large offsets removed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "links.hpp"
#include "message_kernels.hpp"
#include "problem.hpp"
#include "survey.hpp"

namespace neuralfactors {

class Model : public Links {
 public:
  int n_labels = 0, stride = 0, table_row = 0;
  double offset = 0;         // what was subtracted from rows and tables
  double unit = 1;           // score = unit * (kernel score) + offset
  double rounding = 0;       // no bound and no belief of a sweep is further from the truth, in units of the score
  std::vector<float> unary;  // (V, S) by position
  std::vector<const float*> table;  // (E) by out slot
  std::vector<float> weight;        // (V)
  std::vector<float> to_earlier, to_later, scratch;
  std::vector<int> label_of;  // (V, L) by position, in a restricted model: the labels of the problem; else empty

  template <class T>
  void build(const Problem<T>& problem, const Survey& survey) {
    n_labels = problem.n_labels;
    stride = (n_labels + kLanes - 1) / kLanes * kLanes;
    table_row = n_labels;
    unit = survey.unit();
    label_of.clear();
    link(*problem.graph);
    share_weights();
    offset = 0;
    copy_unary(problem, survey);
    point_to_tables(problem, survey);
    rounding = float_rounding(survey);
    reset_messages();
  }

  // The same problem with only some labels of each node: label_of is (V, L). Messages come along.
  void restrict_to(const Model& full, int labels_per_node, std::vector<int> labels) {
    static_cast<Links&>(*this) = full;
    flipped.assign(n_edges, 0);
    n_labels = labels_per_node;
    stride = table_row = (n_labels + kLanes - 1) / kLanes * kLanes;
    offset = full.offset;
    unit = full.unit;
    rounding = full.rounding;
    weight = full.weight;
    label_of = std::move(labels);
    gather(full);
    reset_messages();
    for_each_message(full, [](float& mine, const float& theirs) { mine = theirs; });
  }

  // Hands messages back to the model this one was restricted from.
  void return_messages(Model& full) {
    for_each_message(full, [](const float& mine, float& theirs) { theirs = mine; });
  }

  void reset_messages() {
    const std::size_t size = static_cast<std::size_t>(n_edges) * stride;
    to_earlier.assign(size, 0.f);
    to_later.assign(size, 0.f);
    scratch.resize(4 * static_cast<std::size_t>(stride));
  }

  Sweep sweep(int* labels, float* belief = nullptr) {
    Sweep s;
    s.n_nodes = n_nodes;
    s.n_labels = n_labels;
    s.stride = stride;
    s.table_row = table_row;
    s.unary = unary.data();
    s.table = table.data();
    s.flipped = flipped.data();
    s.out_begin = out_begin.data();
    s.in_begin = in_begin.data();
    s.in_slot = in_slot.data();
    s.out_slot = out_slot.data();
    s.later = later.data();
    s.earlier = earlier.data();
    s.weight = weight.data();
    s.to_earlier = to_earlier.data();
    s.to_later = to_later.data();
    s.labels = labels;
    s.belief = belief;
    s.scratch = scratch.data();
    return s;
  }

  const float* message_to_earlier(int slot) const {
    return to_earlier.data() + static_cast<std::size_t>(slot) * stride;
  }
  const float* message_to_later(int in) const { return to_later.data() + static_cast<std::size_t>(in) * stride; }

  float at(int slot, int earlier_label, int later_label) const {
    const int row = flipped[slot] ? later_label : earlier_label, column = flipped[slot] ? earlier_label : later_label;
    return table[slot][static_cast<std::size_t>(row) * table_row + column];
  }

  // Row of conditional scores: out[a] += table entry with label a here and `label` at the other end.
  void add_row(int slot, bool at_earlier, int label, float sign, float* out) const {
    const bool rows_here = at_earlier != (flipped[slot] != 0);
    const float* t = table[slot];
    if (rows_here)
      for (int a = 0; a < n_labels; ++a) out[a] += sign * t[static_cast<std::size_t>(a) * table_row + label];
    else
      for (int a = 0; a < n_labels; ++a) out[a] += sign * t[static_cast<std::size_t>(label) * table_row + a];
  }

 private:
  std::vector<float> owned_tables_;
  std::vector<char> shifted_;  // (E) by number in the graph: the best entry of the table was subtracted

  const int* labels_at(int i) const { return label_of.data() + static_cast<std::size_t>(i) * n_labels; }

  void gather(const Model& full) {
    unary.assign(static_cast<std::size_t>(n_nodes) * stride, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < n_nodes; ++i)
      for (int a = 0; a < n_labels; ++a)
        unary[static_cast<std::size_t>(i) * stride + a] =
            full.unary[static_cast<std::size_t>(i) * full.stride + labels_at(i)[a]];
    const std::size_t size = static_cast<std::size_t>(n_labels) * table_row;
    owned_tables_.resize(n_edges * size);
    table.resize(n_edges);
    for (int i = 0; i < n_nodes; ++i)
      for (int q = out_begin[i]; q < out_begin[i + 1]; ++q) {
        float* out = owned_tables_.data() + static_cast<std::size_t>(q) * size;
        table[q] = out;
        const int *rows = labels_at(i), *columns = labels_at(later[q]);
        const std::size_t row_step = full.flipped[q] ? 1 : full.table_row,
                          column_step = full.flipped[q] ? full.table_row : 1;
        for (int a = 0; a < n_labels; ++a) {
          const float* row = full.table[q] + rows[a] * row_step;
          for (int b = 0; b < n_labels; ++b) out[a * table_row + b] = row[columns[b] * column_step];
        }
      }
  }

  template <class Full, class F>
  void for_each_message(Full& full, F f) {
    auto match = [&](float* mine, auto* theirs, const int* labels) {
      for (int a = 0; a < n_labels; ++a) f(mine[a], theirs[labels[a]]);
    };
    for (int i = 0; i < n_nodes; ++i) {
      for (std::size_t q = out_begin[i]; q < static_cast<std::size_t>(out_begin[i + 1]); ++q)
        match(to_earlier.data() + q * stride, full.to_earlier.data() + q * full.stride, labels_at(i));
      for (std::size_t q = in_begin[i]; q < static_cast<std::size_t>(in_begin[i + 1]); ++q)
        match(to_later.data() + q * stride, full.to_later.data() + q * full.stride, labels_at(i));
    }
  }

  void share_weights() {
    weight.resize(n_nodes);
    for (int i = 0; i < n_nodes; ++i) {
      const int ahead = out_begin[i + 1] - out_begin[i], behind = in_begin[i + 1] - in_begin[i];
      weight[i] = 1.f / static_cast<float>(std::max({ahead, behind, 1}));
    }
  }

  // Messages are no larger than the range of their table, a belief is a sum of `degree` of them, and each message
  // carries the error of its node's belief and of a few operations on the entries of its table.
  double float_rounding(const Survey& survey) const {
    double size = 0;
    int degree = 0;
    for (int i = 0; i < n_nodes; ++i) {
      size += survey.row_max[i] - survey.row_min[i];
      degree = std::max(degree, out_begin[i + 1] - out_begin[i] + in_begin[i + 1] - in_begin[i]);
    }
    for (int e = 0; e < n_edges; ++e)
      size += shifted_[e] ? survey.table_max[e] - survey.table_min[e]
                          : std::max(std::abs(survey.table_max[e]), std::abs(survey.table_min[e]));
    return std::numeric_limits<float>::epsilon() * (degree + 8) * size;
  }

  template <class T>
  void copy_unary(const Problem<T>& problem, const Survey& survey) {
    unary.assign(static_cast<std::size_t>(n_nodes) * stride, -std::numeric_limits<float>::infinity());
    for (int p = 0; p < n_nodes; ++p) {
      const T* row = problem.row(node[p]);
      const double top = survey.row_max[node[p]];
      offset += top;
      float* out = unary.data() + static_cast<std::size_t>(p) * stride;
      for (int a = 0; a < n_labels; ++a) out[a] = static_cast<float>((row[a] - top) / unit);
    }
  }

  // Tables stay where they are unless float32 messages would lose precision on them. The last one moves too: kernels
  // may read a few floats past the end of a table.
  template <class T>
  void point_to_tables(const Problem<T>& problem, const Survey& survey) {
    const std::size_t size = static_cast<std::size_t>(n_labels) * n_labels;
    shifted_.resize(n_edges);
    for (int e = 0; e < n_edges; ++e) shifted_[e] = std::is_same_v<T, double> || unit != 1 || survey.is_offset(e);
    const std::size_t reach = stride - n_labels;
    auto must_copy = [&](int e) { return shifted_[e] || (n_edges - 1 - e) * size < reach; };
    std::size_t copies = 0;
    for (int e = 0; e < n_edges; ++e) copies += must_copy(e);
    owned_tables_.assign(copies * size + kLanes, 0.f);
    table.resize(n_edges);
    float* next = owned_tables_.data();
    for (int out = 0; out < n_edges; ++out) {
      const T* t = problem.table(edge[out]);
      if constexpr (std::is_same_v<T, float>) table[out] = t;
      if (!must_copy(edge[out])) continue;
      const double shift = shifted_[edge[out]] ? survey.table_max[edge[out]] : 0;
      offset += shift;
      for (std::size_t k = 0; k < size; ++k) next[k] = static_cast<float>((t[k] - shift) / unit);
      table[out] = next;
      next += size;
    }
  }
};

}  // namespace neuralfactors
