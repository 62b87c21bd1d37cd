// Damped max-product belief propagation on a factor graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/interrupt.hpp"
#include "higher_order/messages.hpp"
#include "higher_order/model.hpp"

namespace neuralfactors::higher_order {

// Sequential schedule, as SRMP's but without reweighting: often good labellings where the relaxation is loose, no
// bound.
class MaxProduct : public Messages {
 public:
  MaxProduct(const Model& model, const NodeOrder& order) : Messages(model, order), sent_(model.nodes.size(), 0) {}

  // There and back; the largest change of a message from a node. Leaves the labelling of the way back in `labels`.
  double sweep(Interrupt& interrupt) {
    change_ = 0;
    for (auto node = order_.nodes.begin(); node != order_.nodes.end(); ++node) visit(*node, true, interrupt);
    for (auto node = order_.nodes.rbegin(); node != order_.nodes.rend(); ++node) visit(*node, false, interrupt);
    return change_;
  }

  // Without cycles, after a sweep: costs, by node and label: how much the best labelling with that label of the node
  // loses, exactly.
  void reduced_costs(double* costs, Interrupt& interrupt) {
    for (int i = 0; i < model_.n_nodes; ++i) {
      interrupt.check();
      const int n_labels = model_.count(i);
      std::copy_n(model_.row(i), n_labels, belief_.begin());
      for (int k = model_.first_arc[i]; k < model_.first_arc[i + 1]; ++k) {
        double* message = to_node(model_.arcs[k]);
        marginal(model_.arcs[k], free_, message);
        for (int a = 0; a < n_labels; ++a) belief_[a] += message[a];
      }
      const double top = *std::max_element(belief_.begin(), belief_.begin() + n_labels);
      for (int a = 0; a < n_labels; ++a) *costs++ = top - belief_[a];
    }
  }

 private:
  static constexpr double kDamping = 0.5;  // share of the old message; trees need none and are exact without

  void visit(int node, bool forward, Interrupt& interrupt) {
    interrupt.check();
    const auto& behind = forward ? order_.earlier : order_.later;
    const auto& ahead = forward ? order_.later : order_.earlier;
    const int n_labels = model_.count(node);
    std::copy_n(model_.row(node), n_labels, belief_.begin());
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k) {
      const int arc = model_.arcs[k];
      if (behind[arc]) marginal(arc, free_, to_node(arc));
      for (int a = 0; a < n_labels; ++a) belief_[a] += to_node(arc)[a];
    }
    labels[node] = round(node, forward);
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k)
      if (ahead[model_.arcs[k]]) send(model_.arcs[k]);
  }

  // What the node hears from its other factors, with maximum 0, mixed with what it said before.
  void send(int arc) {
    double* message = to_factor(arc);
    const int n_labels = model_.counts[arc];
    const double keep = order_.acyclic || !sent_[arc] ? 0.0 : kDamping;
    double top = belief_[0] - to_node(arc)[0];
    for (int a = 1; a < n_labels; ++a) top = std::max(top, belief_[a] - to_node(arc)[a]);
    for (int a = 0; a < n_labels; ++a) {
      const double value = keep * message[a] + (1 - keep) * (belief_[a] - to_node(arc)[a] - top);
      change_ = std::max(change_, std::abs(value - message[a]));
      message[a] = value;
    }
    sent_[arc] = 1;
  }

  std::vector<char> sent_;  // (A)
  double change_ = 0;
};

}  // namespace neuralfactors::higher_order
