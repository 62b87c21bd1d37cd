// Sequential reweighted message passing (Kolmogorov, "A new look at reweighted message passing", PAMI 2015).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "higher_order/messages.hpp"
#include "higher_order/model.hpp"

namespace neuralfactors::higher_order {

// Block-coordinate ascent on the dual of the local-polytope relaxation; on pairwise graphs this is TRW-S. The messages
// are a reparametrisation at all times: node  unary - sum to_factor,  factor  table + sum to_factor.  The sum of the
// maxima of all these bounds every labelling from above, and no step lets it grow.
class Srmp : public Messages {
 public:
  Srmp(const Model& model, const NodeOrder& order)
      : Messages(model, order),
        weight_forward_(model.n_nodes),
        weight_backward_(model.n_nodes),
        kept_backward_(model.n_nodes) {
    for (int i = 0; i < model.n_nodes; ++i) {
      int n_earlier = 0, n_later = 0;
      for (int k = model.first_arc[i]; k < model.first_arc[i + 1]; ++k) {
        n_earlier += order.earlier[model.arcs[k]];
        n_later += order.later[model.arcs[k]];
      }
      // Any weights that sum to at most 1 keep the bound monotone. Without cycles, passing everything on is exact.
      const int chains = std::max({n_earlier, n_later, 1});
      weight_forward_[i] = 1.0 / (order.acyclic ? std::max(n_later, 1) : chains);
      weight_backward_[i] = 1.0 / (order.acyclic ? std::max(n_earlier, 1) : chains);
      kept_backward_[i] = std::max(0.0, 1 - n_earlier * weight_backward_[i]);
    }
  }

  // There and back; the dual bound, up to rounding. Leaves the labelling of the way back in `labels`.
  double sweep(Interrupt& interrupt) {
    bound_ = 0;
    for (auto node = order_.nodes.begin(); node != order_.nodes.end(); ++node) visit(*node, true, interrupt);
    for (auto node = order_.nodes.rbegin(); node != order_.nodes.rend(); ++node) visit(*node, false, interrupt);
    return static_cast<double>(bound_);
  }

  // The dual bound of the present messages, computed afresh and rounded up by more than double arithmetic can have
  // lost.
  double bound(Interrupt& interrupt) {
    long double total = 0, lost = 0;  // lost: a sum of n terms errs by at most n units of rounding of their magnitudes
    std::vector<double> values(model_.most_labels());
    for (int i = 0; i < model_.n_nodes; ++i) {
      node_scores(i, values.data());
      const int n_labels = model_.count(i);
      total += *std::max_element(values.begin(), values.begin() + n_labels);
      double magnitude = largest(model_.row(i), n_labels);
      for (int k = model_.first_arc[i]; k < model_.first_arc[i + 1]; ++k)
        magnitude += largest(to_factor(model_.arcs[k]), n_labels);
      lost += magnitude * (model_.first_arc[i + 1] - model_.first_arc[i]);
    }
    for (int f = 0; f < model_.n_factors(); ++f) {
      interrupt.check();
      total += factor_top(f);
      double magnitude = model_.depth[f];
      for (int arc = model_.begin[f]; arc < model_.begin[f + 1]; ++arc)
        magnitude += largest(to_factor(arc), model_.counts[arc]);
      lost += magnitude * model_.order(f);
    }
    return static_cast<double>(total + lost * std::numeric_limits<double>::epsilon());
  }

  // One more sweep; costs, by node and label, at least 0, tell how far at least `bound()`, as it is afterwards, falls
  // when the node must take the label. When a sweep comes to a node, all that its factors know has been collected in
  // its belief, and the bound of that moment falls by the belief's own differences; it is no higher than the bound
  // before the sweep.
  void reduced_costs(double* costs, Interrupt& interrupt) {
    std::fill(costs, costs + model_.unary.size(), 0.0);
    const double before = bound(interrupt);
    costs_ = costs;
    sweep(interrupt);
    costs_ = nullptr;
    const double gained = before - bound(interrupt);
    for (std::size_t k = 0; k < model_.unary.size(); ++k) costs[k] = std::max(0.0, costs[k] - gained);
  }

 private:
  static double largest(const double* values, int n_labels) {
    double top = 0;
    for (int a = 0; a < n_labels; ++a) top = std::max(top, std::abs(values[a]));
    return top;
  }

  double factor_top(int f) {
    const int arc = model_.begin[f], n_labels = model_.counts[arc];
    std::vector<double>& values = belief_;
    marginal(arc, free_, values.data());
    for (int a = 0; a < n_labels; ++a) values[a] += to_factor(arc)[a];
    return *std::max_element(values.begin(), values.begin() + n_labels);
  }

  void node_scores(int node, double* scores) {
    const int n_labels = model_.count(node);
    std::copy_n(model_.row(node), n_labels, scores);
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k)
      for (int a = 0; a < n_labels; ++a) scores[a] -= to_factor(model_.arcs[k])[a];
  }

  // Collect from the factors that heard from nodes visited before, round, then share the belief among those to come.
  void visit(int node, bool forward, Interrupt& interrupt) {
    interrupt.check();
    const auto& behind = forward ? order_.earlier : order_.later;
    const auto& ahead = forward ? order_.later : order_.earlier;
    const int n_labels = model_.count(node);
    std::copy_n(model_.row(node), n_labels, belief_.begin());
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k) {
      const int arc = model_.arcs[k];
      double* message = to_node(arc);
      if (behind[arc]) {
        marginal(arc, free_, message);
        const double top = *std::max_element(message, message + n_labels);  // constants would only cost precision
        for (int a = 0; a < n_labels; ++a) message[a] -= top;
        if (!forward && !ahead[arc]) bound_ += top;  // the last visit to this factor: what is left of it
      }
      for (int a = 0; a < n_labels; ++a) belief_[a] += message[a];
    }
    labels[node] = round(node, forward);
    const double top = *std::max_element(belief_.begin(), belief_.begin() + n_labels);
    if (!forward) bound_ += kept_backward_[node] * top;
    if (costs_ != nullptr) {
      double* costs = costs_ + model_.row_begin[node];
      for (int a = 0; a < n_labels; ++a) costs[a] = std::max(costs[a], top - belief_[a]);
    }
    const double weight = forward ? weight_forward_[node] : weight_backward_[node];
    for (int k = model_.first_arc[node]; k < model_.first_arc[node + 1]; ++k) {
      const int arc = model_.arcs[k];
      double *message = to_node(arc), *answer = to_factor(arc);
      for (int a = 0; a < n_labels; ++a) {
        if (ahead[arc]) message[a] -= weight * belief_[a];
        answer[a] = -message[a];
      }
    }
  }

  std::vector<double> weight_forward_, weight_backward_;  // (V); share of the belief that goes to each factor ahead
  std::vector<double> kept_backward_;                     // (V); share that stays with the node
  long double bound_ = 0;
  double* costs_ = nullptr;  // where a sweep keeps the largest differences of the beliefs it meets, if anywhere
};

}  // namespace neuralfactors::higher_order
