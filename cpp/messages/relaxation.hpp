// Sequential message passing over a model: TRW-S, whose bound never rises, or damped max-product.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "messages/certificate.hpp"
#include "messages/message_kernels.hpp"
#include "messages/packed_model.hpp"
#include "task.hpp"

namespace neuralfactors {

// Leaves of the task's model the labels for which keep(position, label) holds, and those of the incumbent; returns
// whether that was worth a copy. `belief` is brought in line.
template <class T, class Keep>
bool keep_labels(Task<T>& task, std::vector<float>& belief, Keep keep) {
  constexpr double kWorthIt = 0.75;  // of the labels: a copy costs about as much as a sweep
  Model &model = task.work.model, &next = task.work.next_model;
  std::vector<int>&first = task.work.candidates.begin, &labels = task.work.candidates.label;
  first.assign(1, 0);
  labels.clear();
  std::size_t before = 0;
  for (int i = 0; i < model.n_nodes; ++i) {
    const int present = task.out.labels.empty() ? -1 : model.own_label(i, task.out.labels[model.node[i]]);
    for (int a = 0; a < model.count[i]; ++a)
      if (a == present || keep(i, a)) labels.push_back(a);
    before += model.count[i];
    first.push_back(static_cast<int>(labels.size()));
  }
  if (static_cast<double>(labels.size()) > kWorthIt * static_cast<double>(before)) return false;
  next.build(model, first, labels);
  if (!belief.empty()) {
    std::vector<float> kept(next.unary.size(), -std::numeric_limits<float>::infinity());
    for (int i = 0; i < next.n_nodes; ++i) {
      const int from = model.position[next.node[i]];
      for (int a = 0; a < next.count[i]; ++a)
        kept[next.begin[i] + a] = belief[model.begin[from] + labels[first[from] + a]];
    }
    belief = std::move(kept);
  }
  std::swap(model, next);
  return true;
}

// The model of a task's problem, in the task's own buffers, without labels that are forbidden by themselves.
template <class T>
Model& build_model(Task<T>& task) {
  Model& model = task.work.model;
  model.build(task.problem, task.statistics);
  std::vector<float> no_belief;
  const Problem<T>& asked = task.prepared.problem;
  if (task.prepared.forbidden && !task.options.reduced_costs)
    keep_labels(task, no_belief,
                [&](int i, int a) { return asked.row(model.node[i])[a] > -std::numeric_limits<T>::infinity(); });
  return model;
}

// Puts the scores, weights and messages of a model back as they were.
class KeptMessages {
 public:
  explicit KeptMessages(Model& model)
      : model_(model),
        unary_(model.unary),
        weight_(model.weight),
        to_earlier_(model.to_earlier),
        to_later_(model.to_later) {}
  ~KeptMessages() {
    model_.unary.swap(unary_);
    model_.weight.swap(weight_);
    model_.to_earlier.swap(to_earlier_);
    model_.to_later.swap(to_later_);
  }
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;

 private:
  Model& model_;
  std::vector<float> unary_, weight_, to_earlier_, to_later_;
};

template <class T>
class Relaxation {
 public:
  std::vector<float> belief;  // by entry of the rows, from the last sweep that kept them: 0 for a node's best label

  // The bounds are those of the task only if the model holds all labels that matter.
  Relaxation(Task<T>& task, Model& model, bool bounds = true)
      : task_(task), model_(model), bounds_(bounds), labels_(model.n_nodes, 0) {}

  // Begins anew, with the scores that the task's problem has now.
  void restart() {
    build_model(task_);
    belief.clear();
    bound_now_ = std::numeric_limits<double>::infinity();
    forward_ = true;
  }

  const Model& model() const { return model_; }
  const std::vector<int>& labels() const { return labels_; }  // by position, from the last sweep that rounded
  bool next_is_forward() const { return forward_; }

  // The next TRW-S sweep, forward and backward in turn. Rounding offers a labelling; returns whether it was an
  // improvement.
  bool sweep(bool round, bool keep_belief = false) {
    bound_before_ = bound_now_;
    const bool improved = pass(round, keep_belief, 0);
    bound_now_ = model_.unit * kernel_bound_ + model_.offset + model_.rounding;
    if (bounds_) task_.tighten(bound_now_);
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

  // Leaves out the labels that no labelling better than the incumbent has, by the beliefs at hand. What the model
  // bounds from then on are the labellings that are left, which hold all better ones.
  void prune() {
    const double floor = -(bound_before_ - task_.out.score + 2 * model_.rounding) / model_.unit;
    const auto possible = [&](int i, int a) { return belief[model_.begin[i] + a] >= floor; };
    if (keep_labels(task_, belief, possible)) bound_now_ = std::numeric_limits<double>::infinity();
  }

  // What the messages as they are prove, in double precision; meant for TRW-S.
  Certificate certificate(bool with_costs) const {
    return Certifier<T>(task_.problem, task_.statistics, model_, !forward_).run(with_costs);
  }

  // No labelling in which a node has a label of belief b scores more than this plus b (times the model's unit): the
  // bound of the messages that the last sweep began with.
  double bound_of_belief() const { return bound_before_; }

 private:
  Task<T>& task_;
  Model& model_;
  bool bounds_;
  std::vector<int> labels_;  // by position
  double kernel_bound_ = 0, bound_before_ = 0;
  double bound_now_ = std::numeric_limits<double>::infinity();  // of the messages as the last sweep left them
  bool forward_ = true;                                         // direction of the next sweep

  bool pass(bool round, bool keep_belief, float damping) {
    task_.interrupt.check();
    if (keep_belief) belief.resize(model_.unary.size());
    labels_.resize(model_.n_nodes);
    task_.effort += model_.sweep_cost();
    const Sweep view = model_.sweep(labels_.data(), keep_belief ? belief.data() : nullptr);
    kernel_bound_ = kernels().sweep(view, {forward_, round, damping});
    forward_ = !forward_;
    return round && task_.offer(model_, labels_);
  }
};

}  // namespace neuralfactors
