// All training graphs, the weights, and one loss-augmented pass over them on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "core/parallel.hpp"
#include "linear/oracle.hpp"
#include "linear/sample.hpp"
#include "linear/scores.hpp"
#include "linear/signs.hpp"

namespace neuralfactors::linear {

// The buffers of one thread.
struct Worker {
  std::unique_ptr<Oracle> oracle;
  Scores scores;
  Outcome outcome;
};

// Where a pass puts what it finds, in arrays of the caller.
struct PassOutcome {
  std::int32_t* labels = nullptr;  // (V) of all graphs, one after the other
  double* hinge = nullptr;         // (N) not negative
  double* gap = nullptr;           // (N) by which the hinge may be too low
  std::int8_t* status = nullptr;   // (N)
};

class LinearProblem {
 public:
  Layout layout;
  std::vector<Sample> samples;
  std::vector<std::size_t> node_ptr{0};
  std::vector<double> w;
  SignConstraints signs;

  LinearProblem(const Layout& shape, std::size_t n_threads, const std::function<std::unique_ptr<Oracle>()>& make_oracle)
      : layout(shape), w(shape.dim(), 0.0), workers_(std::max<std::size_t>(n_threads, 1)) {
    for (Worker& worker : workers_) worker.oracle = make_oracle();
  }

  LinearProblem(const LinearProblem&) = delete;
  LinearProblem& operator=(const LinearProblem&) = delete;

  void add(Sample sample) {
    if (layout.order == 2) sample.plan();
    node_ptr.push_back(node_ptr.back() + sample.n_nodes);
    samples.push_back(std::move(sample));
  }

  // The labelling of sample n that violates its margin most, and its scores, until the next call.
  const Worker& decode(std::size_t n, Interrupt& interrupt) { return decode(workers_[0], n, interrupt); }

  void most_violated(Interrupt& interrupt, const PassOutcome& out) {
    for_each(interrupt, [&](Worker& worker, std::size_t n, Interrupt& stop) {
      const Sample& s = samples[n];
      decode(worker, n, stop);
      const Outcome& found = worker.outcome;
      std::copy(found.labels.begin(), found.labels.end(), out.labels + node_ptr[n]);
      out.hinge[n] = std::max(worker.scores.violation(s, layout, found.labels.data()), 0.0);
      const bool proved = found.status == Status::optimal;  // in whatever way: the bound may not have been tightened
      out.gap[n] = proved ? 0 : std::max(found.bound - found.score, 0.0);
      out.status[n] = static_cast<std::int8_t>(found.status);
    });
  }

  // Calls work(worker, n, interrupt) for every sample; throws a GraphError about the first one to fail.
  template <class Work>
  void for_each(Interrupt& interrupt, const Work& work) {
    std::atomic<std::size_t> next{0};
    run_tasks(static_cast<int>(samples.size()), static_cast<int>(workers_.size()), interrupt, [&] {
      return [&work, &worker = workers_[next++]](int n, Interrupt& stop) {
        stop.check();
        blame(n, [&] { work(worker, static_cast<std::size_t>(n), stop); });
      };
    });
  }

  // vector += mean of psi(z) over the samples; returns the mean loss. One thread: the order of a sum matters.
  double add_mean(const std::int32_t* labels, double* vector) const {
    const double share = 1.0 / static_cast<double>(samples.size());
    double loss = 0;
    for (std::size_t n = 0; n < samples.size(); ++n) {
      samples[n].add(layout, labels + node_ptr[n], share, vector);
      loss += samples[n].loss(labels + node_ptr[n]) * share;
    }
    return loss;
  }

 private:
  std::vector<Worker> workers_;

  const Worker& decode(Worker& worker, std::size_t n, Interrupt& interrupt) {
    const Sample& s = samples[n];
    worker.scores.compute(s, layout, w.data(), worker.oracle->needs_tables(s));
    worker.oracle->decode(s, layout, worker.scores, interrupt, worker.outcome);
    return worker;
  }
};

}  // namespace neuralfactors::linear
