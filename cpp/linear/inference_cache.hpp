// The last few labellings found for every sample, among which a violated constraint may be had without inference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/interrupt.hpp"
#include "linear/problem.hpp"
#include "linear/sample.hpp"
#include "linear/working_sets.hpp"

namespace neuralfactors::linear {

class InferenceCache {
 public:
  InferenceCache(LinearProblem& problem, std::size_t size) : problem_(problem), size_(size) {}

  const LinearProblem& problem() const { return problem_; }

  // Remembers one labelling a sample, forgetting the oldest.
  void store(const std::int32_t* labels) {
    if (kept_.size() == size_) kept_.erase(kept_.begin());
    kept_.emplace_back(labels, labels + problem_.node_ptr.back());
  }

  // The most violated labelling in store, sample by sample.
  void best(Interrupt& interrupt, std::int32_t* labels) {
    problem_.for_each(interrupt, [&](Worker&, std::size_t n, Interrupt&) {
      const Sample& s = problem_.samples[n];
      const std::size_t first = problem_.node_ptr[n];
      double highest = -std::numeric_limits<double>::infinity();
      for (const std::vector<Label>& all : kept_) {
        const Label* z = all.data() + first;
        const double value = s.loss(z) - s.product(problem_.layout, z, problem_.w.data());
        if (value <= highest) continue;
        highest = value;
        std::copy_n(z, s.n_nodes, labels + first);
      }
    });
  }

 private:
  LinearProblem& problem_;
  std::size_t size_;
  std::vector<std::vector<Label>> kept_;
};

}  // namespace neuralfactors::linear
