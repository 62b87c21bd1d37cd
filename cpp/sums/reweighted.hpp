// Sums on graphs with cycles by message passing. Bethe: every edge counts once (loopy belief propagation). Tree-
// reweighted (Wainwright, Jaakkola & Willsky 2005): edge e counts rho_e, its probability in a random spanning tree; the
// result bounds log Z from above. Here each node draws its parent among its neighbours earlier in a breadth-first
// order. Nodes are then summed out last to first by Hoelder's inequality (Liu & Ihler 2011), so that the bound holds
// for all messages, converged or not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/interrupt.hpp"
#include "core/problem.hpp"
#include "messages/sweep_order.hpp"
#include "sums/sum_graph.hpp"
#include "sums/sum_kernels.hpp"

namespace neuralfactors {

struct ReweightedOptions {
  bool bethe = false;
  int max_iterations = 0;
  double tolerance = 0;  // change of a message, whose largest entry is 1
};

template <class T>
class ReweightedSums {
 public:
  int iterations = 0;
  bool converged = false;

  // log Z as far as the method knows it; -inf when all labellings are seen to be forbidden.
  double run(const SumGraph<T>& graph, const ReweightedOptions& options, const MarginalsOf<T>& out,
             Interrupt& interrupt) {
    graph_ = &graph;
    link(options.bethe);
    make_factors();
    converged = links_.n_edges == 0;
    for (iterations = 0; !converged && iterations < options.max_iterations; ++iterations) {
      interrupt.check();
      const double damping = options.bethe && iterations >= kUndamped ? 0.5 : 0;
      const double ahead = sweep(true, damping), back = sweep(false, damping);
      converged = std::max(ahead, back) <= options.tolerance;
    }
    beliefs_.resize(graph.row_at(graph.n_nodes));
    for (int i = 0; i < graph.n_nodes; ++i) collect(i, beliefs_.data() + graph.row_at(i));
    const double bethe = conclude(out);
    return options.bethe || bethe == kForbiddenScore ? bethe : upper_bound();
  }

 private:
  static constexpr int kUndamped = 10;      // iterations; what has not converged by then may be going round in circles
  static constexpr double kLeast = 1e-300;  // entry of a message: its logarithm stays finite

  const SumGraph<T>* graph_ = nullptr;
  Graph links_;            // without self-loops
  std::vector<int> edge_;  // by link: its edge in the caller's graph
  std::vector<int> order_, position_;
  std::vector<double> rho_;                          // by link
  std::vector<double> unary_;                        // by node: (L) scores, self-loops included
  std::vector<double> factors_;                      // by link: (L, L) exp(score / rho), maximum 1
  std::vector<double> messages_;                     // by link: (L) to its tail, then (L) to its head, maximum 1
  std::vector<double> logs_;                         // of the messages
  std::vector<double> beliefs_;                      // by node: (L) logarithms, not normalised
  std::vector<std::size_t> factor_at_, message_at_;  // by link: where its factor, and its two messages, begin
  std::vector<double> sending_, received_, table_;

  int rows(int k) const { return graph_->count(links_.tail[k]); }
  int columns(int k) const { return graph_->count(links_.head[k]); }
  // Where the message over an arc begins: the one to the node that the arc belongs to, and the one from it.
  std::size_t incoming(const Graph::Arc& arc) const { return message_to(arc.edge, arc.from_tail); }
  std::size_t outgoing(const Graph::Arc& arc) const { return message_to(arc.edge, !arc.from_tail); }
  std::size_t message_to(int k, bool tail) const { return message_at_[2 * k + (tail ? 0 : 1)]; }

  void link(bool bethe) {
    links_.n_nodes = graph_->n_nodes;
    links_.tail.clear();
    links_.head.clear();
    edge_.clear();
    unary_.assign(graph_->unary, graph_->unary + graph_->row_at(graph_->n_nodes));
    for (int e = 0; e < graph_->n_edges; ++e) {
      const int u = graph_->node(e, 0), v = graph_->node(e, 1);
      if (u == v) {
        const int n = graph_->count(u);
        double* row = unary_.data() + graph_->row_at(u);
        for (int a = 0; a < n; ++a) row[a] += graph_->table(e)[a * (n + 1)];
        continue;
      }
      edge_.push_back(e);
      links_.tail.push_back(u);
      links_.head.push_back(v);
    }
    links_.n_edges = static_cast<int>(edge_.size());
    links_.link();
    order_ = breadth_first(links_);
    position_.resize(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) position_[order_[k]] = static_cast<int>(k);
    rho_.assign(links_.n_edges, 1);
    for (int i = 0; i < links_.n_nodes && !bethe; ++i) reweight(i);
  }

