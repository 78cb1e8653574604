// Four numbers at a time: one vector if registers hold four numbers (RANKWISE_WIDE) or with Clang, which splits it if
// necessary; otherwise two vectors of two, or plain numbers. The operations and their order are the same, and none is
// contracted: the width of registers changes the time and no bit of a result.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "compiler.hpp"
#include "instruction_set.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

constexpr int lanes = 4;

#if defined(RANKWISE_WIDE) || (defined(RANKWISE_GNU) && defined(__clang__))
typedef double Lanes __attribute__((vector_size(8 * lanes)));
typedef std::uint64_t WholeLanes __attribute__((vector_size(8 * lanes)));
typedef std::int32_t ShortLanes __attribute__((vector_size(4 * lanes)));
RANKWISE_INLINE Lanes where_less(Lanes a, Lanes b, Lanes yes, Lanes no) { return a < b ? yes : no; }
RANKWISE_INLINE Lanes times_power_of_two(Lanes x, Lanes shifted) {
    return (Lanes)((WholeLanes)x + ((WholeLanes)shifted << 52));
}
// Returns the exponents of positive numbers and scales the numbers to [1, 2). The low bits of 2^52 + k hold the integer
// k.
RANKWISE_INLINE Lanes take_exponents(Lanes& x) {
    const WholeLanes bits = (WholeLanes)x;
    x = (Lanes)((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    return (Lanes)((bits >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
}
// The integer parts of numbers from 0 to 2^31, also written to `to`.
RANKWISE_INLINE Lanes whole_parts(Lanes x, std::int32_t* to) {
    const ShortLanes whole = __builtin_convertvector(x, ShortLanes);
    std::memcpy(to, &whole, sizeof whole);
    return __builtin_convertvector(whole, Lanes);
}
#else
#define RANKWISE_EACH_OPERATOR(define) define(+, +=) define(-, -=) define(*, *=) define(/, /=)
#ifdef RANKWISE_GNU
typedef double Half __attribute__((vector_size(4 * lanes)));
RANKWISE_INLINE Half where_less(Half a, Half b, Half yes, Half no) { return a < b ? yes : no; }
#else
struct Half {
    double v[lanes / 2];
    double operator[](int k) const { return v[k]; }
};
#define RANKWISE_OPERATOR(op, assign) \
    inline Half operator op(Half a, Half b) { return {a[0] op b[0], a[1] op b[1]}; }
RANKWISE_EACH_OPERATOR(RANKWISE_OPERATOR)
#undef RANKWISE_OPERATOR
inline Half where_less(Half a, Half b, Half yes, Half no) {
    return {a[0] < b[0] ? yes[0] : no[0], a[1] < b[1] ? yes[1] : no[1]};
}
#endif
struct Lanes {
    Half low, high;
    Lanes() = default;
    Lanes(Half first, Half second) : low(first), high(second) {}
    Lanes(double a, double b, double c, double d) : low{a, b}, high{c, d} {}
    double operator[](int k) const { return k < 2 ? low[k] : high[k - 2]; }
};
#define RANKWISE_OPERATOR(op, assign)                                                                  \
    RANKWISE_INLINE Lanes operator op(Lanes a, Lanes b) { return {a.low op b.low, a.high op b.high}; } \
    RANKWISE_INLINE Lanes operator op(Lanes a, double b) { return a op Lanes{b, b, b, b}; }            \
    RANKWISE_INLINE Lanes operator op(double a, Lanes b) { return Lanes{a, a, a, a} op b; }            \
    template <class Other>                                                                             \
    RANKWISE_INLINE Lanes& operator assign(Lanes& a, Other b) {                                        \
        return a = a op b;                                                                             \
    }
RANKWISE_EACH_OPERATOR(RANKWISE_OPERATOR)
#undef RANKWISE_OPERATOR
#undef RANKWISE_EACH_OPERATOR
RANKWISE_INLINE Lanes where_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    return {where_less(a.low, b.low, yes.low, no.low), where_less(a.high, b.high, yes.high, no.high)};
}
template <class Operation>
RANKWISE_INLINE Lanes each(Operation&& operation) {
    return {operation(0), operation(1), operation(2), operation(3)};
}
RANKWISE_INLINE std::uint64_t bits_of(double number) { return std::bit_cast<std::uint64_t>(number); }
RANKWISE_INLINE Lanes times_power_of_two(Lanes x, Lanes shifted) {
    return each([&](int k) { return std::bit_cast<double>(bits_of(x[k]) + (bits_of(shifted[k]) << 52)); });
}
RANKWISE_INLINE Lanes take_exponents(Lanes& x) {
    const Lanes whole = x;
    auto from_one_on = [](std::uint64_t bits) { return (bits & 0xfffffffffffffu) | 0x3ff0000000000000u; };
    x = each([&](int k) { return std::bit_cast<double>(from_one_on(bits_of(whole[k]))); });
    return each([&](int k) { return static_cast<double>(bits_of(whole[k]) >> 52) - 1023.0; });
}
RANKWISE_INLINE Lanes whole_parts(Lanes x, std::int32_t* to) {
    return each([&](int k) { return static_cast<double>(to[k] = static_cast<std::int32_t>(x[k])); });
}
#endif

RANKWISE_INLINE Lanes load(const double* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
RANKWISE_INLINE void store(double* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
// One number or four, for code that works on both.
template <class Number>
RANKWISE_INLINE Number get(const double* p) {
    if constexpr (std::is_same_v<Number, double>)
        return *p;
    else
        return load(p);
}
RANKWISE_INLINE void put(double* p, double v) { *p = v; }
RANKWISE_INLINE void put(double* p, Lanes v) { store(p, v); }

RANKWISE_INLINE Lanes all(double x) { return Lanes{x, x, x, x}; }
RANKWISE_INLINE double sum_of(Lanes v) { return (v[0] + v[1]) + (v[2] + v[3]); }

RANKWISE_INLINE void transpose(Lanes (&v)[lanes]) {
    const Lanes a = v[0], b = v[1], c = v[2], d = v[3];
    for (int k = 0; k < lanes; ++k) v[k] = Lanes{a[k], b[k], c[k], d[k]};
}

// The sum of c[k] x^k, as four independent sums in x^4: one sum would be a chain of dependent steps.
template <std::size_t n>
RANKWISE_INLINE Lanes polynomial(Lanes x, const double (&c)[n]) {
    const Lanes x2 = x * x, x4 = x2 * x2;
    Lanes part[lanes];
    for (std::size_t r = 0; r < lanes; ++r) {
        part[r] = all(0.0);
        for (std::size_t k = (n - 1 - r) / lanes * lanes + r;; k -= lanes) {
            part[r] = part[r] * x4 + c[k];
            if (k < lanes) break;
        }
    }
    return (part[0] + x * part[1]) + x2 * (part[2] + x * part[3]);
}

// e^x for |x| <= 700. Adding 1.5 2^52 leaves the nearest integer in the lowest bits.
RANKWISE_INLINE Lanes exponential(Lanes x) {
    const Lanes shifted = x * 1.4426950408889634 + 6755399441055744.0;
    const Lanes whole = shifted - 6755399441055744.0;
    const Lanes rest = (x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
    constexpr double inverse_factorials[] = {
        1.0,        1.0,         1 / 2.0,      1 / 6.0,       1 / 24.0,       1 / 120.0,       1 / 720.0,
        1 / 5040.0, 1 / 40320.0, 1 / 362880.0, 1 / 3628800.0, 1 / 39916800.0, 1 / 479001600.0, 1 / 6227020800.0};
    return times_power_of_two(polynomial(rest, inverse_factorials), shifted);
}

// log(1 + e) and 1 / (1 + e) for 0 <= e <= 1, by one division. With z = 1 + e, the logarithm is
// 2 artanh((z - 1) / (z + 1)); for z above sqrt(2) it is that of z / sqrt(2), plus log(sqrt(2)).
struct LogAndInverse {
    Lanes log, inverse;
};
RANKWISE_INLINE LogAndInverse log_of_one_plus(Lanes e) {
    constexpr double root = 1.4142135623730951, log_of_root = 0.34657359027997264;
    const Lanes one_plus = 1.0 + e, edge = all(root - 1), zero = all(0.0);
    const Lanes above = e - where_less(e, edge, zero, edge);
    const Lanes below = one_plus + where_less(e, edge, all(1.0), all(root));
    const Lanes inverse = 1.0 / (one_plus * below), f = above * one_plus * inverse;
    constexpr double twice_inverse[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9, 2.0 / 11,
                                        2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
    return {where_less(e, edge, zero, all(log_of_root)) + f * polynomial(f * f, twice_inverse), inverse * below};
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
