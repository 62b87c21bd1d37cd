// All training graphs, the weights, and one loss-augmented pass over them on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "core/interrupt.hpp"
#include "core/options.hpp"
#include "linear/oracle.hpp"
#include "linear/sample.hpp"
#include "linear/scores.hpp"
#include "linear/signs.hpp"

namespace neuralfactors::linear {

// What went wrong, and with which training graph.
struct SampleError {
  std::size_t sample;
  std::exception_ptr what;
};

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

  // Calls work(worker, n, interrupt) for every sample; throws the interrupt's own exception or a SampleError.
  template <class Work>
  void for_each(Interrupt& interrupt, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    SampleError error{samples.size(), nullptr};
    auto run = [&](Worker& worker, Interrupt* caller) {
      SharedStop shared(stop, caller);
      for (std::size_t n = next++; n < samples.size() && !stop; n = next++) {
        try {
          shared.check();
          work(worker, n, shared);
        } catch (const Interrupted&) {
          return;
        } catch (...) {
          const std::lock_guard<std::mutex> lock(mutex);
          stop = true;
          if (n < error.sample) error = {n, std::current_exception()};
        }
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t k = 1; k < std::min(workers_.size(), samples.size()); ++k)
      threads.emplace_back([&, k] { run(workers_[k], nullptr); });
    run(workers_[0], &interrupt);
    for (std::thread& thread : threads) thread.join();
    if (error.what) throw error;
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
