// Vectors of numbers, and loops that are compiled for several types of CPU; the right one is taken at run time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#if defined(__GNUC__)
#define RANKWISE_INLINE inline __attribute__((always_inline))
#define RANKWISE_UNROLL _Pragma("GCC unroll 4")
#define RANKWISE_UNROLL_LEVELS _Pragma("GCC unroll 9")
#else
#define RANKWISE_INLINE inline
#define RANKWISE_UNROLL
#define RANKWISE_UNROLL_LEVELS
#endif

// A function for CPUs that have more than the compiler may take for granted; it multiplies and adds in one step.
#if defined(__GNUC__) && defined(__x86_64__)
#if defined(__clang__)
#define RANKWISE_TARGET(features) __attribute__((target(features)))
#else
#define RANKWISE_TARGET(features) __attribute__((target(features), optimize("fp-contract=fast")))
#endif
#endif
#if defined(__clang__)
#define RANKWISE_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define RANKWISE_CONTRACT
#endif

namespace rankwise::detail {

// Numbers that are worked on together.
#if defined(__GNUC__)
template <std::size_t Width>
struct LanesOf {
    typedef double type __attribute__((vector_size(Width * sizeof(double))));
};
#else
template <std::size_t Width>
struct LanesOf {
    struct type {
        double lane[Width];
        friend type operator-(double x, type z) {
            for (double& number : z.lane) number = x - number;
            return z;
        }
        friend type operator*(double x, type z) {
            for (double& number : z.lane) number *= x;
            return z;
        }
        friend type operator*(type x, const type& z) {
            for (std::size_t i = 0; i < Width; ++i) x.lane[i] *= z.lane[i];
            return x;
        }
        type& operator+=(const type& z) {
            for (std::size_t i = 0; i < Width; ++i) lane[i] += z.lane[i];
            return *this;
        }
        friend type magnitude(type z) {
            for (double& number : z.lane) number = std::fabs(number);
            return z;
        }
        friend type where_below(const type& z, double limit, type x) {
            for (std::size_t i = 0; i < Width; ++i) x.lane[i] = z.lane[i] < limit ? x.lane[i] : 0.0;
            return x;
        }
    };
};
#endif

#if defined(__GNUC__)
template <class Lanes>
RANKWISE_INLINE Lanes magnitude(const Lanes& z) {
    return z < 0.0 ? -z : z;
}
// x where z is below the limit, and 0 elsewhere.
template <class Lanes>
RANKWISE_INLINE Lanes where_below(const Lanes& z, double limit, const Lanes& x) {
    const auto mask = z < limit;
    return (Lanes)((decltype(z < limit))x & mask);
}
#endif

// A type of CPU by the numbers in one of its vectors.
template <std::size_t Width>
struct Cpu {
    using Lanes = typename LanesOf<Width>::type;
    static constexpr std::size_t width = Width;
};

// The next numbers of an array, as float64.
template <class Cpu>
RANKWISE_INLINE typename Cpu::Lanes load(const double* numbers) {
    typename Cpu::Lanes lanes;
    std::memcpy(&lanes, numbers, sizeof lanes);
    return lanes;
}
#if defined(__GNUC__)
template <class Cpu>
RANKWISE_INLINE typename Cpu::Lanes load(const float* numbers) {
    typedef float Short __attribute__((vector_size(Cpu::width * sizeof(float))));
    Short lanes;
    std::memcpy(&lanes, numbers, sizeof lanes);
    return __builtin_convertvector(lanes, typename Cpu::Lanes);
}
#else
template <class Cpu>
RANKWISE_INLINE typename Cpu::Lanes load(const float* numbers) {
    typename Cpu::Lanes lanes;
    for (std::size_t i = 0; i < Cpu::width; ++i) lanes.lane[i] = numbers[i];
    return lanes;
}
#endif

// Loop::run for a type of CPU; what is inlined there is compiled for it.
template <class Loop, class... Arguments>
void run(Cpu<2> cpu, const Arguments&... arguments) {
    Loop::run(cpu, arguments...);
}
#if defined(RANKWISE_TARGET)
template <class Loop, class... Arguments>
RANKWISE_TARGET("avx2,fma")
void run(Cpu<4> cpu, const Arguments&... arguments) {
    Loop::run(cpu, arguments...);
}
template <class Loop, class... Arguments>
RANKWISE_TARGET("avx512f")
void run(Cpu<8> cpu, const Arguments&... arguments) {
    Loop::run(cpu, arguments...);
}
#endif

// Calls work with the type of CPU that this is.
template <class Work>
void on_this_cpu(Work&& work) {
#if defined(RANKWISE_TARGET)
    if (__builtin_cpu_supports("avx512f")) return work(Cpu<8>{});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return work(Cpu<4>{});
#endif
    work(Cpu<2>{});
}

inline std::size_t blocks(std::size_t n, std::size_t step) { return (n + step - 1) / step; }

}  // namespace rankwise::detail
