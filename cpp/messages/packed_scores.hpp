// Scores in the form the float32 kernels want: nodes in sweep order, rows padded to whole vectors, tables by slot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "messages/message_kernels.hpp"
#include "messages/sweep_graph.hpp"

namespace neuralfactors {

// Labels are numbered node by node from 0; `original` has their numbers in the problem.
class PackedScores : public SweepGraph {
 public:
  static constexpr int kGone = -1;  // position of a node that has left the model

  double offset = 0;                // what was subtracted from rows and tables
  double unit = 1;                  // score = unit * (kernel score) + offset
  double rounding = 0;              // no bound and no belief of a sweep is further from the truth, as a score
  bool whole = true;                // no label of the problem has been left out
  std::vector<int> count;           // (V) labels of a node
  std::vector<std::size_t> begin;   // (V + 1) where its row begins; rows are padded to whole vectors
  std::vector<int> original;        // by entry of the rows; only where labels have been left out
  std::vector<int> fixed;           // (nodes of the problem) labels of those that have left the model
  std::vector<float> unary;         // by entry of the rows
  std::vector<const float*> table;  // (E) by out slot
  std::vector<int> table_row;       // (E) by out slot: floats from one row to the next
  std::vector<float> weight;        // (V)
  std::vector<float> to_earlier, to_later, scratch;
  std::vector<std::size_t> earlier_begin, later_begin;  // (E) by out slot and by in slot: where messages begin

  void reset_messages() {
    to_earlier.assign(earlier_size_, 0.f);
    to_later.assign(later_size_, 0.f);
    scratch.resize(4 * static_cast<std::size_t>(stride_));
  }

  Sweep sweep(int* labels, float* belief = nullptr) {
    Sweep s;
    s.n_nodes = n_nodes;
    s.stride = stride_;
    s.width = uniform_ ? stride_ / kLanes : 0;
    s.n_labels = whole && n_nodes > 0 ? count[0] : stride_;
    s.table_row = n_edges > 0 ? table_row[0] : 0;
    s.count = count.data();
    s.row_begin = begin.data();
    s.earlier_begin = earlier_begin.data();
    s.later_begin = later_begin.data();
    s.table_rows = table_row.data();
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

  int width(int i) const { return (count[i] + kLanes - 1) / kLanes; }
  int stride() const { return stride_; }  // of the longest row
  const float* row(int i) const { return unary.data() + begin[i]; }
  const float* message_to_earlier(int slot) const { return to_earlier.data() + earlier_begin[slot]; }
  const float* message_to_later(int in) const { return to_later.data() + later_begin[in]; }

  int label(int i, int own) const { return whole ? own : original[begin[i] + own]; }

  // The number here of a label of the problem, or -1 if it has been left out.
  int own_label(int i, int label) const {
    if (whole) return label;
    const auto first = original.begin() + static_cast<std::ptrdiff_t>(begin[i]), last = first + count[i];
    const auto place = std::lower_bound(first, last, label);
    return place != last && *place == label ? static_cast<int>(place - first) : -1;
  }

  float at(int slot, int earlier_label, int later_label) const {
    const int row = flipped[slot] ? later_label : earlier_label, column = flipped[slot] ? earlier_label : later_label;
    return table[slot][static_cast<std::size_t>(row) * table_row[slot] + column];
  }

  // Row of conditional scores of node i: out[a] += table entry with label a here and `label` at the other end.
  void add_row(int slot, bool at_earlier, int i, int label, float sign, float* out) const {
    const bool rows_here = at_earlier != (flipped[slot] != 0);
    const std::size_t step = table_row[slot];
    const float* t = table[slot];
    if (rows_here)
      for (int a = 0; a < count[i]; ++a) out[a] += sign * t[a * step + label];
    else
      for (int a = 0; a < count[i]; ++a) out[a] += sign * t[label * step + a];
  }

  // What a sweep costs, in entries of tables.
  double sweep_cost() const { return sweep_cost_; }

 protected:
  bool uniform_ = true;  // all rows are equally long, and tables padded unless all nodes have as many labels
  int stride_ = 0;
  static constexpr double kPerEdge = 150;  // entries that take as long as all else that a message takes (measured)
  double sweep_cost_ = 0;
  std::size_t earlier_size_ = 0, later_size_ = 0;

  static int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

  // Places of rows and messages, from the numbers of labels.
  void lay_out() {
    begin.resize(n_nodes + 1);
    earlier_begin.resize(n_edges);
    later_begin.resize(n_edges);
    begin[0] = earlier_size_ = later_size_ = 0;
    stride_ = 0;
    sweep_cost_ = 0;
    uniform_ = true;
    for (int i = 0; i < n_nodes; ++i) {
      const int size = padded(count[i]);
      begin[i + 1] = begin[i] + size;
      stride_ = std::max(stride_, size);
      uniform_ = uniform_ && (whole ? count[i] == count[0] : size == padded(count[0]));
      for (int q = out_begin[i]; q < out_begin[i + 1]; ++q) {
        earlier_begin[q] = earlier_size_;
        earlier_size_ += size;
        sweep_cost_ += kPerEdge + static_cast<double>(count[i]) * padded(count[later[q]]);
      }
      for (int q = in_begin[i]; q < in_begin[i + 1]; ++q) {
        later_begin[q] = later_size_;
        later_size_ += size;
      }
    }
  }

  void share_weights() {
    weight.resize(n_nodes);
    for (int i = 0; i < n_nodes; ++i) {
      const int ahead = out_begin[i + 1] - out_begin[i], behind = in_begin[i + 1] - in_begin[i];
      weight[i] = 1.f / static_cast<float>(std::max({ahead, behind, 1}));
    }
  }
};

}  // namespace neuralfactors
