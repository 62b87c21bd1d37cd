// Independent tasks over threads; which thread does which task changes no result.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
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

// What the threads of one call have to tell each other.
class Crew {
 public:
  std::atomic<bool> stop{false};

  // Keeps the exception in hand, unless one of an earlier task is kept already.
  void fail(int task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop = true;
    if (error_ && task >= failed_) return;
    failed_ = task;
    error_ = std::current_exception();
  }

  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++n_left_;
    departure_.notify_one();
  }

  // Until n threads have left; whoever waits may be interrupted, which stops them.
  void await(std::size_t n, Interrupt& interrupt) {
    constexpr std::chrono::milliseconds kPause(10);  // between questions to the interrupt
    std::unique_lock<std::mutex> lock(mutex_);
    while (!departure_.wait_for(lock, kPause, [&] { return n_left_ == n; })) {
      try {
        if (!stop) interrupt.check();
      } catch (...) {
        stop = true;
        error_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;  // of all below
  std::condition_variable departure_;
  std::size_t n_left_ = 0;
  int failed_ = 0;
  std::exception_ptr error_;
};

// Calls make_worker() once a thread, and what it returns as worker(task, interrupt) for the tasks 0 .. n_tasks - 1,
// which are begun in order. Throws what the first task to fail threw.
template <class MakeWorker>
void run_tasks(int n_tasks, int n_threads, Interrupt& interrupt, const MakeWorker& make_worker) {
  std::atomic<int> next{0};
  Crew crew;
  auto work = [&](Interrupt* caller) {
    StopFlag flag(crew.stop, caller);
    int task = 0;
    try {
      auto worker = make_worker();
      for (task = next++; task < n_tasks; task = next++) worker(task, flag);
    } catch (const Interrupted&) {  // NOLINT(bugprone-empty-catch): by the failure of another, which is kept
    } catch (...) {
      crew.fail(task);
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (int k = 1; k < std::min(n_threads, n_tasks); ++k)
      helpers.emplace_back([&] {
        work(nullptr);
        crew.leave();
      });
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the threads that there are do the work
  }
  work(&interrupt);
  crew.await(helpers.size(), interrupt);
  for (std::thread& helper : helpers) helper.join();
  crew.rethrow();
}

}  // namespace neuralfactors
