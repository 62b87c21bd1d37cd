// Alpha-expansion for arbitrary tables: a move offers one label to all nodes and takes what roof duality can decide.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/deadline.hpp"
#include "core/interrupt.hpp"
#include "core/problem.hpp"
#include "expansion/binary_move.hpp"
#include "expansion/gains.hpp"
#include "expansion/move_gain.hpp"
#include "expansion/reparametrise.hpp"

namespace neuralfactors {

// A label is tried only around nodes that may gain by it and have changed, or seen a neighbour change, since the
// last time, and the most promising label comes first: few moves fail, and failing costs little. Reusable: keeps its
// memory from one problem to the next.
class AlphaExpansion {
 public:
  // Whether its arrays, which have room for every label at every node and edge, are not far larger than the tables.
  template <class T>
  static bool suits(const Problem<T>& problem) {
    const double ends = problem.graph->n_nodes + 2.0 * problem.graph->n_edges;
    return !problem.ragged() ||
           ends * problem.n_labels <
               kRoom * static_cast<double>(problem.row_at(problem.graph->n_nodes) + problem.n_interaction());
  }

  // Improves `labels` until no label can expand, or for as many moves as max_sweeps rounds over the labels have;
  // returns the number of moves tried.
  template <class T>
  int run(const Problem<T>& problem, std::vector<int>& labels, int max_sweeps, Interrupt& interrupt,
          const Deadline& deadline) {
    start_ = labels;
    reset(problem, labels);
    int n_moves = 0;
    for (int label = next_label(); label >= 0 && n_moves / problem.n_labels < max_sweeps; label = next_label()) {
      interrupt.check();
      if (deadline.passed()) break;
      ++n_moves;
      expand(problem, labels, label, interrupt);
    }
    // Moves are judged by differences, more exactly than by the two sums compared here; the sums are what callers see.
    if (problem.score(labels.data()) < problem.score(start_.data())) labels = start_;
    return n_moves;
  }

 private:
  static constexpr double kRoom = 4;
  static constexpr std::size_t kMany = 4;  // a move of more than a 4th of all nodes measures all gains afresh

  struct Queue {
    std::vector<int> nodes;  // that may gain by the label
    double weight = 0;       // sum of these excesses
    int tried = -1;          // n_changes_ when the label was last tried
  };

  template <class T>
  void reset(const Problem<T>& problem, const std::vector<int>& labels) {
    gains_.reset(problem, labels);
    binary_move_.reset(problem.graph->n_nodes);
    n_changes_ = 0;
    queues_.resize(problem.n_labels);
    for (Queue& queue : queues_) {
      queue.nodes.clear();
      queue.tried = -1;
    }
    queued_.assign(static_cast<std::size_t>(problem.graph->n_nodes) * problem.n_labels, false);
    is_touched_.assign(problem.graph->n_nodes, false);
    for (int i = 0; i < problem.graph->n_nodes; ++i) enqueue(i);
    weigh();
  }

  void enqueue(int i, int label) {
    char& queued = queued_[i * queues_.size() + label];
    if (!(gains_.of(i, label) > 0) || queued) return;
    queued = true;
    queues_[label].nodes.push_back(i);
  }

  void enqueue(int i) {
    for (std::size_t label = 0; label < queues_.size(); ++label) enqueue(i, static_cast<int>(label));
  }

  // Sums up the excesses of every label; a failing move changes only those of its own label.
  void weigh() {
    for (std::size_t label = 0; label < queues_.size(); ++label) {
      Queue& queue = queues_[label];
      queue.weight = 0;
      for (int i : queue.nodes) queue.weight += std::max(gains_.of(i, static_cast<int>(label)), 0.0);
    }
  }

  // The label with the largest excesses among those not tried since the last change; -1 when there is none.
  int next_label() const {
    int best = -1;
    for (int label = 0; label < static_cast<int>(queues_.size()); ++label) {
      const Queue& queue = queues_[label];
      if (queue.tried == n_changes_ || !(queue.weight > 0)) continue;
      if (best < 0 || queue.weight > queues_[best].weight) best = label;
    }
    return best;
  }

  template <class T>
  void expand(const Problem<T>& problem, std::vector<int>& labels, int label, Interrupt& interrupt) {
    const Graph& graph = *problem.graph;
    const Move move = gains_.move(label);
    Queue& queue = queues_[label];
    queue.tried = n_changes_;
    for (int i : queue.nodes) queued_[i * queues_.size() + label] = false;
    binary_move_.start(graph, move, queue.nodes, interrupt);
    queue.nodes.clear();
    const auto chosen = [&](int i) { return binary_move_.switches(i); };
    const auto alternative = [label](int) { return label; };
    accepted_.clear();
    while (binary_move_.next(graph, move, switches_, interrupt)) {
      if (improves(problem, labels, switches_, chosen, alternative)) {
        accepted_.insert(accepted_.end(), switches_.begin(), switches_.end());
      }
    }
    // Where roof duality could not decide, it may once another label has moved.
    for (int i : binary_move_.active()) enqueue(i, label);
    if (!accepted_.empty()) relabel(problem, labels, label);
  }

  // Moves the accepted nodes to their new label and looks again at the nodes that this concerns.
  template <class T>
  void relabel(const Problem<T>& problem, std::vector<int>& labels, int label) {
    const int n_nodes = problem.graph->n_nodes;
    if (kMany * accepted_.size() > static_cast<std::size_t>(n_nodes)) {  // then little of what was shared out is of use
      for (int i : accepted_) labels[i] = label;
      gains_.reset(problem, labels);
      for (int i = 0; i < n_nodes; ++i) enqueue(i);
    } else {
      for (int i : accepted_) gains_.relabel(problem, labels, i, label);
      enqueue_around_accepted(*problem.graph);
    }
    ++n_changes_;
    weigh();
  }

  void enqueue_around_accepted(const Graph& graph) {
    touched_.clear();
    const auto touch = [&](int i) {
      if (!is_touched_[i]) touched_.push_back(i);
      is_touched_[i] = true;
    };
    for (int i : accepted_) {
      touch(i);
      for (int a = graph.begin[i]; a < graph.begin[i + 1]; ++a) touch(graph.arcs[a].node);
    }
    for (int i : touched_) {
      is_touched_[i] = false;
      enqueue(i);
    }
  }

  Gains gains_;
  BinaryMove binary_move_;
  std::vector<Queue> queues_;  // (L)
  std::vector<char> queued_;   // (V, L) whether the node is in the label's queue
  int n_changes_ = 0;          // successful moves
  std::vector<int> start_, switches_, accepted_, touched_;
  std::vector<char> is_touched_;  // (V)
};

}  // namespace neuralfactors
