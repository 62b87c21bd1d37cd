// How a solver learns that the caller wants it to stop (Ctrl-C).
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
};

}  // namespace neuralfactors
