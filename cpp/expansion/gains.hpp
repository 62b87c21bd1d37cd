// What every node could gain by taking any other label: the expansion moves of all labels at once, kept up to date.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/problem.hpp"
#include "expansion/reparametrise.hpp"

namespace neuralfactors {

// For label l, the move that offers l to every node; see Move for excesses and residuals. A change of labels alters the
// moves of all labels, but only around the node and mostly in a way that leaves the residuals as they were.
class Gains {
 public:
  // Measures the moves of all labels from scratch and balances them. A node that does not have a label has next to
  // infinitely much to lose by it.
  template <class T>
  void reset(const Problem<T>& problem, const std::vector<int>& labels) {
    n_labels_ = problem.n_labels;
    excess_.resize(problem.graph->n_nodes * n_labels_);
    residual_.resize(2 * problem.graph->n_edges * n_labels_);
    shift_.resize(n_labels_);
    for (int i = 0; i < problem.graph->n_nodes; ++i) {
      const T* scores = problem.row(i);
      const double here = scores[labels[i]];
      double* excess = row(i);
      const int n = problem.count(i);
      for (int l = 0; l < n; ++l) excess[l] = scores[l] - here;
      std::fill(excess + n, excess + n_labels_, kNever);
    }
    for (int e = 0; e < problem.graph->n_edges; ++e) measure(problem, labels, e);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (int e = 0; e < problem.graph->n_edges; ++e) balance(*problem.graph, e);
    }
  }

  Move move(int label) { return {excess_.data() + label, residual_.data() + label, n_labels_}; }
  double of(int node, int label) const { return excess_[node * n_labels_ + label]; }

  // Changes the label of a node, in `labels` and in everything that depends on it.
  template <class T>
  void relabel(const Problem<T>& problem, std::vector<int>& labels, int i, int label) {
    const Graph& graph = *problem.graph;
    for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) {
      const Graph::Arc& arc = graph.arcs[a];
      const int y = labels[arc.node], n_theirs = problem.count(arc.node), n = std::min(problem.count(i), n_theirs);
      const Graph::Arc back{arc.edge, !arc.from_tail, i};
      const auto before = problem.slice(back, labels[i]), after = problem.slice(back, label);
      const double level = after[y] - before[y];
      for (int l = 0; l < n_theirs; ++l) shift_[l] = (after[l] - before[l]) - level;
      double* mine = residual(Move::slot_of(arc));
      double* theirs = residual(Move::slot_of(arc) ^ 1);
      if (label < n) shift_[label] = mine[label] + theirs[label];  // so that its coupling is exactly 0
      shift(shift_.data(), row(i), row(arc.node), mine, theirs, n);
      for (int l = n; l < n_theirs; ++l) row(arc.node)[l] += shift_[l];  // which cannot be coupled
    }
    // There are no residuals at the new label any more: its excess is what the change alone has gained.
    double* excess = row(i);
    const double level = excess[label];
    for (int l = 0; l < problem.count(i); ++l) excess[l] -= level;
    labels[i] = label;
  }

 private:
  static constexpr int kSweeps = 4;         // they cost little, and what they settle needs no search
  static constexpr double kNever = -1e300;  // finite, as differences are taken

  double* row(int node) { return excess_.data() + node * n_labels_; }
  double* residual(int slot) { return residual_.data() + slot * n_labels_; }

  // Adds the gains of an edge to the excesses of its ends and gives each of them half of the couplings.
  template <class T>
  void measure(const Problem<T>& problem, const std::vector<int>& labels, int e) {
    const int u = problem.graph->tail[e], v = problem.graph->head[e];
    const int n_u = problem.count(u), n_v = problem.count(v), n = std::min(n_u, n_v);
    const std::size_t step = n_v;
    const T* table = problem.table(e);
    const T* from_u = table + labels[u] * step;
    const T* from_v = table + labels[v];
    const double here = from_u[labels[v]];
    double *excess_u = row(u), *excess_v = row(v), *residual_u = residual(2 * e), *residual_v = residual(2 * e + 1);
    for (int l = 0; l < n; ++l) {
      const double gain_u = from_v[l * step] - here;
      const double gain_v = from_u[l] - here;
      const bool moves = l != labels[u] && l != labels[v];
      const double half = moves ? ((table[l * step + l] - here) - (gain_u + gain_v)) / 2 : 0;
      excess_u[l] += gain_u + std::max(half, 0.0);
      excess_v[l] += gain_v + std::max(half, 0.0);
      residual_u[l] = residual_v[l] = half;
    }
    for (int l = n; l < n_u; ++l) excess_u[l] += from_v[l * step] - here;
    for (int l = n; l < n_v; ++l) excess_v[l] += from_u[l] - here;
    std::fill(residual_u + n, residual_u + n_labels_, 0.0);
    std::fill(residual_v + n, residual_v + n_labels_, 0.0);
  }

  // Moves residuals between the ends of an edge so that their excesses come as close to each other as they can.
  void balance(const Graph& graph, int e) {
    double *excess_u = row(graph.tail[e]), *excess_v = row(graph.head[e]);
    double *residual_u = residual(2 * e), *residual_v = residual(2 * e + 1);
    for (std::size_t l = 0; l < n_labels_; ++l) {
      const double wanted = (excess_u[l] - excess_v[l]) / 2;
      const double amount = std::min(std::max(wanted, -std::max(residual_v[l], 0.0)), std::max(residual_u[l], 0.0));
      excess_u[l] -= amount;
      excess_v[l] += amount;
      residual_u[l] -= amount;
      residual_v[l] += amount;
    }
  }

  // Raises the neighbour's gains by `shift` and lowers the couplings by as much. The neighbour's residual pays for it
  // while it lasts, which leaves both excesses unchanged.
  static void shift(const double* __restrict shift, double* __restrict my_excess, double* __restrict their_excess,
                    double* __restrict mine, double* __restrict theirs, int n) {
    for (int l = 0; l < n; ++l) {
      const double coupling = mine[l] + theirs[l] - shift[l];
      const double total = std::max(coupling, 0.0);
      const double old_part = std::max(mine[l], 0.0);
      const double part = std::min(old_part, total);
      my_excess[l] += part - old_part;
      their_excess[l] += shift[l] + (total - part) - std::max(theirs[l], 0.0);
      mine[l] = coupling < 0 ? coupling / 2 : part;
      theirs[l] = coupling < 0 ? coupling / 2 : total - part;
    }
  }

  std::size_t n_labels_ = 0;
  std::vector<double> excess_;    // (V, L)
  std::vector<double> residual_;  // (E, 2, L)
  std::vector<double> shift_;     // (L)
};

}  // namespace neuralfactors
