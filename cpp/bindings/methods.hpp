// Inference methods by the names that Python gives them.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>

#include "core/options.hpp"

namespace neuralfactors {

inline Method method_of(const std::string& name) {
  const auto* place = std::find(kMethodNames.begin(), kMethodNames.end(), name);
  if (place == kMethodNames.end()) throw nanobind::value_error("method is not one of the kernel's");
  return static_cast<Method>(place - kMethodNames.begin());
}

}  // namespace neuralfactors
