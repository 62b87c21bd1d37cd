// The dual of an N-slack structural SVM: per sample, the labellings found so far and their weights alpha.
//
// Maximise sum alpha_nk loss_nk - 1/2 |w|^2 with w = sum alpha_nk psi_nk, alpha >= 0 and sum_k alpha_nk = C/N for every
// n, where entry 0 of each sample is its true labelling, with psi = 0 and loss = 0. Steps are those of Lacoste-Julien
// et al., "Block-coordinate Frank-Wolfe optimization for structural SVMs" (2013); the corrective ones optimise all
// weights of the sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"
#include "linear/sample.hpp"
#include "linear/scores.hpp"
#include "linear/simplex.hpp"

namespace neuralfactors::linear {

using Label = std::uint16_t;

// The constraints of one sample, without its true labelling, which needs no more than its weight.
struct Block {
  std::vector<Label> labellings;  // (K - 1, V)
  std::vector<double> loss;       // (K)
  std::vector<double> alpha;      // (K)
  std::vector<double> gram;       // (K, K) products of the psi, where they are wanted
};

class WorkingSets {
 public:
  // With with_gram the products of constraints are kept, which solve_block() needs.
  WorkingSets(LinearProblem& problem, double C, bool with_gram)
      : problem_(problem),
        share_(C / static_cast<double>(problem.samples.size())),
        with_gram_(with_gram),
        blocks_(problem.samples.size()),
        scratch_(problem.layout.dim(), 0.0) {
    for (Block& block : blocks_) block = {{}, {0.0}, {share_}, std::vector<double>(with_gram ? 1 : 0, 0.0)};
  }

  const LinearProblem& problem() const { return problem_; }

  std::size_t n_constraints() const {
    return std::accumulate(blocks_.begin(), blocks_.end(), std::size_t{0},
                           [](std::size_t sum, const Block& block) { return sum + block.alpha.size() - 1; });
  }

  // Value of the dual at alpha, a lower bound on the objective.
  double dual() const {
    const std::vector<double>& w = problem_.w;
    return dual_linear_ - 0.5 * std::inner_product(w.begin(), w.end(), w.begin(), 0.0);
  }

  // Where the labelling z stands in the block of sample n; it is added, without weight, if it is new.
  template <class L>
  std::size_t position(std::size_t n, const L* z) {
    const Sample& s = problem_.samples[n];
    Block& block = blocks_[n];
    const std::size_t size = block.alpha.size();
    if (std::equal(s.y, s.y + s.n_nodes, z)) return 0;
    for (std::size_t k = 1; k < size; ++k)
      if (std::equal(labelling(n, k), labelling(n, k) + s.n_nodes, z)) return k;
    block.labellings.insert(block.labellings.end(), z, z + s.n_nodes);
    block.loss.push_back(s.loss(z));
    block.alpha.push_back(0);
    if (with_gram_) extend_gram(n);
    return size;
  }

  const Block& block(std::size_t n) const { return blocks_[n]; }

  // Gives `count` labellings (count, V) of sample n, which has none yet, their weights; the true one keeps the rest.
  template <class L>
  void restore(std::size_t n, const L* labellings, const double* alpha, std::size_t count) {
    std::vector<double> weight(1, 0.0);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = position(n, labellings + k * problem_.samples[n].n_nodes);
      weight.resize(std::max(weight.size(), at + 1), 0.0);
      if (at > 0) weight[at] += alpha[k];
    }
    change_ = weight;
    change_[0] = -std::accumulate(weight.begin(), weight.end(), 0.0);
    move(n);
  }

  // Finds the most violated constraint of sample n, then gives all that were found for it their best weights.
  void corrective_step(std::size_t n, Interrupt& interrupt) {
    const Worker& found = problem_.decode(n, interrupt);
    position(n, found.outcome.labels.data());
    take_gradient(n, found.scores);
    solve_block(n);
    prune(n);
  }

  // Moves the weights of sample n towards its most violated constraint, as far as the dual grows.
  void frank_wolfe_step(std::size_t n, Interrupt& interrupt) {
    const Worker& found = problem_.decode(n, interrupt);
    const std::size_t towards = position(n, found.outcome.labels.data());
    take_gradient(n, found.scores);
    const Block& block = blocks_[n];
    change_.resize(block.alpha.size());
    for (std::size_t k = 0; k < change_.size(); ++k) change_[k] = (k == towards ? share_ : 0) - block.alpha[k];
    const double gain = std::inner_product(change_.begin(), change_.end(), gradient_.begin(), 0.0);
    if (gain > 0) {
      const double curvature = squared_length(n);
      if (curvature > gain)
        for (double& entry : change_) entry *= gain / curvature;
      move(n);
    }
    prune(n);
  }

  // How much the dual was short of its maximum over the weights of sample n, which now have their best values.
  double optimise(std::size_t n) {
    const Block& block = blocks_[n];
    if (block.alpha.size() == 1) return 0;
    find_products(n, problem_.w.data());
    gradient_.assign(1, 0.0);
    for (std::size_t k = 1; k < block.alpha.size(); ++k) gradient_.push_back(block.loss[k] - products_[k]);
    return solve_block(n);
  }

