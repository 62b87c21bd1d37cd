// When a solve must end, if the caller has set a limit.
#pragma once

#include <algorithm>
#include <chrono>

namespace neuralfactors {

class Deadline {
 public:
  explicit Deadline(double seconds) : limited_(seconds < kForever) {
    if (limited_) end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(std::max(seconds, 0.0)));
  }

  bool limited() const { return limited_; }
  bool passed() const { return limited_ && Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kForever = 1e9;  // what a clock can count
  bool limited_;
  Clock::time_point end_;
};

}  // namespace neuralfactors
