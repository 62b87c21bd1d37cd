// Method `bp`: damped max-product belief propagation, the best rounded labelling kept.
#pragma once

#include <limits>

#include "messages/relaxation.hpp"
#include "search/icm.hpp"
#include "task.hpp"

namespace neuralfactors {

constexpr float kDamping = 0.3f;
constexpr int kBpIterations = 50, kBpPatience = 10;

// Sweeps there and back until none of `patience` in a row has found a better labelling, or the budget is spent.
template <class T>
void iterate_bp(Task<T>& task, Relaxation<T>& relaxation, int budget, int patience) {
  relaxation.start_max_product();
  for (int k = 0, since = 0; k < budget && since < patience && !task.optimal() && !task.out_of_time(); ++k) {
    since = relaxation.max_product_sweep(kDamping) ? 0 : since + 1;
    relaxation.max_product_sweep(kDamping);
    ++task.out.iterations;
  }
}

template <class T>
void solve_bp(Task<T>& task) {
  Relaxation<T> relaxation(task, build_model(task), false);
  iterate_bp(task, relaxation, task.budget(kBpIterations),
             task.deadline.limited() ? std::numeric_limits<int>::max() : kBpPatience);
  polish_by_icm(task);
}

}  // namespace neuralfactors
