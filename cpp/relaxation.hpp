// Sequential message passing over a model: TRW-S, whose bound never rises, or damped max-product.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "certificate.hpp"
#include "message_kernels.hpp"
#include "task.hpp"

namespace neuralfactors {

// The model of a task's problem, in the task's own buffers.
template <class T>
Model& build_model(Task<T>& task) {
  task.work.model.build(task.problem, task.survey);
  return task.work.model;
}

template <class T>
class Relaxation {
 public:
  std::vector<float> belief;  // (V, S) by position, from the last sweep that kept them: 0 for the best label of a node

  Relaxation(Task<T>& task, Model& model) : task_(task), model_(model) { labels_.assign(model.n_nodes, 0); }

  // Begins anew, with the scores that the task's problem has now.
  void restart() {
    model_.build(task_.problem, task_.survey);
    bound_now_ = std::numeric_limits<double>::infinity();
    forward_ = true;
  }

  const Model& model() const { return model_; }
  bool next_is_forward() const { return forward_; }

  // The next TRW-S sweep, forward and backward in turn. Rounding offers a labelling; returns whether it was an
  // improvement.
  bool sweep(bool round, bool keep_belief = false) {
    const bool whole = model_.label_of.empty();
    bound_before_ = whole ? bound_now_ : task_.out.bound;
    const bool improved = pass(round, keep_belief, 0);
    bound_now_ = model_.unit * kernel_bound_ + model_.offset + model_.rounding;
    if (whole) task_.tighten(bound_now_);
    return improved;
  }

  // From here on max-product: messages start anew, and no bound comes of them.
  void start_max_product() {
    std::fill(model_.weight.begin(), model_.weight.end(), 1.f);
    model_.reset_messages();
  }
  bool max_product_sweep(float damping, bool keep_belief = false) { return pass(forward_, keep_belief, damping); }

  // Adds a part of the beliefs to the unary scores, so that later sweeps settle on what is believed now.
  void reinforce(float rate) {
    for (std::size_t k = 0; k < belief.size(); ++k) model_.unary[k] += rate * belief[k];
  }

  // What the messages as they are prove, in double precision; meant for TRW-S on the whole problem.
  Certificate certificate(bool with_costs) const {
    return Certifier<T>(task_.problem, task_.survey, model_, !forward_).run(with_costs);
  }

  // No labelling in which a node has a label of belief b scores more than this plus b (times the model's unit): the
  // bound of the messages that the last sweep began with. The best bound so far may be lower and proves less, for the
  // messages of a restricted model, once returned, can have a higher one. Of a restricted model it is a guess.
  double bound_of_belief() const { return bound_before_; }

 private:
  Task<T>& task_;
  Model& model_;
  std::vector<int> labels_;  // by position
  double kernel_bound_ = 0, bound_before_ = 0;
  double bound_now_ = std::numeric_limits<double>::infinity();  // of the messages as the last sweep left them
  bool forward_ = true;                                         // direction of the next sweep

  bool pass(bool round, bool keep_belief, float damping) {
    task_.interrupt.check();
    if (keep_belief) belief.resize(model_.unary.size());
    const Sweep view = model_.sweep(labels_.data(), keep_belief ? belief.data() : nullptr);
    kernel_bound_ = kernels().sweep(view, {forward_, round, damping});
    forward_ = !forward_;
    return round && task_.offer(model_, labels_);
  }
};

}  // namespace neuralfactors
