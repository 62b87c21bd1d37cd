// Method `bp`: damped max-product belief propagation, the best rounded labelling kept.
#pragma once

#include "icm.hpp"
#include "relaxation.hpp"
#include "task.hpp"

namespace neuralfactors {

constexpr float kDamping = 0.3f;

template <class T>
void solve_bp(Task<T>& task) {
  const int budget = task.budget(50), patience = task.deadline.limited() ? budget : 10;
  Relaxation<T> relaxation(task, build_model(task));
  relaxation.start_max_product();
  for (int k = 0, since = 0; k < budget && since < patience && !task.out_of_time(); ++k) {
    since = relaxation.max_product_sweep(kDamping) ? 0 : since + 1;
    relaxation.max_product_sweep(kDamping);
    task.out.iterations = k + 1;
  }
  polish_by_icm(task);
}

}  // namespace neuralfactors
