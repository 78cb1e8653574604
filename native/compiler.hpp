// The extensions of compilers and systems in use. Standard C++ stands beside each of them. RANKWISE_PORTABLE selects
// the standard code on any machine, as for Visual Studio, so that `make test-portable` can test it anywhere.
#pragma once

#if !defined(RANKWISE_PORTABLE)

// Vectors, hints and built-in functions of GCC and Clang.
#if defined(__GNUC__)
#define RANKWISE_GNU
#if defined(__x86_64__)
#define RANKWISE_X86
#endif
#endif

#if defined(__SIZEOF_INT128__)
#define RANKWISE_LONG_DIGITS
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

// Compiles a function for CPUs with the given features and contracts a * b + c to a fused multiply-add.
#if defined(__clang__)
#define RANKWISE_TARGET(features) __attribute__((target(features)))
#define RANKWISE_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define RANKWISE_TARGET(features) __attribute__((target(features), optimize("fp-contract=fast")))
#define RANKWISE_CONTRACT
#endif

// The widest floating-point type. With some compilers it is double.
namespace rankwise {
#if defined(RANKWISE_PORTABLE)
using LongReal = double;
#else
using LongReal = long double;
#endif
}  // namespace rankwise