  bool is_earlier(const Graph::Arc& arc, int i) const { return position_[arc.node] < position_[i]; }

  void reweight(int i) {
    int earlier = 0;
    for (int k = links_.begin[i]; k < links_.begin[i + 1]; ++k) earlier += is_earlier(links_.arcs[k], i);
    for (int k = links_.begin[i]; k < links_.begin[i + 1]; ++k)
      if (is_earlier(links_.arcs[k], i)) rho_[links_.arcs[k].edge] = 1.0 / earlier;
  }

  void make_factors() {
    place();
    for (int k = 0; k < links_.n_edges; ++k) {
      const T* score = graph_->table(edge_[k]);
      const std::size_t size = graph_->entries(edge_[k]);
      const double top = *std::max_element(score, score + size);
      double* out = factors_.data() + factor_at_[k];
      for (std::size_t n = 0; n < size; ++n) out[n] = top == kForbiddenScore ? top : (score[n] - top) / rho_[k];
    }
    sum_kernels().exp_all(factors_.data(), factors_.size());
    messages_.assign(messages_.size(), 1);
    logs_.assign(messages_.size(), 0);
    sending_.resize(graph_->n_labels);
    received_.resize(graph_->n_labels);
  }

  void place() {
    factor_at_.clear();
    message_at_.clear();
    std::size_t entries = 0, labels = 0;
    for (int k = 0; k < links_.n_edges; ++k) {
      factor_at_.push_back(entries);
      entries += graph_->entries(edge_[k]);
      for (const int n : {rows(k), columns(k)}) {
        message_at_.push_back(labels);
        labels += n;
      }
    }
    factors_.resize(entries);
    messages_.resize(labels);
  }

  // Belief of a node: its scores, and rho times the logarithms of what it is told.
  void collect(int i, double* belief) const {
    const int n = graph_->count(i);
    std::copy_n(unary_.data() + graph_->row_at(i), n, belief);
    for (int k = links_.begin[i]; k < links_.begin[i + 1]; ++k) {
      const Graph::Arc& arc = links_.arcs[k];
      const double* told = logs_.data() + incoming(arc);
      for (int a = 0; a < n; ++a) belief[a] += rho_[arc.edge] * told[a];
    }
  }

  // All nodes in order, or in reverse, send to those ahead of them; returns the largest change of a message.
  double sweep(bool forward, double damping) {
    double change = 0;
    beliefs_.resize(graph_->n_labels);
    for (int n = 0; n < links_.n_nodes; ++n) {
      const int i = order_[forward ? n : links_.n_nodes - 1 - n];
      collect(i, beliefs_.data());
      for (int k = links_.begin[i]; k < links_.begin[i + 1]; ++k)
        if (is_earlier(links_.arcs[k], i) != forward) change = std::max(change, send(i, links_.arcs[k], damping));
    }
    return change;
  }

  double send(int i, const Graph::Arc& arc, double damping) {
    const double* told = logs_.data() + incoming(arc);
    const int n = graph_->count(i), n_received = graph_->count(arc.node);
    for (int a = 0; a < n; ++a) sending_[a] = beliefs_[a] - told[a];
    const double top = *std::max_element(sending_.begin(), sending_.begin() + n);
    if (top == kForbiddenScore) return 0;
    for (int a = 0; a < n; ++a) sending_[a] -= top;
    sum_kernels().exp_all(sending_.data(), n);
    multiply(arc, n, n_received);
    const double largest = *std::max_element(received_.begin(), received_.begin() + n_received);
    double* message = messages_.data() + outgoing(arc);
    double* log = logs_.data() + outgoing(arc);
    double change = 0;
    for (int b = 0; b < n_received; ++b) {
      double fresh = largest > 0 ? std::max(received_[b] / largest, kLeast) : 1;
      if (damping > 0) fresh = (1 - damping) * fresh + damping * message[b];
      change = std::max(change, std::abs(fresh - message[b]));
      message[b] = fresh;
      log[b] = std::log(fresh);
    }
    return change;
  }

  // received_ = factor^T * sending_, or factor * sending_ from the head.
  void multiply(const Graph::Arc& arc, int n, int n_received) {
    const double* factor = factors_.data() + factor_at_[arc.edge];
    if (!arc.from_tail) {
      const std::size_t step = n;
      for (int a = 0; a < n_received; ++a) received_[a] = sum_kernels().dot(factor + a * step, sending_.data(), step);
      return;
    }
    const std::size_t step = n_received;
    std::fill_n(received_.begin(), step, 0.0);
    for (int a = 0; a < n; a += 4) {
      const double* row[4];
      double c[4];
      for (int k = 0; k < 4; ++k) {
        row[k] = factor + std::min(a + k, n - 1) * step;
        c[k] = a + k < n ? sending_[a + k] : 0;
      }
      sum_kernels().accumulate4(received_.data(), row, c, step);
    }
  }

