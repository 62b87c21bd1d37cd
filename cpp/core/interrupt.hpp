// How a solver hears from its caller (Ctrl-C) and tells it of progress.
#pragma once

#include <exception>

namespace neuralfactors {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // Cheap enough to be called every few microseconds; throws Interrupted when the work should end.
  virtual void check() = 0;
  // The incumbent or the bound is better than before; asked for by Options::progress.
  virtual void improved(double /*score*/, double /*bound*/) {}
};

}  // namespace neuralfactors
