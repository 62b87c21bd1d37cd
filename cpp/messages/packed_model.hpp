// Packed scores of a problem, large offsets removed, or of the labels that are still in play in another model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/problem.hpp"
#include "core/statistics.hpp"
#include "messages/message_kernels.hpp"
#include "messages/packed_scores.hpp"

namespace neuralfactors {

class Model : public PackedScores {
 public:
  template <class T>
  void build(const Problem<T>& problem, const Statistics& statistics) {
    unit = statistics.unit();
    whole = true;
    original.clear();
    fixed.clear();
    link(*problem.graph);
    share_weights();
    count.resize(n_nodes);
    for (int i = 0; i < n_nodes; ++i) count[i] = problem.count(node[i]);
    lay_out();
    offset = 0;
    copy_unary(problem, statistics);
    point_to_tables(problem, statistics);
    rounding = float_rounding(statistics);
    reset_messages();
  }

  // The problem of `other` with some labels of each node, listed in ascending order; messages come along. Nodes with
  // one label left are fixed at it and leave the model; their tables become part of their neighbours' rows.
  void build(const Model& other, const std::vector<int>& first, const std::vector<int>& labels) {
    offset = other.offset;
    unit = other.unit;
    rounding = other.rounding;
    whole = false;
    fix(other, first, labels);
    link_within(other);
    share_weights();
    count.resize(n_nodes);
    for (int i = 0; i < n_nodes; ++i) count[i] = first[source_[i] + 1] - first[source_[i]];
    lay_out();
    copy_rows(other, first, labels);
    copy_tables(other, first, labels);
    reset_messages();
    for_each_message(other, first, labels, [](float& mine, float theirs) { mine = theirs; });
  }

  // Hands messages back to the model that this one was built from, none of its nodes having been fixed.
  void return_messages(Model& other, const std::vector<int>& first, const std::vector<int>& labels) {
    for_each_message(other, first, labels, [](float mine, float& theirs) { theirs = mine; });
  }

 private:
  static constexpr float kNever = -1e30f;

  std::vector<float> owned_tables_;
  std::vector<char> shifted_;              // (E) by number in the graph: the best entry of the table was subtracted
  std::vector<int> place_, slot_;          // of the nodes and out slots of the model that this one was built from
  std::vector<int> source_, source_edge_;  // and back

  // Which nodes stay, at which places; the scores of those that go are part of the offset.
  void fix(const Model& other, const std::vector<int>& first, const std::vector<int>& labels) {
    fixed = other.fixed;
    fixed.resize(other.position.size(), 0);
    position.assign(other.position.size(), kGone);
    place_.assign(other.n_nodes, kGone);
    node.clear();
    source_.clear();
    for (int i = 0; i < other.n_nodes; ++i) {
      if (first[i + 1] - first[i] == 1) {
        const int label = labels[first[i]];
        fixed[other.node[i]] = other.label(i, label);
        offset += unit * other.row(i)[label];
        continue;
      }
      place_[i] = position[other.node[i]] = static_cast<int>(node.size());
      node.push_back(other.node[i]);
      source_.push_back(i);
    }
  }

  // Edges between the nodes that stay; both orders of slots are those of the other model.
  void link_within(const Model& other) {
    n_nodes = static_cast<int>(node.size());
    slot_.assign(other.n_edges, kGone);
    source_edge_.clear();
    edge.clear();
    later.clear();
    out_begin.assign(1, 0);
    for (int i : source_) {
      for (int q = other.out_begin[i]; q < other.out_begin[i + 1]; ++q) {
        if (place_[other.later[q]] == kGone) continue;
        slot_[q] = static_cast<int>(edge.size());
        source_edge_.push_back(q);
        edge.push_back(other.edge[q]);
        later.push_back(place_[other.later[q]]);
      }
      out_begin.push_back(static_cast<int>(edge.size()));
    }
    n_edges = static_cast<int>(edge.size());
    in_slot.resize(n_edges);
    out_slot.clear();
    earlier.clear();
    in_begin.assign(1, 0);
    for (int i : source_) {
      for (int q = other.in_begin[i]; q < other.in_begin[i + 1]; ++q) {
        const int out = slot_[other.out_slot[q]];
        if (out == kGone) continue;
        in_slot[out] = static_cast<int>(out_slot.size());
        out_slot.push_back(out);
        earlier.push_back(place_[other.earlier[q]]);
      }
      in_begin.push_back(static_cast<int>(out_slot.size()));
    }
    flipped.assign(n_edges, 0);
  }

