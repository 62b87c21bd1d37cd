// Ctrl-C in Python, seen from a solver that runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

#include "interrupt.hpp"

namespace neuralfactors {

// Asks Python for pending signals a few times a second; a handler's exception (KeyboardInterrupt) then ends the solver.
class PythonSignals : public Interrupt {
 public:
  void check() override {
    if (++calls_ % 8 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

 private:
  unsigned calls_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace neuralfactors
