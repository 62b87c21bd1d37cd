// The finite copy of a factor graph on which messages are passed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "core/factor_graph.hpp"

namespace neuralfactors::higher_order {

// Made from a FactorGraph so that every labelling keeps its score, up to `offset`, and message passing is safe:
//  - factors within the scope of another one are added to it, and those of one node to the unary: fewer factors, a
//    tighter relaxation;
//  - every row and table has maximum 0, so that large offsets cost no precision;
//  - -inf is replaced by `-penalty`. An allowed labelling totals at least -range here and a forbidden one at most
//    -penalty, so a bound below -range proves that every labelling is forbidden.
struct Model : Tables<std::vector<double>> {
  double offset = 0;  // the score of the graph is that of the model plus this, wherever a labelling is allowed
  double range = 0;
  double penalty = 0;
  bool infeasible = false;             // a row or a table is wholly forbidden; the scores are then not to be used
  std::vector<double> depth;           // (F); the largest magnitude in a table
  std::vector<int> factor;             // (A); the factor of an arc
  std::vector<std::size_t> arc_begin;  // (A + 1); where its messages begin
  std::vector<int> first_arc;  // (V + 1); the arcs of node i are arcs[first_arc[i]] .. arcs[first_arc[i + 1] - 1]
  std::vector<int> arcs;       // (A)

  explicit Model(const FactorGraph& graph) {
    n_nodes = graph.n_nodes;
    unary = graph.unary;
    row_begin = graph.row_begin;
    merge(graph);
    link();
    normalise();
    if (!infeasible) penalise();
  }

  // Distance in the factor's table between neighbouring labels of an arc's node.
  std::size_t stride(int arc) const {
    std::size_t step = 1;
    for (int k = arc + 1; k < begin[factor[arc] + 1]; ++k) step *= static_cast<std::size_t>(counts[k]);
    return step;
  }

  // At or above this, a labelling or a bound may be allowed; below, it is surely forbidden.
  double least_allowed() const { return -(range + penalty) / 2; }

  // Entries of tables that a sweep of messages there and back looks at.
  double sweep_cost() const {
    double entries = 0;
    for (int f = 0; f < n_factors(); ++f) entries += 2.0 * order(f) * static_cast<double>(tables[f].size());
    return entries;
  }

  // An allowed labelling of total `-regret` is known, and no better one can use an entry below that. Raises such
  // entries, which cost the arithmetic its precision.
  void clip(double regret) {
    if (!(regret > 0) || 2 * regret >= penalty) return;
    range = regret;
    penalty = 2 * regret;
    raise(-penalty);
  }

 private:
  // The larger factors first, so that whatever can hold a factor is there before it.
  void merge(const FactorGraph& graph) {
    std::vector<int> by_order(graph.n_factors());
    std::iota(by_order.begin(), by_order.end(), 0);
    std::stable_sort(by_order.begin(), by_order.end(), [&](int a, int b) { return graph.order(a) > graph.order(b); });
    std::vector<std::vector<int>> touching(n_nodes);  // the factors kept so far, by node
    for (int f : by_order) {
      if (graph.order(f) == 1) {
        const int node = graph.nodes_of(f)[0];
        double* scores = row(node);
        for (int a = 0; a < count(node); ++a) scores[a] += graph.tables[f][a];
        continue;
      }
      int host = find_host(graph, f, touching);
      if (host < 0) {
        host = n_factors();
        nodes.insert(nodes.end(), graph.nodes_of(f), graph.nodes_of(f) + graph.order(f));
        counts.insert(counts.end(), graph.counts.begin() + graph.begin[f], graph.counts.begin() + graph.begin[f + 1]);
        begin.push_back(static_cast<int>(nodes.size()));
        tables.emplace_back(graph.tables[f], graph.tables[f] + graph.table_size(f));
        for (int k = 0; k < graph.order(f); ++k) touching[graph.nodes_of(f)[k]].push_back(host);
      } else {
        add_table(graph, f, host);
      }
    }
  }