  // x becomes exp(x) / sum; returns log(sum), -inf where all of x is.
  static double normalise(double* x, std::size_t n) {
    double log_sum;
    sum_kernels().softmax(x, 1, n, &log_sum);
    return log_sum;
  }

  // log exp(score / rho) of a link without what its ends have been told over it: (L, L) in table_.
  void reparametrise(int k) {
    const T* score = graph_->table(edge_[k]);
    const double *tail = logs_.data() + message_to(k, true), *head = logs_.data() + message_to(k, false);
    table_.resize(graph_->entries(edge_[k]));
    double* out = table_.data();
    const int n = rows(k), m = columns(k);
    const double rho = rho_[k];
    for (int a = 0; a < n; ++a, score += m, out += m) {
      const double told = tail[a];
      for (int b = 0; b < m; ++b) out[b] = score[b] / rho - told - head[b];
    }
  }

  // Stores the marginals; returns the (reweighted) Bethe value, log Z at a fixed point.
  double conclude(const MarginalsOf<T>& out) {
    double value = 0;
    std::vector<double> node_sum(graph_->n_nodes), node(beliefs_);
    for (int i = 0; i < graph_->n_nodes; ++i)
      value += node_sum[i] = normalise(node.data() + graph_->row_at(i), graph_->count(i));
    if (value == kForbiddenScore) return value;
    for (int k = 0; k < links_.n_edges; ++k) {
      const int u = links_.tail[k], v = links_.head[k];
      reparametrise(k);
      const double *tail = beliefs_.data() + graph_->row_at(u), *head = beliefs_.data() + graph_->row_at(v);
      double* row = table_.data();
      const int n = rows(k), m = columns(k);
      for (int a = 0; a < n; ++a, row += m) {
        const double own = tail[a];
        for (int b = 0; b < m; ++b) row[b] += own + head[b];
      }
      value += rho_[k] * (normalise(table_.data(), table_.size()) - node_sum[u] - node_sum[v]);
      if (value == kForbiddenScore) return value;
      if (out.wanted()) out.store_table(graph_->table_at(edge_[k]), table_.data(), table_.size());
    }
    if (out.wanted()) store_nodes(node, out);
    return value;
  }

  void store_nodes(const std::vector<double>& node, const MarginalsOf<T>& out) {
    for (std::size_t k = 0; k < node.size(); ++k) out.nodes[k] = static_cast<T>(out.weight * node[k]);
    for (int e = 0; e < graph_->n_edges; ++e) {
      const int u = graph_->node(e, 0);
      if (u != graph_->node(e, 1)) continue;
      const int n = graph_->count(u);
      table_.assign(graph_->entries(e), 0);
      for (int a = 0; a < n; ++a) table_[a * (n + 1)] = node[graph_->row_at(u) + a];
      out.store_table(graph_->table_at(e), table_.data(), table_.size());
    }
  }

  // Sums out the nodes last to first: sum_x prod_j f_j(x) <= prod_j (sum_x f_j(x) ** (1 / w_j)) ** w_j, sum_j w_j = 1.
  double upper_bound() {
    double bound = 0;
    for (std::size_t n = order_.size(); n-- > 0;) {
      const int i = order_[n];
      const double* here = beliefs_.data() + graph_->row_at(i);
      const int n_here = graph_->count(i);
      bool is_root = true;
      for (int k = links_.begin[i]; k < links_.begin[i + 1]; ++k) {
        const Graph::Arc& arc = links_.arcs[k];
        if (!is_earlier(arc, i)) continue;
        is_root = false;
        reparametrise(arc.edge);
        double* there = beliefs_.data() + graph_->row_at(arc.node);
        const int n_there = graph_->count(arc.node);
        const int step_here = arc.from_tail ? n_there : 1, step_there = arc.from_tail ? 1 : n_here;
        for (int b = 0; b < n_there; ++b) {
          for (int a = 0; a < n_here; ++a) sending_[a] = here[a] + table_[a * step_here + b * step_there];
          there[b] += rho_[arc.edge] * normalise(sending_.data(), n_here);
        }
      }
      if (!is_root) continue;
      std::copy_n(here, n_here, sending_.begin());
      bound += normalise(sending_.data(), n_here);
    }
    return bound;
  }
};

}  // namespace neuralfactors
