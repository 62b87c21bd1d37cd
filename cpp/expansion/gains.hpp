// What every node could gain by taking any other label: the expansion moves of all labels at once, kept up to date.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/problem.hpp"
#include "expansion/reparametrise.hpp"

namespace neuralfactors {

// For label l, the move that offers l to every node; see Move for hopes and shares. A change of labels alters the moves
// of all labels, but only around the node and mostly in a way that leaves what has been shared out as it was.
class Hopes {
 public:
  // Measures the moves of all labels from scratch and balances them.
  template <class T>
  void reset(const Problem<T>& problem, const std::vector<int>& labels) {
    n_labels_ = problem.n_labels;
    hope_.resize(problem.graph->n_nodes * n_labels_);
    share_.resize(2 * problem.graph->n_edges * n_labels_);
    shift_.resize(n_labels_);
    for (int i = 0; i < problem.graph->n_nodes; ++i) {
      const T* scores = problem.row(i);
      const double here = scores[labels[i]];
      double* hope = row(i);
      for (std::size_t l = 0; l < n_labels_; ++l) hope[l] = scores[l] - here;
    }
    for (int e = 0; e < problem.graph->n_edges; ++e) measure(problem, labels, e);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (int e = 0; e < problem.graph->n_edges; ++e) balance(*problem.graph, e);
    }
  }

  Move move(int label) { return {hope_.data() + label, share_.data() + label, n_labels_}; }
  double of(int node, int label) const { return hope_[node * n_labels_ + label]; }

  // Changes the label of a node, in `labels` and in everything that depends on it.
  template <class T>
  void relabel(const Problem<T>& problem, std::vector<int>& labels, int i, int label) {
    const Graph& graph = *problem.graph;
    for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
      const Graph::Arc& arc = graph.arcs[a];
      const int y = labels[arc.node];
      const std::size_t row_step = arc.from_tail ? n_labels_ : 1, step = arc.from_tail ? 1 : n_labels_;
      const T* before = problem.table(arc.edge) + labels[i] * row_step;
      const T* after = problem.table(arc.edge) + label * row_step;
      const double level = static_cast<double>(after[y * step]) - before[y * step];
      for (std::size_t l = 0; l < n_labels_; ++l) {
        shift_[l] = (static_cast<double>(after[l * step]) - before[l * step]) - level;
      }
      double* mine = share(Move::slot_of(arc));
      double* theirs = share(Move::slot_of(arc) ^ 1);
      shift_[label] = mine[label] + theirs[label];  // so that the coupling at the node's own label is exactly 0
      shift(shift_.data(), row(i), row(arc.node), mine, theirs, n_labels_);
    }
    // Nothing is shared at the new label any more: its hope is what the change alone has gained.
    double* hope = row(i);
    const double level = hope[label];
    for (std::size_t l = 0; l < n_labels_; ++l) hope[l] -= level;
    labels[i] = label;
  }

 private:
  static constexpr int kSweeps = 4;  // they cost little, and what they settle needs no search

  double* row(int node) { return hope_.data() + node * n_labels_; }
  double* share(int slot) { return share_.data() + slot * n_labels_; }

  // Adds the gains of an edge to the hopes of its ends and gives each of them half of the couplings.
  template <class T>
  void measure(const Problem<T>& problem, const std::vector<int>& labels, int e) {
    const int u = problem.graph->tail[e], v = problem.graph->head[e];
    const T* table = problem.table(e);
    const T* from_u = table + labels[u] * n_labels_;
    const T* from_v = table + labels[v];
    const double here = from_u[labels[v]];
    double *hope_u = row(u), *hope_v = row(v), *share_u = share(2 * e), *share_v = share(2 * e + 1);
    for (std::size_t l = 0; l < n_labels_; ++l) {
      const double gain_u = from_v[l * n_labels_] - here;
      const double gain_v = from_u[l] - here;
      const bool moves = static_cast<int>(l) != labels[u] && static_cast<int>(l) != labels[v];
      const double half = moves ? ((table[l * n_labels_ + l] - here) - (gain_u + gain_v)) / 2 : 0;
      hope_u[l] += gain_u + std::max(half, 0.0);
      hope_v[l] += gain_v + std::max(half, 0.0);
      share_u[l] = share_v[l] = half;
    }
  }

  // Moves shares between the ends of an edge so that their hopes come as close to each other as they can.
  void balance(const Graph& graph, int e) {
    double *hope_u = row(graph.tail[e]), *hope_v = row(graph.head[e]);
    double *share_u = share(2 * e), *share_v = share(2 * e + 1);
    for (std::size_t l = 0; l < n_labels_; ++l) {
      const double wanted = (hope_u[l] - hope_v[l]) / 2;
      const double amount = std::min(std::max(wanted, -std::max(share_v[l], 0.0)), std::max(share_u[l], 0.0));
      hope_u[l] -= amount;
      hope_v[l] += amount;
      share_u[l] -= amount;
      share_v[l] += amount;
    }
  }

  // Raises the neighbour's gains by `shift` and lowers the couplings by as much. The neighbour's share pays for it
  // while it lasts, which leaves both hopes unchanged.
  static void shift(const double* __restrict shift, double* __restrict my_hope, double* __restrict their_hope,
                    double* __restrict mine, double* __restrict theirs, std::size_t n_labels) {
    for (std::size_t l = 0; l < n_labels; ++l) {
      const double coupling = mine[l] + theirs[l] - shift[l];
      const double total = std::max(coupling, 0.0);
      const double old_part = std::max(mine[l], 0.0);
      const double part = std::min(old_part, total);
      my_hope[l] += part - old_part;
      their_hope[l] += shift[l] + (total - part) - std::max(theirs[l], 0.0);
      mine[l] = coupling < 0 ? coupling / 2 : part;
      theirs[l] = coupling < 0 ? coupling / 2 : total - part;
    }
  }

  std::size_t n_labels_ = 0;
  std::vector<double> hope_;   // (V, L)
  std::vector<double> share_;  // (E, 2, L)
  std::vector<double> shift_;  // (L)
};

}  // namespace neuralfactors
