// Chains with one table for all edges: the forward-backward algorithm on numbers instead of their logarithms, which is
// as exact wherever the numbers stay in range; where they do not, the chain is left to the cluster tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sums/sum_graph.hpp"
#include "sums/sum_kernels.hpp"

namespace neuralfactors {

// Edge e joins node e to node e + 1.
template <class T>
bool is_shared_chain(const SumGraph<T>& g) {
  if (!g.shared || g.order != 2 || g.n_nodes < 2 || g.n_edges != g.n_nodes - 1) return false;
  for (int e = 0; e < g.n_edges; ++e)
    if (g.node(e, 0) != e || g.node(e, 1) != e + 1) return false;
  return true;
}

template <class T>
class SharedChain {
 public:
  SharedChain(const T* table, int n_labels) : n_labels_(n_labels) {
    const std::size_t size = static_cast<std::size_t>(n_labels) * n_labels;
    table_.assign(table, table + size);
    in_range_ = shift(table_.data(), size, top_);
    if (!in_range_) return;
    sum_kernels().exp_all(table_.data(), size);
    transposed_.resize(size);
    for (int a = 0; a < n_labels; ++a)
      for (int b = 0; b < n_labels; ++b) transposed_[at(b, a)] = table_[at(a, b)];
  }

  // Forgets the edges of all runs.
  void clear() { pairs_.assign(table_.size(), 0); }

  // False when some number would leave the range in which products are exact; the marginals that may have been
  // written are then to be replaced. log Z is -inf when all labellings are forbidden. Marginals of the edges that are
  // to be summed are kept for add_pairs.
  bool run(const SumGraph<T>& graph, const MarginalsOf<T>& out, double& log_partition) {
    if (!in_range_ || !forward(graph, log_partition)) return false;
    if (!out.wanted() || log_partition == kForbiddenScore) return true;
    if (!backward(graph, out)) return false;
    if (out.shared)
      add_edges(graph.n_edges);
    else
      store_edges(graph.n_edges, out);
    return true;
  }

  // Adds what all runs since clear() found for the edges.
  void add_pairs(double* shared) const {
    if (!in_range_) return;
    for (std::size_t k = 0; k < pairs_.size(); ++k) shared[k] += pairs_[k] * table_[k];
  }

 private:
  // Products of an entry of a table, one of a node and a message are then above 1e-290: a 0 means forbidden.
  static constexpr double kRange = 160;  // of logarithms; exp(-160) = 3e-70
  static constexpr double kLeastMessage = 1e-150;

  int n_labels_;
  bool in_range_ = false;
  double top_ = 0;
  std::vector<double> table_, transposed_;  // exp(scores - top_)
  std::vector<double> pairs_;               // (L, L) sums of outer products
  std::vector<double> nodes_;               // (V, L) exp(unary - its maximum)
  std::vector<double> alpha_;  // (V, L) sum over all that is before a node, itself included, up to a factor
  std::vector<double> beta_;   // (L) the same over all after it

  std::size_t at(int a, int b) const { return static_cast<std::size_t>(a) * n_labels_ + b; }

  // Subtracts the maximum; false when the rest has too wide a range. -inf stays.
  static bool shift(double* x, std::size_t n, double& top) {
    top = *std::max_element(x, x + n);
    if (top == kForbiddenScore) return false;
    double least = 0;
    for (std::size_t k = 0; k < n; ++k) {
      x[k] -= top;
      if (x[k] < least && x[k] != kForbiddenScore) least = x[k];
    }
    return least >= -kRange;
  }

