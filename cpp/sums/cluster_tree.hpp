// Exact sums by variable elimination. A cluster is a variable v with the variables S that shared a table with it when
// it was eliminated; upwards it keeps p(v | S) and tells its parent log sum_v exp(...) by state of S, downwards it gets
// p(S). Both are sums of what is not negative, so nothing cancels (Dechter, Bucket elimination, 1999).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"
#include "core/random.hpp"
#include "search/elimination_order.hpp"
#include "sums/sum_graph.hpp"
#include "sums/sum_kernels.hpp"
#include "sums/variables.hpp"

namespace neuralfactors {

enum class Semiring { sum, max };

template <class T>
class ClusterTree {
 public:
  // Chooses the order. Returns how many nodes had to keep the label that `frozen` has for them so that no table exceeds
  // max_entries, nor all of them twice those of the graph; without `frozen` anything but 0 means that the tree cannot
  // be used. -1: no label of some node is allowed.
  int plan(const SumGraph<T>& graph, double max_entries, const std::int64_t* frozen = nullptr) {
    graph_ = &graph;
    if (!variables_.collect(graph)) return -1;
    order_.reset(variables_.size);
    for (int e = 0; e < graph.n_edges; ++e)
      for (int p = 0; p < graph.order; ++p)
        for (int q = 0; q < p; ++q) join(graph.node(e, p), graph.node(e, q));
    Random random(0);
    const auto own = static_cast<double>(graph.row_at(graph.n_nodes) + graph.table_at(graph.n_edges));
    const int n_frozen = order_.plan(Route::greedy, max_entries, std::max(max_entries, 2 * own), random);
    if (n_frozen > 0 && !frozen) return n_frozen;
    for (int v = 0; v < variables_.count(); ++v)
      if (order_.rank[v] < 0) variables_.give(variables_.node[v], static_cast<int>(frozen[variables_.node[v]]));
    make_clusters();
    return n_frozen;
  }

  // log sum exp g(x, y), or the largest g(x, y), over all labellings; -inf when all are forbidden.
  double upward(Semiring semiring, Interrupt& interrupt) {
    double total = constant_;
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      interrupt.check();
      Cluster& c = clusters_[k];
      fill(c);
      if (semiring == Semiring::sum)
        sum_kernels().softmax(tables_.data() + c.table, c.states, c.size, messages_.data() + c.message);
      else
        subtract_max(c);
      if (c.scope.size == 0)
        total += messages_[c.message];
      else
        adopt(static_cast<int>(k));
    }
    return total;
  }

  // After upward(sum); the tables hold p(v, S) then.
  void downward(const MarginalsOf<T>& out, Interrupt& interrupt) {
    store_given(out);
    for (std::size_t k = clusters_.size(); k-- > 0;) {
      interrupt.check();
      Cluster& c = clusters_[k];
      double* row = tables_.data() + c.table;
      const double* scope = messages_.data() + c.message;  // p(S), which the parent has left here
      for (std::size_t s = 0; s < c.states; ++s, row += c.size) {
        const double p = c.scope.size == 0 ? 1 : scope[s];
        for (int x = 0; x < c.size; ++x) row[x] *= p;
      }
      store_node(c, out);
      for (int f = c.factors; f >= 0; f = next_factor_[f]) store_factor(c, f, out);
      for (int child = c.children; child >= 0; child = clusters_[child].sibling) inform(c, clusters_[child]);
    }
  }

  // What a walk from the root needs: position k of it belongs to a node, whose labels have the values
  // row(k, y)[0 .. n_choices(k) - 1] given the labels y of the nodes before it: p(v | S), or after upward(max) how far
  // the best labelling with that label is from the best, 0 or less.
  int n_steps() const { return static_cast<int>(clusters_.size()); }
  int node(int k) const { return variables_.node[at(k).variable]; }
  int n_choices(int k) const { return at(k).size; }
  int label(int k, int choice) const { return variables_.labels_of(at(k).variable)[choice]; }
  const double* row(int k, const std::int64_t* choices) const {  // `choices` by variable
    const Cluster& c = at(k);
    std::size_t state = 0;
    for (int d = 0; d < c.scope.size; ++d) {
      const int w = order_.scopes[c.scope.begin + d];
      state = state * variables_.size[w] + static_cast<std::size_t>(choices[w]);
    }
    return tables_.data() + c.table + state * c.size;
  }
  int variable(int k) const { return at(k).variable; }
  int n_variables() const { return variables_.count(); }
  // Labels (V) for the choices made, by variable.
  void labels(const std::int64_t* choices, std::int64_t* out) const {
    for (int i = 0; i < graph_->n_nodes; ++i) {
      const int v = variables_.of_node[i];
      out[i] = v < 0 ? variables_.given[i] : variables_.labels_of(v)[choices[v]];
    }
  }

