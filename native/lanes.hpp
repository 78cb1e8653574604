// Four numbers at a time. Where the compiler has vector types (GCC, Clang) these are registers of whatever the
// processor offers; elsewhere they are loops of four. The operations are the same in the same order, and none is
// contracted, so that wide registers change the time and no bit of a result.
//
// No include guard: logistic_ranking.hpp includes this once for each instruction set.

namespace rankwise::RANKWISE_INSTRUCTIONS {

constexpr int lanes = 4;

#if defined(__GNUC__) || defined(__clang__)
#define RANKWISE_INLINE inline __attribute__((always_inline))
typedef double Lanes __attribute__((vector_size(8 * lanes)));
typedef std::int64_t WholeLanes __attribute__((vector_size(8 * lanes)));
RANKWISE_INLINE Lanes where_less(Lanes a, Lanes b, Lanes yes, Lanes no) { return a < b ? yes : no; }
RANKWISE_INLINE Lanes times_power_of_two(Lanes x, Lanes shifted) {
    return (Lanes)((WholeLanes)x + ((WholeLanes)shifted << 52));
}
#else
#define RANKWISE_INLINE inline
struct Lanes {
    double v[lanes];
    double operator[](int k) const { return v[k]; }
    double& operator[](int k) { return v[k]; }
};
template <class Operation>
inline Lanes each(Operation&& operation) {
    return {operation(0), operation(1), operation(2), operation(3)};
}
#define RANKWISE_OPERATOR(op)                                                                            \
    inline Lanes operator op(Lanes a, Lanes b) {                                                         \
        return each([&](int k) { return a[k] op b[k]; });                                                \
    }                                                                                                    \
    inline Lanes operator op(Lanes a, double b) { return a op Lanes{b, b, b, b}; }                       \
    inline Lanes operator op(double a, Lanes b) { return Lanes{a, a, a, a} op b; }                       \
    template <class Other>                                                                               \
    inline Lanes& operator op##=(Lanes& a, Other b) {                                                    \
        return a = a op b;                                                                               \
    }
RANKWISE_OPERATOR(+)
RANKWISE_OPERATOR(-)
RANKWISE_OPERATOR(*)
RANKWISE_OPERATOR(/)
#undef RANKWISE_OPERATOR
inline Lanes where_less(Lanes a, Lanes b, Lanes yes, Lanes no) {
    return each([&](int k) { return a[k] < b[k] ? yes[k] : no[k]; });
}
inline Lanes times_power_of_two(Lanes x, Lanes shifted) {
    return each([&](int k) { return std::ldexp(x[k], static_cast<int>(shifted[k] - 6755399441055744.0)); });
}
#endif

RANKWISE_INLINE Lanes load(const double* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
RANKWISE_INLINE void store(double* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
RANKWISE_INLINE Lanes all(double x) { return Lanes{x, x, x, x}; }
RANKWISE_INLINE double sum_of(Lanes v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// e^x for |x| <= 700. Adding 1.5 2^52 leaves the nearest whole number in the lowest bits.
RANKWISE_INLINE Lanes exponential(Lanes x) {
    const Lanes shifted = x * 1.4426950408889634 + 6755399441055744.0;
    const Lanes whole = shifted - 6755399441055744.0;
    const Lanes rest = (x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
    Lanes p = all(1.0 / 6227020800.0);
    for (const double factorial : {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0,
                                   6.0, 2.0, 1.0, 1.0})
        p = p * rest + 1.0 / factorial;
    return times_power_of_two(p, shifted);
}

// log(1 + e) for 0 <= e <= 1, as 2 artanh(e / (2 + e)).
RANKWISE_INLINE Lanes log_of_one_plus(Lanes e) {
    const Lanes f = e / (e + 2.0), square = f * f;
    Lanes p = all(2.0 / 33);
    for (int k = 31; k >= 1; k -= 2) p = p * square + 2.0 / k;
    return f * p;
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
