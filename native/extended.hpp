// Double-double arithmetic, for sums in which double precision would lose all digits.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace rankwise {

// An unevaluated sum high + low with |low| <= half a unit in the last place of high: about 32 digits.
// Correct only if the compiler neither reorders nor contracts floating-point operations.
struct Extended {
    double high = 0, low = 0;

    Extended() = default;
    Extended(double value) : high(value) {}
    Extended(double leading, double trailing) : high(leading), low(trailing) {}
    explicit operator double() const { return high + low; }
};

// Exact if |a| >= |b|.
inline Extended ordered_sum(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

inline Extended exact_sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

inline Extended exact_product(double a, double b) {
    const double product = a * b;
    return {product, std::fma(a, b, -product)};
}

inline Extended operator+(Extended a, Extended b) {
    const Extended leading = exact_sum(a.high, b.high), trailing = exact_sum(a.low, b.low);
    const Extended sum = ordered_sum(leading.high, leading.low + trailing.high);
    return ordered_sum(sum.high, sum.low + trailing.low);
}

inline Extended operator-(Extended a) { return {-a.high, -a.low}; }
inline Extended operator-(Extended a, Extended b) { return a + -b; }

inline Extended operator*(Extended a, Extended b) {
    const Extended product = exact_product(a.high, b.high);
    return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline Extended operator/(Extended a, Extended b) {
    const double quotient = a.high / b.high;
    const Extended rest = a - b * Extended(quotient);
    const double correction = rest.high / b.high;
    const Extended last = rest - b * Extended(correction);
    return ordered_sum(quotient, correction) + Extended(last.high / b.high);
}

inline Extended& operator+=(Extended& a, Extended b) { return a = a + b; }
inline Extended& operator/=(Extended& a, Extended b) { return a = a / b; }
inline bool operator<(Extended a, Extended b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
inline bool operator>(Extended a, Extended b) { return b < a; }

// One Newton step from the double root doubles its digits.
inline Extended sqrt(Extended a) {
    const double root = std::sqrt(a.high);
    if (!(root > 0)) return root;
    return ordered_sum(root, (a - exact_product(root, root)).high / (2 * root));
}

// x'y in double-double precision: an entry of the Gram matrix, Q and Q_low.
inline Extended extended_dot(const double* x, const double* y, std::size_t n) {
    Extended sum;
    for (std::size_t i = 0; i < n; ++i) sum += exact_product(x[i], y[i]);
    return sum;
}

// sum_i (z_i + z_low_i) a_i for the rows a_i of A: near the optimum it is much smaller than its terms.
inline std::vector<double> extended_combination(const double* A, const double* z, const double* z_low, std::size_t rows,
                                                std::size_t columns) {
    std::vector<Extended> sum(columns);
    for (std::size_t i = 0; i < rows; ++i) {
        if (z[i] == 0) continue;
        const Extended weight(z[i], z_low[i]);
        for (std::size_t j = 0; j < columns; ++j) sum[j] += weight * Extended(A[i * columns + j]);
    }
    std::vector<double> rounded;
    for (const Extended& number : sum) rounded.push_back(double(number));
    return rounded;
}

}  // namespace rankwise