 private:
  struct Cluster {
    int variable = 0;
    EliminationOrder::Scope scope;
    int size = 0;                                   // labels of the variable
    std::size_t states = 1;                         // of the scope
    std::size_t table = 0;                          // (states, size) in tables_
    std::size_t message = 0;                        // (states) in messages_
    int factors = -1, children = -1, sibling = -1;  // heads of lists, and the next of its parent's
  };

  const SumGraph<T>* graph_ = nullptr;
  Variables variables_;
  EliminationOrder order_;
  std::vector<Cluster> clusters_;
  std::vector<int> next_factor_;  // (E)
  std::vector<double> tables_, messages_, buffer_;
  std::vector<std::size_t> index_, step_;  // see map()
  std::vector<std::size_t> strides_;       // (Q) of the table of the factor that is mapped
  double constant_ = 0;                    // score of what does not depend on any variable

  const Cluster& at(int k) const { return clusters_[clusters_.size() - 1 - k]; }

  void join(int i, int j) {
    const int u = variables_.of_node[i], v = variables_.of_node[j];
    if (u >= 0 && v >= 0 && u != v && !order_.are_tied(u, v)) order_.tie(u, v);
  }

  void make_clusters() {
    clusters_.clear();
    std::size_t entries = 0, states = 0;
    for (const auto& [variable, scope] : order_.steps) {
      Cluster c{variable, scope, variables_.size[variable], 1, entries, states};
      for (int d = 0; d < scope.size; ++d) c.states *= variables_.size[order_.scopes[scope.begin + d]];
      entries += c.states * c.size;
      states += c.states;
      clusters_.push_back(c);
    }
    tables_.resize(entries);
    messages_.resize(states);
    constant_ = 0;
    for (int i = 0; i < graph_->n_nodes; ++i)
      if (variables_.of_node[i] < 0) constant_ += graph_->row(i)[variables_.given[i]];
    next_factor_.assign(graph_->n_edges, -1);
    for (int e = 0; e < graph_->n_edges; ++e) assign_factor(e);
  }

  // A factor belongs to the cluster of whichever of its variables goes first.
  void assign_factor(int e) {
    int first = -1;
    std::size_t entry = 0;
    for (int q = 0; q < graph_->order; ++q) {
      const int i = graph_->node(e, q), v = variables_.of_node[i];
      entry = entry * graph_->count(i) + variables_.given[i];
      if (v >= 0 && (first < 0 || order_.rank[v] < first)) first = order_.rank[v];
    }
    if (first < 0) {
      constant_ += graph_->table(e)[entry];
    } else {
      next_factor_[e] = clusters_[first].factors;
      clusters_[first].factors = e;
    }
  }

  // Hands cluster k to its parent, that of the first variable of its scope to go.
  void adopt(int k) {
    Cluster& c = clusters_[k];
    int parent = order_.rank[order_.scopes[c.scope.begin]];
    for (int d = 1; d < c.scope.size; ++d) parent = std::min(parent, order_.rank[order_.scopes[c.scope.begin + d]]);
    c.sibling = clusters_[parent].children;
    clusters_[parent].children = k;
  }

  // For an array in which variable w moves by offset(w, x) when it takes its x-th label: where its entry stands for
  // each state of the scope (index_), and how far each label of the cluster's own variable is from there (step_).
  template <class Offset>
  void map(const Cluster& c, std::size_t base, const Offset& offset) {
    index_.resize(c.states);
    index_[0] = base;
    std::size_t filled = 1;
    for (int d = c.scope.size; d-- > 0;) {  // last variable fastest
      const int w = order_.scopes[c.scope.begin + d];
      const std::size_t block = filled;
      for (int x = 1; x < variables_.size[w]; ++x) {
        const std::size_t move = offset(w, x) - offset(w, 0);
        for (std::size_t t = 0; t < block; ++t) index_[filled++] = index_[t] + move;
      }
      const std::size_t start = offset(w, 0);
      for (std::size_t t = 0; start > 0 && t < filled; ++t) index_[t] += start;
    }
    step_.resize(c.size);
    for (int x = 0; x < c.size; ++x) step_[x] = offset(c.variable, x);
  }

  void map_factor(const Cluster& c, int e) {
    std::size_t base = 0, stride = 1;
    strides_.resize(graph_->order);
    for (int q = graph_->order; q-- > 0;) {
      const int i = graph_->node(e, q);
      strides_[q] = stride;
      if (variables_.of_node[i] < 0) base += stride * variables_.given[i];
      stride *= graph_->count(i);
    }
    map(c, base, [&](int w, int x) {
      std::size_t sum = 0;
      for (int q = 0; q < graph_->order; ++q)
        if (variables_.of_node[graph_->node(e, q)] == w) sum += strides_[q] * variables_.labels_of(w)[x];
      return sum;
    });
  }