  void copy_rows(const Model& other, const std::vector<int>& first, const std::vector<int>& labels) {
    unary.assign(begin[n_nodes], -std::numeric_limits<float>::infinity());
    original.assign(begin[n_nodes], 0);
    for (int i = 0; i < n_nodes; ++i)
      for (int a = 0; a < count[i]; ++a) {
        const int label = labels[first[source_[i]] + a];
        unary[begin[i] + a] = other.row(source_[i])[label];
        original[begin[i] + a] = other.label(source_[i], label);
      }
    for (int u = 0; u < other.n_nodes; ++u)
      for (int q = other.out_begin[u]; q < other.out_begin[u + 1]; ++q) {
        const int v = other.later[q];
        const int *at_u = labels.data() + first[u], *at_v = labels.data() + first[v];
        if (place_[u] == kGone && place_[v] == kGone) {
          offset += unit * other.at(q, *at_u, *at_v);
        } else if (place_[u] == kGone) {
          float* out = unary.data() + begin[place_[v]];
          for (int a = 0; a < count[place_[v]]; ++a) out[a] += other.at(q, *at_u, at_v[a]);
        } else if (place_[v] == kGone) {
          float* out = unary.data() + begin[place_[u]];
          for (int a = 0; a < count[place_[u]]; ++a) out[a] += other.at(q, at_u[a], *at_v);
        }
      }
  }

  // Rows of a table are the labels of the earlier end. Padding is finite, since messages are subtracted, and so low
  // that no maximum takes it: rows of the same width can then be treated alike, however many labels they have.
  void copy_tables(const Model& other, const std::vector<int>& first, const std::vector<int>& labels) {
    table.resize(n_edges);
    table_row.resize(n_edges);
    std::size_t size = 0;
    for (int i = 0; i < n_nodes; ++i)
      for (int q = out_begin[i]; q < out_begin[i + 1]; ++q) {
        table_row[q] = padded(count[later[q]]);
        size += static_cast<std::size_t>(padded(count[i])) * table_row[q];
      }
    owned_tables_.resize(size);
    float* out = owned_tables_.data();
    for (int i = 0; i < n_nodes; ++i)
      for (int q = out_begin[i]; q < out_begin[i + 1]; ++q) {
        table[q] = out;
        const int from = source_edge_[q], n_columns = count[later[q]];
        const int *rows = labels.data() + first[source_[i]], *columns = labels.data() + first[source_[later[q]]];
        const std::size_t row_step = other.flipped[from] ? 1 : other.table_row[from],
                          column_step = other.flipped[from] ? other.table_row[from] : 1;
        for (int a = 0; a < count[i]; ++a, out += table_row[q]) {
          const float* row = other.table[from] + rows[a] * row_step;
          for (int b = 0; b < n_columns; ++b) out[b] = row[columns[b] * column_step];
          std::fill(out + n_columns, out + table_row[q], kNever);
        }
        const std::size_t rest = static_cast<std::size_t>(padded(count[i]) - count[i]) * table_row[q];
        out = std::fill_n(out, rest, kNever);
      }
  }