  // A kept factor over all the nodes of f, or -1; only the node with the fewest factors needs a search.
  int find_host(const FactorGraph& graph, int f, const std::vector<std::vector<int>>& touching) const {
    const int* scope = graph.nodes_of(f);
    const int* scope_end = scope + graph.order(f);
    const int rarest =
        *std::min_element(scope, scope_end, [&](int a, int b) { return touching[a].size() < touching[b].size(); });
    for (int host : touching[rarest]) {
      auto inside = [&](int node) {
        return std::find(nodes.begin() + begin[host], nodes.begin() + begin[host + 1], node) !=
               nodes.begin() + begin[host + 1];
      };
      if (std::all_of(scope, scope_end, inside)) return host;
    }
    return -1;
  }

  // tables[host] += table of f, spread over the axes that f lacks.
  void add_table(const FactorGraph& graph, int f, int host) {
    std::vector<std::size_t> step(order(host), 0);  // by axis of the host: how far its label moves within f's table
    std::size_t stride = 1;
    for (int k = graph.order(f) - 1; k >= 0; --k) {
      const int node = graph.nodes_of(f)[k];
      const auto place = std::find(nodes.begin() + begin[host], nodes.begin() + begin[host + 1], node);
      step[place - nodes.begin() - begin[host]] = stride;
      stride *= static_cast<std::size_t>(count(node));
    }
    std::vector<int> label(order(host), 0);
    std::size_t source = 0;
    for (double& value : tables[host]) {
      value += graph.tables[f][source];
      for (int k = order(host) - 1; k >= 0; --k) {  // the next entry of the host in C order
        const int n_labels = counts[begin[host] + k];
        source += step[k];
        if (++label[k] < n_labels) break;
        source -= step[k] * n_labels;
        label[k] = 0;
      }
    }
  }

  void link() {
    factor.resize(nodes.size());
    first_arc.assign(n_nodes + 1, 0);
    arc_begin.assign(1, 0);
    for (int n_labels : counts) arc_begin.push_back(arc_begin.back() + n_labels);
    for (int f = 0; f < n_factors(); ++f)
      for (int arc = begin[f]; arc < begin[f + 1]; ++arc) {
        factor[arc] = f;
        ++first_arc[nodes[arc] + 1];
      }
    for (int i = 0; i < n_nodes; ++i) first_arc[i + 1] += first_arc[i];
    arcs.resize(nodes.size());
    std::vector<int> next(first_arc.begin(), first_arc.end() - 1);
    for (int arc = 0; arc < static_cast<int>(nodes.size()); ++arc) arcs[next[nodes[arc]]++] = arc;
  }

  void normalise() {
    long double total = 0, spread = 0;
    auto shift = [&](double* values, std::size_t size) {
      const double top = *std::max_element(values, values + size);
      if (top == -std::numeric_limits<double>::infinity()) {
        infeasible = true;
        return;
      }
      double least = 0;
      for (std::size_t k = 0; k < size; ++k) {
        values[k] -= top;
        if (!std::isfinite(values[k])) continue;
        least = std::min(least, values[k]);
      }
      total += top;
      spread -= least;
    };
    for (int i = 0; i < n_nodes; ++i) shift(row(i), count(i));
    for (auto& table : tables) shift(table.data(), table.size());
    offset = static_cast<double>(total);
    range = static_cast<double>(spread);
  }

  void penalise() {
    penalty = range > 0 ? 2 * range : 1;
    raise(-penalty);
  }

  // Brings all entries up to `floor`, -inf included.
  void raise(double floor) {
    auto lift = [&](double& value) { value = std::max(value, floor); };
    std::for_each(unary.begin(), unary.end(), lift);
    depth.clear();
    for (auto& table : tables) {
      std::for_each(table.begin(), table.end(), lift);
      depth.push_back(-*std::min_element(table.begin(), table.end()));
    }
  }
};

}  // namespace neuralfactors::higher_order
