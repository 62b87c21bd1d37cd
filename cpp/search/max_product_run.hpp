// A run of max-product that can be left and gone on with: its messages stand aside while the model serves others.
#pragma once

#include <vector>

#include "messages/bp.hpp"
#include "messages/packed_model.hpp"
#include "messages/relaxation.hpp"
#include "task.hpp"

namespace neuralfactors {

template <class T>
class MaxProductRun {
 public:
  MaxProductRun(Task<T>& task, Model& model)
      : task_(task), model_(model), relaxation_(task, model, false), weight_(model.weight) {
    exchange();
    relaxation_.start_max_product();
    exchange();
  }

  // As many iterations as that, or until `patience` of them in a row have found nothing better.
  void iterate(int budget, int patience) {
    exchange();
    iterate_bp(task_, relaxation_, budget, patience);
    exchange();
  }

  const std::vector<int>& labels() const { return relaxation_.labels(); }  // of the last iteration, by position

 private:
  Task<T>& task_;
  Model& model_;
  Relaxation<T> relaxation_;
  std::vector<float> weight_, to_earlier_, to_later_;

  void exchange() {
    model_.weight.swap(weight_);
    model_.to_earlier.swap(to_earlier_);
    model_.to_later.swap(to_later_);
  }
};

}  // namespace neuralfactors
