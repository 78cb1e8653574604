// What compilers and systems have beyond the standard, all in one place; elsewhere there is a plain way beside it.
// RANKWISE_PORTABLE takes the plain ways on any machine, as Visual Studio does, so that they are tested on any
// (`make test-portable`).
#pragma once

#if !defined(RANKWISE_PORTABLE)

// Vectors, hints and built-in functions, as Clang has them too.
#if defined(__GNUC__)
#define RANKWISE_GNU
#if defined(__x86_64__)
#define RANKWISE_X86
#endif
#endif

#if defined(__SIZEOF_INT128__)
#define RANKWISE_LONG_DIGITS
#endif

#if defined(__unix__) || defined(__APPLE__)
#define RANKWISE_MAPS_FILES
#endif

#if defined(__linux__)
#define RANKWISE_HUGE_PAGES
#endif

#endif

#if defined(RANKWISE_GNU)
#define RANKWISE_INLINE inline __attribute__((always_inline))
#define RANKWISE_UNROLL _Pragma("GCC unroll 4")
#define RANKWISE_UNROLL_LEVELS _Pragma("GCC unroll 9")
#else
#define RANKWISE_INLINE inline
#define RANKWISE_UNROLL
#define RANKWISE_UNROLL_LEVELS
#endif

// A function for CPUs that have more than the compiler may take for granted; it multiplies and adds in one step.
#if defined(__clang__)
#define RANKWISE_TARGET(features) __attribute__((target(features)))
#define RANKWISE_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define RANKWISE_TARGET(features) __attribute__((target(features), optimize("fp-contract=fast")))
#define RANKWISE_CONTRACT
#endif

// The numbers with the most digits, which with some compilers are those of a double.
namespace rankwise {
#if defined(RANKWISE_PORTABLE)
using LongReal = double;
#else
using LongReal = long double;
#endif
}  // namespace rankwise
