// Vectors of numbers, and loops that are compiled for several types of CPU, among which `on_this_cpu` chooses at run
// time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include "compiler.hpp"

namespace rankwise::detail {

// A vector of Width numbers.
#if defined(RANKWISE_GNU)
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
    };
};
#endif

#if defined(RANKWISE_GNU)
template <class Lanes>
RANKWISE_INLINE Lanes magnitude(const Lanes& z) {
    return z < 0.0 ? -z : z;
}
// In each lane x if z is below the limit, else 0.
template <class Lanes>
RANKWISE_INLINE Lanes where_below(const Lanes& z, double limit, const Lanes& x) {
    const auto mask = z < limit;
    return (Lanes)((decltype(z < limit))x & mask);
}
#else
template <class Lanes>
Lanes magnitude(Lanes z) {
    for (double& number : z.lane) number = std::fabs(number);
    return z;
}
template <class Lanes>
Lanes where_below(const Lanes& z, double limit, Lanes x) {
    for (std::size_t i = 0; double& number : x.lane) number = z.lane[i++] < limit ? number : 0.0;
    return x;
}
#endif

// A type of CPU, by the width of its vectors.
template <std::size_t Width>
struct Cpu {
    using Lanes = typename LanesOf<Width>::type;
    static constexpr std::size_t width = Width;
};

// Width numbers of an array, as float64.
template <class Cpu>
RANKWISE_INLINE typename Cpu::Lanes load(const double* numbers) {
    typename Cpu::Lanes lanes;
    std::memcpy(&lanes, numbers, sizeof lanes);
    return lanes;
}
#if defined(RANKWISE_GNU)
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

// Loop::run for a type of CPU. Functions that are inlined there are compiled for it.
template <class Loop, class... Arguments>
void run(Cpu<2> cpu, const Arguments&... arguments) {
    Loop::run(cpu, arguments...);
}
#if defined(RANKWISE_X86)
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

// Calls work with the type of this CPU.
template <class Work>
void on_this_cpu(Work&& work) {
#if defined(RANKWISE_X86)
    if (__builtin_cpu_supports("avx512f")) return work(Cpu<8>{});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return work(Cpu<4>{});
#endif
    work(Cpu<2>{});
}

inline std::size_t blocks(std::size_t n, std::size_t step) { return (n + step - 1) / step; }

}  // namespace rankwise::detail
