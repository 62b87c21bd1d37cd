// Ctrl-C in Python and a callback for progress, seen from a solver that runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <utility>

#include "core/interrupt.hpp"

namespace neuralfactors {

// Asks Python for pending signals a few times a second; a handler's exception (KeyboardInterrupt) then ends the solver.
class PythonSignals : public Interrupt {
 public:
  explicit PythonSignals(std::optional<nanobind::callable> callback = std::nullopt) : callback_(std::move(callback)) {}

  void check() override {
    if (++calls_ % 8 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

  // callback(seconds since the start, score, bound)
  void improved(double score, double bound) override {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    nanobind::gil_scoped_acquire gil;
    if (callback_) (*callback_)(spent.count(), score, bound);
  }

 private:
  std::optional<nanobind::callable> callback_;
  unsigned calls_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

}  // namespace neuralfactors
