// From the caller's arrays to a Problem on a simple graph: self-loops folded, parallel edges added, forbidden entries
// finite, penalties no larger than they need be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/input.hpp"
#include "core/problem.hpp"
#include "core/statistics.hpp"
#include "core/yardstick.hpp"

namespace neuralfactors {

template <class T>
class Prepared {
 public:
  Problem<T> problem;     // what the caller asked, forbidden entries being -inf
  Problem<T> finite;      // the same without entries that are too low to matter, and without -inf
  Statistics statistics;  // of `finite`
  bool forbidden = false;
  bool hopeless = false;     // some row or table is wholly forbidden
  double least_allowed = 0;  // no allowed labelling scores below this

  // Reads the edges; throws EdgeFault. Returns whether there are neither self-loops nor parallel edges.
  bool link(const Input<T>& in) {
    read_edges(in);
    return simple_ = is_simple();
  }

  // Call link() first. Throws ScoreFault, with the place in the caller's arrays.
  void build(const Input<T>& in) {
    problem = {&graph_, in.n_labels, in.unary, in.interaction, in.table_step};
    if (in.row_ptr) place(in);
    if (!simple_) {
      statistics.look(problem);  // the caller's own numbers must be valid before they are added up
      merge(in);
    }
    statistics.look(problem);
    forbidden = statistics.forbidden;
    hopeless = statistics.hopeless;
    noise_ = Yardstick::rounding_of(graph_.n_nodes + graph_.n_edges, statistics.top_size);
    least_allowed = statistics.top - std::max(statistics.range, noise_);
    finite = problem;
    if (forbidden && !hopeless) raise(penalty());
  }

  // A labelling that scores `regret` below the sum of the best entries is known, and no better one can use an entry
  // that lies further below the best of its row or table. Raises such entries where they are far lower than that, since
  // they cost the arithmetic its precision; returns whether `finite` has changed. Scores of labellings as good as the
  // known one do not change.
  bool clip(double regret) {
    const double depth = std::max(regret, noise_);
    if (!(regret > 0) || statistics.widest < kFarLower * depth) return false;
    raise(2 * depth);  // so that rounding cannot make them as good
    return true;
  }

 private:
  static constexpr double kFarLower = 8;  // a factor of 2 is needed, and a copy of all scores must be worth it
  Graph graph_;
  bool simple_ = true;
  double noise_ = 0;  // what rounding may change in a score
  std::vector<T> unary_, interaction_, finite_unary_, finite_interaction_;
  std::vector<int> mark_, merged_;
  std::vector<std::size_t> row_begin_, table_begin_;

  void place(const Input<T>& in) {
    row_begin_.resize(in.n_nodes + 1);
    table_begin_.resize(in.n_edges + 1);
    for (int i = 0; i <= in.n_nodes; ++i) row_begin_[i] = in.row_at(i);
    for (int e = 0; e <= in.n_edges; ++e) table_begin_[e] = in.table_at(e);
    problem.row_begin = row_begin_.data();
    problem.table_begin = table_begin_.data();
  }

  void read_edges(const Input<T>& in) {
    graph_.n_nodes = in.n_nodes;
    graph_.n_edges = in.n_edges;
    graph_.tail.resize(in.n_edges);
    graph_.head.resize(in.n_edges);
    for (int e = 0; e < in.n_edges; ++e) {
      const std::int64_t u = in.edges[2 * static_cast<std::size_t>(e)] - in.first_node;
      const std::int64_t v = in.edges[2 * static_cast<std::size_t>(e) + 1] - in.first_node;
      if (u < 0 || v < 0 || u >= in.n_nodes || v >= in.n_nodes) throw EdgeFault{e};
      graph_.tail[e] = static_cast<int>(u);
      graph_.head[e] = static_cast<int>(v);
    }
    graph_.link();
  }

  bool is_simple() {
    mark_.assign(graph_.n_nodes, -1);
    for (int i = 0; i < graph_.n_nodes; ++i) {
      mark_[i] = i;  // a self-loop meets its own mark
      for (int k = graph_.begin[i]; k < graph_.begin[i + 1]; ++k) {
        int& mark = mark_[graph_.arcs[k].node];
        if (mark == i) return false;
        mark = i;
      }
    }
    return true;
  }

