// What is asked of a solver and what comes back.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace neuralfactors {

enum class Method { automatic, alpha_expansion, trws, bp, icm, tree, maxflow, exhaustive };
constexpr std::array kMethodNames{"auto", "alpha-expansion", "trws", "bp", "icm", "tree", "maxflow", "exhaustive"};

// The method cannot take this problem; the text says why.
struct Unsuitable : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

enum class Status : std::int8_t {
  optimal,      // proved: no labelling scores more than the rounding of scores allows
  within_tol,   // no proof, but bound and score differ by no more than the tolerance
  approximate,  // an allowed labelling, no proof
  infeasible,   // proved: every labelling is forbidden
  unresolved,   // no allowed labelling was found, nor a proof that there is none
};

struct Options {
  Method method = Method::automatic;
  double tolerance = 1e-4;  // of the gap between bound and score, relative to the regret of the labelling
  int max_iterations = 0;   // 0: the method's own budget
  std::uint64_t seed = 0;
  bool reduced_costs = false;
  double time_limit = std::numeric_limits<double>::infinity();  // seconds; checked between steps
  bool progress = false;                                        // whether to tell the caller of improvements

  // A tolerance beside which float32's errors are nothing: it takes no proof.
  bool is_coarse() const { return tolerance > 2.5e-3; }
};

struct Outcome {
  std::vector<int> labels;  // (V)
  double score = -std::numeric_limits<double>::infinity();
  double bound = std::numeric_limits<double>::infinity();
  Status status = Status::approximate;
  int iterations = 0;
  std::vector<double> reduced_costs;  // (V, L) when asked for
};

}  // namespace neuralfactors
