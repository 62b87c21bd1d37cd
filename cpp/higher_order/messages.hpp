// What SRMP and max-product share: the sweep over the nodes, messages from factors to nodes, rounding on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "higher_order/model.hpp"

namespace neuralfactors::higher_order {

// For each label of one axis, the maximum of  table + sum_k incoming_k  over the labels of the other axes k, or over
// the one label fixed[k] where that is not negative. The axes go one at a time, so that the cost is that of reading the
// table once.
class MaxMarginal {
 public:
  // counts (order) are the numbers of labels; incoming, the messages of the axes one after the other, of which that of
  // `axis` itself is not used.
  void operator()(const std::vector<double>& table, const int* counts, int order, int axis, const double* incoming,
                  const int* fixed, double* marginal) {
    values_ = table.data();
    size_ = table.size();
    if (buffer_.size() < size_) buffer_.resize(size_);
    for (int k = 0; k < axis; incoming += counts[k++]) drop_first(incoming, counts[k], fixed[k]);
    for (int k = axis; k < order; ++k) incoming += counts[k];
    for (int k = order - 1; k > axis; --k) drop_last(incoming -= counts[k], counts[k], fixed[k]);
    std::copy_n(values_, counts[axis], marginal);
  }

 private:
  void drop_first(const double* message, int n_labels, int label) {
    size_ /= n_labels;
    if (label >= 0) {
      values_ += label * size_;
      return;
    }
    for (std::size_t r = 0; r < size_; ++r) buffer_[r] = values_[r] + message[0];
    for (int a = 1; a < n_labels; ++a) {
      const double* slice = values_ + a * size_;
      for (std::size_t r = 0; r < size_; ++r) buffer_[r] = std::max(buffer_[r], slice[r] + message[a]);
    }
    values_ = buffer_.data();
  }

  // Safe in place: row r is read before entry r, at or before its start, is written.
  void drop_last(const double* message, int n_labels, int label) {
    size_ /= n_labels;
    for (std::size_t r = 0; r < size_; ++r) {
      const double* row = values_ + r * n_labels;
      double best = label >= 0 ? row[label] : row[0] + message[0];
      for (int a = 1; a < n_labels && label < 0; ++a) best = std::max(best, row[a] + message[a]);
      buffer_[r] = best;
    }
    values_ = buffer_.data();
  }

  const double* values_ = nullptr;
  std::size_t size_ = 0;
  std::vector<double> buffer_;
};

// Nodes from the leaves of a breadth-first search to its roots. Where the factor graph has no cycle, every node then
// has later neighbours in one factor at most, which makes one pass and its way back exact.
struct NodeOrder {
  std::vector<int> nodes;     // (V)
  std::vector<int> rank;      // (V)
  std::vector<char> earlier;  // (A); whether the arc's factor has a node before the arc's own
  std::vector<char> later;    // (A)
  bool acyclic = false;

  explicit NodeOrder(const Model& model) : earlier(model.nodes.size()), later(model.nodes.size()) {
    search(model);
    rank.resize(nodes.size());
    for (int k = 0; k < model.n_nodes; ++k) rank[nodes[k]] = k;
    for (int f = 0; f < model.n_factors(); ++f) {
      int first = model.n_nodes, last = -1;
      for (int arc = model.begin[f]; arc < model.begin[f + 1]; ++arc) {
        first = std::min(first, rank[model.nodes[arc]]);
        last = std::max(last, rank[model.nodes[arc]]);
      }
      for (int arc = model.begin[f]; arc < model.begin[f + 1]; ++arc) {
        earlier[arc] = first < rank[model.nodes[arc]];
        later[arc] = last > rank[model.nodes[arc]];
      }
    }
  }

 private:
  void search(const Model& model) {
    std::vector<char> seen(model.n_nodes), opened(model.n_factors());
    int n_components = 0;
    for (int root = 0; root < model.n_nodes; ++root) {
      if (seen[root]) continue;
      ++n_components;
      seen[root] = 1;
      nodes.push_back(root);
      for (std::size_t next = nodes.size() - 1; next < nodes.size(); ++next) {
        const int node = nodes[next];
        for (int k = model.first_arc[node]; k < model.first_arc[node + 1]; ++k) {
          const int f = model.factor[model.arcs[k]];
          if (opened[f]) continue;
          opened[f] = 1;
          for (int arc = model.begin[f]; arc < model.begin[f + 1]; ++arc)
            if (!seen[model.nodes[arc]]) {
              seen[model.nodes[arc]] = 1;
              nodes.push_back(model.nodes[arc]);
            }
        }
      }
    }
    std::reverse(nodes.begin(), nodes.end());
    acyclic = static_cast<int>(model.nodes.size()) == model.n_nodes + model.n_factors() - n_components;
  }
};

// Messages along the arcs and the labelling that a sweep rounds to.
class Messages {
 public:
  Messages(const Model& model, const NodeOrder& order)
      : labels(model.n_nodes, -1),
        model_(model),
        order_(order),
        to_factor_(model.arc_begin.back(), 0.0),
        to_node_(to_factor_.size(), 0.0),
        belief_(model.most_labels()),
        rounding_(belief_.size()),
        conditional_(belief_.size()) {
    int longest = 0;
    for (int f = 0; f < model.n_factors(); ++f) longest = std::max(longest, model.order(f));
    free_.assign(longest, -1);
    fixed_.assign(longest, -1);
  }

  std::vector<int> labels;  // (V), from the last sweep

 protected:
  double* to_factor(int arc) { return to_factor_.data() + model_.arc_begin[arc]; }
  double* to_node(int arc) { return to_node_.data() + model_.arc_begin[arc]; }

  // Max-marginal of the reparametrised factor of an arc, for the labels of the arc's node.
  void marginal(int arc, const std::vector<int>& fixed, double* values) {
    const int f = model_.factor[arc], first = model_.begin[f];
    max_marginal_(model_.tables[f], model_.counts.data() + first, model_.order(f), arc - first, to_factor(first),
                  fixed.data(), values);
  }

  // The best label of `node` given those already fixed in this sweep: factors with fixed nodes are conditioned on them,
  // the others speak through their messages.
  int round(int node, bool forward) {
    const int n_labels = model_.count(node);
    std::copy_n(model_.row(node), n_labels, rounding_.begin());
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k) {
      const int arc = model_.arcs[k];
      const double* values = to_node(arc);
      if (forward ? order_.earlier[arc] : order_.later[arc]) {
        const int f = model_.factor[arc];
        for (int other = model_.begin[f]; other < model_.begin[f + 1]; ++other) {
          const int rank = order_.rank[model_.nodes[other]];
          const bool done = forward ? rank < order_.rank[node] : rank > order_.rank[node];
          fixed_[other - model_.begin[f]] = done ? labels[model_.nodes[other]] : -1;
        }
        marginal(arc, fixed_, conditional_.data());
        values = conditional_.data();
      }
      for (int a = 0; a < n_labels; ++a) rounding_[a] += values[a];
    }
    return static_cast<int>(std::max_element(rounding_.begin(), rounding_.begin() + n_labels) - rounding_.begin());
  }

  const Model& model_;
  const NodeOrder& order_;
  std::vector<double> to_factor_;  // by arc and label; added to the factor's table along the arc's axis
  std::vector<double> to_node_;    // by arc and label; what the factor tells the node
  std::vector<double> belief_;     // (L)
  std::vector<int> free_;          // -1 for every axis: nothing fixed

 private:
  std::vector<int> fixed_;
  std::vector<double> rounding_, conditional_;
  MaxMarginal max_marginal_;
};

}  // namespace neuralfactors::higher_order
