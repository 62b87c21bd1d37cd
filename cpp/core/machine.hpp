// The machine this runs on, and the compiler of what runs.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define NF_ALWAYS_INLINE __forceinline
#else
#define NF_ALWAYS_INLINE [[gnu::always_inline]] inline
#endif

namespace neuralfactors {

// Functions are static: copies that are compiled for other instruction sets must not be shared.

#if defined(NF_HAVE_AVX2)
// Whether the processor has AVX2 and the system saves its registers.
static inline bool has_avx2() {
#if defined(_MSC_VER) && !defined(__clang__)
  static const bool found = [] {
    int info[4];
    __cpuid(info, 1);
    const bool saved = (info[2] & (1 << 27)) != 0 && (_xgetbv(0) & 6) == 6;
    __cpuidex(info, 7, 0);
    return saved && (info[1] & (1 << 5)) != 0;
  }();
#else
  static const bool found = __builtin_cpu_supports("avx2");
#endif
  return found;
}
#else
static inline bool has_avx2() { return false; }
#endif

static inline const char* instruction_set() { return has_avx2() ? "AVX2" : "baseline"; }

inline const char* compiler() {
#if defined(__clang__)
  return __VERSION__;  // which begins with its name
#elif defined(_MSC_VER)
#define NF_TEXT(number) #number
#define NF_TEXT_OF(macro) NF_TEXT(macro)
  return "MSVC " NF_TEXT_OF(_MSC_VER);
#else
  return "GCC " __VERSION__;
#endif
}

inline bool is_checked() {
#if defined(NDEBUG)
  return false;
#else
  return true;
#endif
}

}  // namespace neuralfactors
