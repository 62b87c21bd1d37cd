// Independent tasks over threads; which thread does which task changes no result.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/interrupt.hpp"

namespace neuralfactors {

// Stops a worker when another has failed; the thread of the caller asks its interrupt as well.
class StopFlag : public Interrupt {
 public:
  StopFlag(const std::atomic<bool>& stop, Interrupt* caller) : stop_(stop), caller_(caller) {}
  void check() override {
    if (caller_) caller_->check();
    if (stop_.load(std::memory_order_relaxed)) throw Interrupted{};
  }
  void improved(double score, double bound) override {
    if (caller_) caller_->improved(score, bound);
  }

 private:
  const std::atomic<bool>& stop_;
  Interrupt* caller_;
};

// An exception, and the graph it is about.
struct GraphError {
  int graph;
  std::exception_ptr what;
};

// Calls work(); what it throws becomes a GraphError, unless that only says that another has failed.
template <class Work>
void blame(int graph, const Work& work) {
  try {
    work();
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    throw GraphError{graph, std::current_exception()};
  }
}

// Calls make_worker() once a thread, and what it returns as worker(task, interrupt) for the tasks 0 .. n_tasks - 1,
// which are begun in order. Throws what the first task to fail threw.
template <class MakeWorker>
void run_tasks(int n_tasks, int n_threads, Interrupt& interrupt, const MakeWorker& make_worker) {
  std::atomic<int> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  int failed = n_tasks;
  std::exception_ptr error;
  auto work = [&](Interrupt* caller) {
    StopFlag flag(stop, caller);
    int task = 0;
    try {
      auto worker = make_worker();
      for (task = next++; task < n_tasks; task = next++) worker(task, flag);
    } catch (const Interrupted&) {  // NOLINT(bugprone-empty-catch): by the failure of another, which is kept
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      stop = true;
      if (task >= failed && error) return;
      failed = task;
      error = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  try {
    for (int k = 1; k < std::min(n_threads, n_tasks); ++k) workers.emplace_back(work, nullptr);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the threads that there are do the work
  }
  work(&interrupt);
  for (std::thread& w : workers) w.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace neuralfactors
