// Exact improvement of a labelling of a factor graph at some of its nodes, by variable elimination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/interrupt.hpp"
#include "core/random.hpp"
#include "higher_order/model.hpp"
#include "search/bucket_elimination.hpp"
#include "search/elimination_order.hpp"

namespace neuralfactors::higher_order {

class Elimination {
 public:
  explicit Elimination(const Model& model)
      : model_(model), all_(model.n_nodes), variable_(model.n_nodes, -1), met_(model.n_factors(), 0) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  const std::vector<int>& all() const { return all_; }

  // Entries of all tables if no node is frozen; infinite where that is out of reach.
  double cost_of_all() {
    collect(all_);
    return buckets_.plan_all(kEntries, kEntries) ? buckets_.total() : std::numeric_limits<double>::infinity();
  }

  // The labels of these nodes become the best ones given all others; returns how many nodes had to be frozen at their
  // present labels so that no table has more than max_table entries.
  int improve(const std::vector<int>& nodes, std::vector<int>& labels, Route route, double max_table, Random& random,
              Interrupt& interrupt) {
    collect(nodes);
    const int frozen = buckets_.plan(route, max_table, kEntries, random);
    for (int f : factors_) add(f, labels);
    buckets_.run([&](int v, int a) { return model_.row(nodes[v])[a]; }, [&] { interrupt.check(); });
    for (int v = 0; v < buckets_.n_variables(); ++v)
      if (!buckets_.is_frozen(v)) labels[nodes[v]] = buckets_.choice(v);
    return frozen;
  }

  double total() const { return buckets_.total(); }  // entries of all tables of the last call

 private:
  const Model& model_;
  std::vector<int> all_;       // (V) all nodes
  std::vector<int> variable_;  // (V) node -> variable, -1 when its label is given
  std::vector<int> met_;       // (F) in which call the factor was met last
  std::vector<int> members_;   // the nodes of the last call
  std::vector<int> factors_;   // that touch them
  std::vector<int> scope_;
  std::vector<std::size_t> entries_;
  int call_ = 0;
  BucketElimination<double, std::uint16_t> buckets_;

  void collect(const std::vector<int>& nodes) {
    for (int i : members_) variable_[i] = -1;
    members_ = nodes;
    factors_.clear();
    ++call_;
    std::vector<int> sizes;
    for (int i : nodes) {
      variable_[i] = static_cast<int>(sizes.size());
      sizes.push_back(model_.count(i));
      for (int k = model_.first_arc[i]; k < model_.first_arc[i + 1]; ++k) {
        const int f = model_.factor[model_.arcs[k]];
        if (met_[f] != call_) factors_.push_back(f);
        met_[f] = call_;
      }
    }
    buckets_.reset(sizes);
    for (int f : factors_) {
      find_scope(f, [](int) { return true; });
      buckets_.tie_all(scope_.data(), static_cast<int>(scope_.size()));
    }
  }

  // The variables of a factor that are wanted.
  template <class Wanted>
  void find_scope(int f, Wanted wanted) {
    scope_.clear();
    for (int arc = model_.begin[f]; arc < model_.begin[f + 1]; ++arc) {
      const int v = variable_[model_.nodes[arc]];
      if (v >= 0 && wanted(v)) scope_.push_back(v);
    }
  }

  // The part of a factor's table that agrees with the labels of nodes that are given or frozen.
  void add(int f, const std::vector<int>& labels) {
    find_scope(f, [&](int v) { return !buckets_.is_frozen(v); });
    if (scope_.empty()) return;
    find_entries(f, labels);
    buckets_.add(scope_.data(), static_cast<int>(scope_.size()), [&](std::vector<double>& table) {
      for (std::size_t entry : entries_) table.push_back(model_.tables[f][entry]);
    });
  }

  void find_entries(int f, const std::vector<int>& labels) {
    entries_.assign(1, 0);
    std::size_t step = 1, given = 0;
    for (int arc = model_.begin[f + 1]; arc-- > model_.begin[f];) {  // last axis fastest
      const int i = model_.nodes[arc], v = variable_[i];
      const std::size_t block = entries_.size();
      if (v < 0 || buckets_.is_frozen(v))
        given += step * labels[i];
      else
        for (int a = 1; a < model_.counts[arc]; ++a)
          for (std::size_t t = 0; t < block; ++t) entries_.push_back(entries_[t] + a * step);
      step *= static_cast<std::size_t>(model_.counts[arc]);
    }
    for (std::size_t& entry : entries_) entry += given;
  }
};

}  // namespace neuralfactors::higher_order