  void map_message(const Cluster& c, const Cluster& child) {
    map(c, child.message, [&](int w, int x) {
      std::size_t stride = 1;
      for (int d = child.scope.size; d-- > 0;) {
        const int u = order_.scopes[child.scope.begin + d];
        if (u == w) return stride * x;
        stride *= variables_.size[u];
      }
      return std::size_t{0};
    });
  }

  template <class Value>
  void add_mapped(const Cluster& c, const Value* from) {
    double* row = tables_.data() + c.table;
    const std::size_t *index = index_.data(), *step = step_.data();
    const bool dense = is_dense();
    for (std::size_t s = 0; s < c.states; ++s, row += c.size) {
      const Value* entry = from + index[s] + step[0];
      if (dense)
        for (int x = 0; x < c.size; ++x) row[x] += entry[x];
      else
        for (int x = 0; x < c.size; ++x) row[x] += entry[step[x] - step[0]];
    }
  }

  // The reverse: adds the table of c to the entries of `to` that it is mapped to.
  void gather_mapped(const Cluster& c, double* to) const {
    const double* row = tables_.data() + c.table;
    const std::size_t *index = index_.data(), *step = step_.data();
    const bool dense = is_dense();
    for (std::size_t s = 0; s < c.states; ++s, row += c.size) {
      double* entry = to + index[s] + step[0];
      if (dense)
        for (int x = 0; x < c.size; ++x) entry[x] += row[x];
      else
        for (int x = 0; x < c.size; ++x) entry[step[x] - step[0]] += row[x];
    }
  }

  // Whether neighbouring labels of the cluster's own variable are neighbours in the array that map() was asked about.
  bool is_dense() const { return step_.back() - step_.front() + 1 == step_.size(); }

  void fill(const Cluster& c) {
    double* table = tables_.data() + c.table;
    const T* own = graph_->row(variables_.node[c.variable]);
    const int* labels = variables_.labels_of(c.variable);
    for (int x = 0; x < c.size; ++x) table[x] = own[labels[x]];
    for (std::size_t s = 1; s < c.states; ++s) std::copy_n(table, c.size, table + s * c.size);
    for (int f = c.factors; f >= 0; f = next_factor_[f]) {
      map_factor(c, f);
      add_mapped(c, graph_->table(f));
    }
    for (int child = c.children; child >= 0; child = clusters_[child].sibling) {
      map_message(c, clusters_[child]);
      add_mapped(c, messages_.data());
    }
  }

  void subtract_max(const Cluster& c) {
    double* row = tables_.data() + c.table;
    for (std::size_t s = 0; s < c.states; ++s, row += c.size) {
      const double top = *std::max_element(row, row + c.size);
      messages_[c.message + s] = top;
      if (top == kForbiddenScore) continue;
      for (int x = 0; x < c.size; ++x) row[x] -= top;
    }
  }

  void inform(const Cluster& c, const Cluster& child) {
    std::fill_n(messages_.begin() + static_cast<std::ptrdiff_t>(child.message), child.states, 0.0);
    map_message(c, child);
    gather_mapped(c, messages_.data());
  }

  void store_node(const Cluster& c, const MarginalsOf<T>& out) {
    buffer_.assign(c.size, 0);
    const double* row = tables_.data() + c.table;
    double* sum = buffer_.data();
    for (std::size_t s = 0; s < c.states; ++s, row += c.size)
      for (int x = 0; x < c.size; ++x) sum[x] += row[x];
    const int node = variables_.node[c.variable];
    T* to = out.nodes + graph_->row_at(node);
    std::fill_n(to, graph_->count(node), T(0));
    const int* labels = variables_.labels_of(c.variable);
    for (int x = 0; x < c.size; ++x) to[labels[x]] = static_cast<T>(out.weight * buffer_[x]);
  }

  void store_factor(const Cluster& c, int e, const MarginalsOf<T>& out) {
    map_factor(c, e);
    buffer_.assign(graph_->entries(e), 0);
    gather_mapped(c, buffer_.data());
    out.store_table(graph_->table_at(e), buffer_.data(), buffer_.size());
  }

  // Marginals of nodes and factors whose labels are given.
  void store_given(const MarginalsOf<T>& out) {
    for (int i = 0; i < graph_->n_nodes; ++i) {
      if (variables_.of_node[i] >= 0) continue;
      T* to = out.nodes + graph_->row_at(i);
      std::fill_n(to, graph_->count(i), T(0));
      to[variables_.given[i]] = static_cast<T>(out.weight);
    }
    for (int e = 0; e < graph_->n_edges; ++e) {
      std::size_t entry = 0;
      bool given = true;
      for (int q = 0; q < graph_->order; ++q) {
        const int i = graph_->node(e, q);
        given = given && variables_.of_node[i] < 0;
        entry = entry * graph_->count(i) + variables_.given[i];
      }
      if (!given) continue;
      buffer_.assign(graph_->entries(e), 0);
      buffer_[entry] = 1;
      out.store_table(graph_->table_at(e), buffer_.data(), buffer_.size());
    }
  }
};

}  // namespace neuralfactors