  // out = in * matrix, scaled to maximum 1; returns the factor, 0 when all is forbidden, or -1 when out of range.
  double multiply(const std::vector<double>& matrix, const double* in, const double* factor, double* out) const {
    std::fill_n(out, n_labels_, 0.0);
    for (int a = 0; a < n_labels_; a += 4) {
      const double* rows[4];
      double c[4];
      for (int k = 0; k < 4; ++k) {
        rows[k] = matrix.data() + at(std::min(a + k, n_labels_ - 1), 0);
        c[k] = a + k < n_labels_ ? in[a + k] : 0;
      }
      sum_kernels().accumulate4(out, rows, c, n_labels_);
    }
    double top = 0;
    for (int b = 0; b < n_labels_; ++b) {
      if (factor) out[b] *= factor[b];
      top = std::max(top, out[b]);
    }
    if (top == 0) return 0;
    double least = 1;
    for (int b = 0; b < n_labels_; ++b) {
      out[b] /= top;
      if (out[b] > 0) least = std::min(least, out[b]);
    }
    return least < kLeastMessage ? -1 : top;
  }

  bool forward(const SumGraph<T>& graph, double& log_partition) {
    const std::size_t size = at(graph.n_nodes, 0);
    nodes_.assign(graph.unary, graph.unary + size);
    alpha_.resize(size);
    log_partition = 0;
    for (int i = 0; i < graph.n_nodes; ++i) {
      double top;
      if (!shift(nodes_.data() + at(i, 0), n_labels_, top)) return false;
      log_partition += top;
    }
    sum_kernels().exp_all(nodes_.data(), size);
    std::copy_n(nodes_.begin(), n_labels_, alpha_.begin());
    for (int i = 1; i < graph.n_nodes; ++i) {
      const double factor =
          multiply(table_, alpha_.data() + at(i - 1, 0), nodes_.data() + at(i, 0), alpha_.data() + at(i, 0));
      if (factor < 0) return false;
      log_partition += factor == 0 ? kForbiddenScore : std::log(factor) + top_;
      if (factor == 0) return true;
    }
    double sum = 0;
    for (int a = 0; a < n_labels_; ++a) sum += alpha_[at(graph.n_nodes - 1, a)];
    log_partition += std::log(sum);
    return true;
  }

  // Marginals of the nodes; alpha_ and nodes_ become the two factors of the marginals of the edges.
  bool backward(const SumGraph<T>& graph, const MarginalsOf<T>& out) {
    beta_.assign(n_labels_, 1.0);
    double factor = 1;  // by which beta_ was divided
    for (int i = graph.n_nodes - 1; i >= 0; --i) {
      double* alpha = alpha_.data() + at(i, 0);
      double* node = nodes_.data() + at(i, 0);
      if (i < graph.n_nodes - 1) factor = multiply(transposed_, node + n_labels_, nullptr, beta_.data());
      if (factor <= 0) return false;
      double sum = 0;
      for (int a = 0; a < n_labels_; ++a) sum += alpha[a] * beta_[a];
      for (int a = 0; a < n_labels_; ++a) {
        out.nodes[at(i, a)] = static_cast<T>(out.weight * alpha[a] * beta_[a] / sum);
        node[a] *= beta_[a];
        alpha[a] *= out.weight / (sum * factor);
      }
    }
    return true;
  }

  void store_edges(int n_edges, const MarginalsOf<T>& out) const {
    for (int e = 0; e < n_edges; ++e)
      for (int a = 0; a < n_labels_; ++a) {
        const double factor = alpha_[at(e, a)];
        T* to = out.tables + e * table_.size() + at(a, 0);
        for (int b = 0; b < n_labels_; ++b) to[b] = static_cast<T>(factor * table_[at(a, b)] * nodes_[at(e + 1, b)]);
      }
  }

  // pairs_ += alpha_[e] x nodes_[e + 1] for every edge e, four at a time.
  void add_edges(int n_edges) {
    for (int e = 0; e < n_edges; e += 4)
      for (int a = 0; a < n_labels_; ++a) {
        const double* rows[4];
        double c[4];
        for (int k = 0; k < 4; ++k) {
          const int edge = std::min(e + k, n_edges - 1);
          rows[k] = nodes_.data() + at(edge + 1, 0);
          c[k] = e + k < n_edges ? alpha_[at(edge, a)] : 0;
        }
        sum_kernels().accumulate4(pairs_.data() + at(a, 0), rows, c, n_labels_);
      }
  }
};

}  // namespace neuralfactors
