// Weights that must not be negative, or not positive.
//
// With w in such a cone, the dual of a structural SVM is sum alpha loss - 1/2 |w|^2 where w is the projection of
// v = sum alpha psi onto the cone: v with the wrong signs set to zero. The slopes of the dual are those of the
// unconstrained one at w. As a projection lengthens nothing, a step that counts with the curvature of v does not
// overshoot, and block solvers need not know of the constraints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuralfactors::linear {

class SignConstraints {
 public:
  SignConstraints() = default;

  // sign: (n) 1 for weights >= 0, -1 for weights <= 0, 0 for free ones.
  SignConstraints(const std::int8_t* sign, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      if (sign[i] != 0) held_.push_back({i, sign[i] > 0, 0.0});
  }

  // From w to v, to which constraints can be added.
  void lift(double* w) const {
    for (const Held& held : held_) w[held.at] = held.value;
  }

  // From v to w.
  void impose(double* v) {
    for (Held& held : held_) {
      held.value = v[held.at];
      v[held.at] = held.positive ? std::max(held.value, 0.0) : std::min(held.value, 0.0);
    }
  }

 private:
  struct Held {
    std::size_t at;
    bool positive;
    double value;  // of v
  };
  std::vector<Held> held_;
};

}  // namespace neuralfactors::linear