  // Forgets the labellings of sample n that carry no weight.
  void prune(std::size_t n) {
    Block& block = blocks_[n];
    const std::size_t size = block.alpha.size(), n_nodes = problem_.samples[n].n_nodes;
    if (std::none_of(block.alpha.begin() + 1, block.alpha.end(), [](double a) { return a <= 0; })) return;
    std::vector<std::size_t> keep{0};
    for (std::size_t k = 1; k < size; ++k)
      if (block.alpha[k] > 0) keep.push_back(k);
    for (std::size_t k = 0; k < keep.size(); ++k) {
      block.alpha[k] = block.alpha[keep[k]];
      block.loss[k] = block.loss[keep[k]];
      if (k > 0 && keep[k] != k) std::copy_n(labelling(n, keep[k]), n_nodes, labelling(n, k));
      for (std::size_t j = 0; with_gram_ && j < keep.size(); ++j)
        block.gram[k * keep.size() + j] = block.gram[keep[k] * size + keep[j]];
    }
    block.alpha.resize(keep.size());
    block.loss.resize(keep.size());
    block.labellings.resize((keep.size() - 1) * n_nodes);
    if (with_gram_) block.gram.resize(keep.size() * keep.size());
  }

 private:
  LinearProblem& problem_;
  double share_;
  bool with_gram_;
  std::vector<Block> blocks_;
  double dual_linear_ = 0;       // sum of alpha loss
  std::vector<double> scratch_;  // (dim) zero between calls
  std::vector<double> gradient_, change_, linear_, products_;
  Scores scores_;

  Label* labelling(std::size_t n, std::size_t k) {
    return blocks_[n].labellings.data() + (k - 1) * problem_.samples[n].n_nodes;
  }

  // The last constraint's products with all, itself included.
  void extend_gram(std::size_t n) {
    Block& block = blocks_[n];
    const Sample& s = problem_.samples[n];
    const std::size_t size = block.alpha.size(), last = size - 1;
    std::vector<double> gram(size * size, 0.0);
    for (std::size_t k = 0; k < last; ++k) std::copy_n(&block.gram[k * last], last, &gram[k * size]);
    s.add(problem_.layout, labelling(n, last), 1.0, scratch_.data());
    find_products(n, scratch_.data());
    for (std::size_t k = 1; k < size; ++k) gram[k * size + last] = gram[last * size + k] = products_[k];
    s.clear(problem_.layout, labelling(n, last), scratch_.data());
    block.gram = std::move(gram);
  }

  // products_[k] = <psi_k, vector>. Features are read for every constraint, or once for all labels if those are fewer.
  void find_products(std::size_t n, const double* vector) {
    const Sample& s = problem_.samples[n];
    products_.assign(blocks_[n].alpha.size(), 0.0);
    const bool by_scores = products_.size() > problem_.layout.n_labels;
    if (by_scores) scores_.compute(s, problem_.layout, vector, false, false);
    for (std::size_t k = 1; k < products_.size(); ++k)
      products_[k] = by_scores ? -scores_.violation(s, problem_.layout, labelling(n, k))
                               : s.product(problem_.layout, labelling(n, k), vector);
  }

  // Slopes of the dual in the weights of sample n, from its scores under the present w.
  void take_gradient(std::size_t n, const Scores& scores) {
    gradient_.assign(1, 0.0);
    for (std::size_t k = 1; k < blocks_[n].alpha.size(); ++k)
      gradient_.push_back(scores.violation(problem_.samples[n], problem_.layout, labelling(n, k)));
  }

  double solve_block(std::size_t n) {
    const Block& block = blocks_[n];
    const std::vector<double>& alpha = block.alpha;
    const std::size_t size = alpha.size();
    const double reached = std::inner_product(alpha.begin(), alpha.end(), gradient_.begin(), 0.0);
    const double gap = share_ * *std::max_element(gradient_.begin(), gradient_.end()) - reached;
    linear_ = gradient_;
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) linear_[i] += block.gram[i * size + j] * alpha[j];
    change_ = alpha;
    // A few moves do: by the next pass the other samples will have changed the problem. Of large graphs there are few
    // others, and moves cost little beside their inference.
    const std::size_t moves = std::max(size, problem_.samples[n].n_nodes / 32);
    maximise_on_simplex(block.gram.data(), linear_.data(), change_.data(), size, 1e-7, moves);
    for (std::size_t k = 0; k < size; ++k) change_[k] -= alpha[k];
    move(n);
    return gap;
  }

  // |sum_k change_k psi_k|^2
  double squared_length(std::size_t n) {
    const Sample& s = problem_.samples[n];
    double squares = 0;
    for (std::size_t k = 1; k < change_.size(); ++k)
      s.add(problem_.layout, labelling(n, k), change_[k], scratch_.data());
    for (std::size_t k = 1; k < change_.size(); ++k)
      squares += s.clear(problem_.layout, labelling(n, k), scratch_.data());
    return squares;
  }

  // Adds change_ to the weights of sample n, and to w and the dual what follows from it.
  void move(std::size_t n) {
    Block& block = blocks_[n];
    problem_.signs.lift(problem_.w.data());
    for (std::size_t k = 0; k < change_.size(); ++k) {
      if (change_[k] == 0) continue;
      if (k > 0) problem_.samples[n].add(problem_.layout, labelling(n, k), change_[k], problem_.w.data());
      dual_linear_ += change_[k] * block.loss[k];
      block.alpha[k] += change_[k];
    }
    problem_.signs.impose(problem_.w.data());
  }
};

}  // namespace neuralfactors::linear
