// Loss-augmented inference for one training graph after the other: forests by dynamic programming with an order made
// once, all else by the solver that `solve_batch` runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/input.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "linear/sample.hpp"
#include "linear/scores.hpp"
#include "solver.hpp"

namespace neuralfactors::linear {

class Oracle {
 public:
  virtual ~Oracle() = default;
  // Whether it reads a table for every edge of this sample, although they may be the same.
  virtual bool needs_tables(const Sample& sample) const = 0;
  // The labelling of highest score, with what is proved of it.
  virtual void decode(const Sample& sample, const Layout& layout, const Scores& scores, Interrupt& interrupt,
                      Outcome& out) = 0;
};

// The labels that TreeSolver finds, of finite scores.
class ForestDecoder {
 public:
  // Returns the score.
  double decode(const Sample& s, const Scores& scores, std::size_t n_labels, std::vector<int>& labels) {
    const std::vector<Forest::Step>& steps = s.forest.steps;
    n_labels_ = n_labels;
    up_.assign(scores.unary.begin(), scores.unary.end());
    message_.resize(n_labels);
    turned_of_ = nullptr;
    for (std::size_t k = steps.size(); k-- > 0;)
      if (steps[k].parent >= 0) send(steps[k], scores);
    labels.resize(s.n_nodes);
    double total = 0;
    for (const Forest::Step& step : steps) {
      double* here = up_.data() + step.node * n_labels;
      if (step.parent >= 0) add_column(step, scores, labels[step.parent], here);
      labels[step.node] = static_cast<int>(std::max_element(here, here + n_labels) - here);
      if (step.parent < 0) total += here[labels[step.node]];
    }
    return total;
  }

 private:
  std::size_t n_labels_ = 0;
  std::vector<double> up_, message_, turned_;
  const double* turned_of_ = nullptr;

  // The table of the edge with this node's labels as rows.
  const double* rows_of(const Forest::Step& step, const Scores& scores) {
    const double* t = scores.table(step.edge);
    if (step.from_tail) return t;
    if (t == turned_of_) return turned_.data();
    turned_.resize(n_labels_ * n_labels_);
    for (std::size_t b = 0; b < n_labels_; ++b)
      for (std::size_t a = 0; a < n_labels_; ++a) turned_[a * n_labels_ + b] = t[b * n_labels_ + a];
    turned_of_ = t;
    return turned_.data();
  }

  // Adds max_a up[node, a] + table[a, b] to up[parent, b].
  void send(const Forest::Step& step, const Scores& scores) {
    const double *t = rows_of(step, scores), *from = up_.data() + step.node * n_labels_;
    double *out = message_.data(), *to = up_.data() + step.parent * n_labels_;
    for (std::size_t b = 0; b < n_labels_; ++b) out[b] = from[0] + t[b];
    for (std::size_t a = 1; a < n_labels_; ++a) {
      const double score = from[a];
      const double* row = t + a * n_labels_;
      for (std::size_t b = 0; b < n_labels_; ++b) {
        const double value = score + row[b];
        out[b] = out[b] < value ? value : out[b];
      }
    }
    for (std::size_t b = 0; b < n_labels_; ++b) to[b] += out[b];
  }

  void add_column(const Forest::Step& step, const Scores& scores, int parent_label, double* here) const {
    const double* t = scores.table(step.edge);
    const std::size_t b = parent_label;
    for (std::size_t a = 0; a < n_labels_; ++a) here[a] += step.from_tail ? t[a * n_labels_ + b] : t[b * n_labels_ + a];
  }
};

class KernelOracle : public Oracle {
 public:
  explicit KernelOracle(const Options& options) : options_(options) {}

  bool needs_tables(const Sample& s) const override { return !is_direct(s); }

  void decode(const Sample& s, const Layout& layout, const Scores& scores, Interrupt& interrupt,
              Outcome& out) override {
    if (is_direct(s)) {
      out.score = out.bound = forest_.decode(s, scores, layout.n_labels, out.labels);
      out.status = Status::optimal;
      if (std::abs(out.score) <= ScoreFault::kLargest) return;
      throw Unsuitable("the scores of its labellings are beyond 1e200: scale features or node_weight down");
    }
    const InputGraph graph{s.edges,
                           0,
                           static_cast<int>(s.n_nodes),
                           static_cast<int>(s.n_edges),
                           static_cast<int>(layout.n_labels),
                           layout.n_labels * layout.n_labels};
    solver_.solve({graph, scores.unary.data(), scores.tables.data()}, nullptr, options_, interrupt, out);
  }

 private:
  Options options_;
  Solver<double> solver_;
  ForestDecoder forest_;

  bool is_direct(const Sample& s) const {
    return s.is_forest && (options_.method == Method::automatic || options_.method == Method::tree);
  }
};

}  // namespace neuralfactors::linear