  // Adds each self-loop's diagonal to its row and each further edge's table to that of the first between the same
  // nodes.
  void merge(const Input<T>& in) {
    Graph old = std::move(graph_);
    Problem<T> given = problem;
    given.graph = &old;
    unary_.assign(in.unary, in.unary + in.n_unary());
    graph_ = Graph{};
    graph_.n_nodes = old.n_nodes;
    mark_.assign(old.n_nodes, -1);    // neighbour -> edge of the new graph, valid for the node in hand
    merged_.assign(old.n_nodes, -1);  // neighbour -> node in hand
    interaction_.clear();
    std::vector<std::size_t> table_begin{0};
    for (int i = 0; i < old.n_nodes; ++i)
      for (int k = old.begin[i]; k < old.begin[i + 1]; ++k) {
        const Graph::Arc& arc = old.arcs[k];
        const int n_rows = given.count(i), n_columns = given.count(arc.node);
        if (arc.node == i) {  // listed twice, once from each end
          for (int a = 0; a < n_rows && arc.from_tail; ++a) unary_[given.row_at(i) + a] += given.slice(arc, a)[a];
          continue;
        }
        if (arc.node < i) continue;  // done from the other end
        if (merged_[arc.node] != i) {
          merged_[arc.node] = i;
          mark_[arc.node] = graph_.n_edges++;
          graph_.tail.push_back(i);
          graph_.head.push_back(arc.node);
          table_begin.push_back(table_begin.back() + static_cast<std::size_t>(n_rows) * n_columns);
          interaction_.resize(table_begin.back(), T(0));
        }
        T* sum = interaction_.data() + table_begin[mark_[arc.node]];
        for (int a = 0; a < n_rows; ++a)
          for (int b = 0; b < n_columns; ++b) *sum++ += static_cast<T>(given.slice(arc, b)[a]);
      }
    graph_.link();
    const std::size_t step = static_cast<std::size_t>(in.n_labels) * in.n_labels;
    problem = {&graph_, in.n_labels, unary_.data(), interaction_.data(), step, problem.row_begin};
    table_begin_.swap(table_begin);
    if (problem.ragged()) problem.table_begin = table_begin_.data();
  }

  // Of a problem with forbidden entries and no labelling known to be allowed: one forbidden entry must cost more than
  // all allowed entries together can gain, and much more than rounding can.
  double penalty() const {
    return statistics.range > 0 ? std::max(2 * statistics.range, 8 * noise_) : 1 + statistics.magnitude;
  }

  // Raises entries that lie more than `depth` below the best one of their row or table to that level, or to the nearest
  // that T can tell from the best one.
  void raise(double depth) {
    const int n_tables = problem.n_tables();
    finite_unary_.assign(problem.unary, problem.row(graph_.n_nodes));
    finite_interaction_.assign(problem.interaction, problem.interaction + problem.n_interaction());
    auto lift = [&](T* values, std::size_t count, double top, double& bottom) {
      const double floor = top - std::max(depth, 16.0 * std::numeric_limits<T>::epsilon() * std::abs(top));
      for (std::size_t k = 0; k < count; ++k)
        if (values[k] < floor) bottom = values[k] = static_cast<T>(floor);
    };
    for (int i = 0; i < graph_.n_nodes; ++i)
      lift(finite_unary_.data() + problem.row_at(i), problem.count(i), statistics.row_max[i], statistics.row_min[i]);
    for (int e = 0; e < n_tables; ++e)
      lift(finite_interaction_.data() + problem.table_at(e), problem.table_size(e), statistics.table_max[e],
           statistics.table_min[e]);
    for (int e = n_tables; e < graph_.n_edges; ++e) statistics.table_min[e] = statistics.table_min[0];
    finite.unary = finite_unary_.data();
    finite.interaction = finite_interaction_.data();
    statistics.add_up();
  }
};

}  // namespace neuralfactors