  template <class Other, class F>
  void for_each_message(Other& other, const std::vector<int>& first, const std::vector<int>& labels, F f) {
    for (int i = 0; i < n_nodes; ++i) {
      const int* kept = labels.data() + first[source_[i]];
      for (int q = out_begin[i]; q < out_begin[i + 1]; ++q) {
        auto* theirs = other.to_earlier.data() + other.earlier_begin[source_edge_[q]];
        for (int a = 0; a < count[i]; ++a) f(to_earlier[earlier_begin[q] + a], theirs[kept[a]]);
      }
      for (int q = in_begin[i]; q < in_begin[i + 1]; ++q) {
        auto* theirs = other.to_later.data() + other.later_begin[other.in_slot[source_edge_[out_slot[q]]]];
        for (int a = 0; a < count[i]; ++a) f(to_later[later_begin[q] + a], theirs[kept[a]]);
      }
    }
  }

  // Messages are no larger than the range of their table, a belief is a sum of `degree` of them, and each message
  // carries the error of its node's belief and of a few operations on the entries of its table.
  double float_rounding(const Statistics& statistics) const {
    double size = 0;
    int degree = 0;
    for (int i = 0; i < n_nodes; ++i) {
      size += statistics.row_max[i] - statistics.row_min[i];
      degree = std::max(degree, out_begin[i + 1] - out_begin[i] + in_begin[i + 1] - in_begin[i]);
    }
    for (int e = 0; e < n_edges; ++e)
      size += shifted_[e] ? statistics.table_max[e] - statistics.table_min[e]
                          : std::max(std::abs(statistics.table_max[e]), std::abs(statistics.table_min[e]));
    return std::numeric_limits<float>::epsilon() * (degree + 8) * size;
  }

  template <class T>
  void copy_unary(const Problem<T>& problem, const Statistics& statistics) {
    unary.assign(begin[n_nodes], -std::numeric_limits<float>::infinity());
    for (int p = 0; p < n_nodes; ++p) {
      const T* row = problem.row(node[p]);
      const double top = statistics.row_max[node[p]];
      offset += top;
      float* out = unary.data() + begin[p];
      for (int a = 0; a < count[p]; ++a) out[a] = static_cast<float>((row[a] - top) / unit);
    }
  }

  // Tables stay where they are unless float32 messages would lose precision on them. The last one moves too: kernels
  // may read a few floats past the end of a table. One that all edges share moves once.
  template <class T>
  void point_to_tables(const Problem<T>& problem, const Statistics& statistics) {
    shifted_.resize(n_edges);
    for (int e = 0; e < n_edges; ++e) shifted_[e] = std::is_same_v<T, double> || unit != 1 || statistics.is_offset(e);
    const bool shared = problem.shared();
    const std::size_t end = problem.n_interaction();
    auto must_copy = [&](int e) {
      const int reach = padded(problem.columns(e)) - problem.columns(e);
      return shifted_[e] || problem.table_at(e) + problem.table_size(e) + reach > end;
    };
    std::size_t copied = 0;
    for (int e = 0; e < problem.n_tables(); ++e) copied += must_copy(e) ? problem.table_size(e) : 0;
    owned_tables_.assign(copied + kLanes, 0.f);
    table.resize(n_edges);
    table_row.resize(n_edges);
    float* next = owned_tables_.data();
    for (int out = 0; out < n_edges; ++out) {
      const T* t = problem.table(edge[out]);
      table_row[out] = problem.columns(edge[out]);
      if constexpr (std::is_same_v<T, float>) table[out] = t;
      if (!must_copy(edge[out])) continue;
      const double shift = shifted_[edge[out]] ? statistics.table_max[edge[out]] : 0;
      offset += shift;
      table[out] = shared && out > 0 ? table[0] : next;
      if (table[out] != next) continue;
      const std::size_t size = problem.table_size(edge[out]);
      for (std::size_t k = 0; k < size; ++k) next[k] = static_cast<float>((t[k] - shift) / unit);
      next += size;
    }
  }
};

}  // namespace neuralfactors
