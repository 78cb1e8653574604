// The even part of the logistic loss as a function of the difference of scores u, and its derivatives, as tables:
//
//     even       log(2 cosh(u / 2)) = log(1 + e^-u) + u / 2
//     slope      tanh(u / 2) / 2
//     curvature  1 / (4 cosh(u / 2)^2)
//
// The poles nearest to the real line are at +-i pi. So on bins of width 1.5, with u = 1.5 D + .75 (x - y) and x, y from
// -1 to 1, a polynomial with 16 powers of x and 16 of y has an error of some 1e-15 (it falls like 8.5^-16), and the
// monomial basis is well conditioned. From a distance of 3 on, twelve terms of the series in e^-u are as accurate, and
// from 37 on the asymptotes |u| / 2, sign(u) / 2 and 0. The even function is the integral of its slope: only its value
// at the center of a bin is stored.
#pragma once

#include <array>
#include <cmath>
#include <memory>

#include "compiler.hpp"

namespace rankwise {

enum Kernel { slope_kernel, curvature_kernel };

constexpr int terms = 16;          // powers per bin, and exponentials between distant bins
constexpr int near_bins = 2;       // bins further apart act by exponentials
constexpr int decay_bins = 500;    // e^-750 is zero
constexpr double bin_width = 1.5;  // the ends of bins are exact numbers, however large

class SmoothKernels {
public:
    using Row = std::array<double, terms>;
    using Matrix = std::array<Row, terms>;

    Matrix near[2][near_bins + 1];  // [kernel][bins apart]: from a power of y to all powers of x
    Row even_near[near_bins + 1];   // [bins apart]: from a power of y to the even function at x = 0
    Matrix rising;                  // from a power of y to its part in e^(k .75 y) for k = 1, 2, ...
    Matrix falling;                 // from e^(-k .75 x) to the powers of x
    Row decay[decay_bins + 1];      // e^(-k 1.5 D)
    Row integral;                   // from a power of x in the slope to the next power in the even function
    // x^16 - 2^-15 T_16(x) in lower powers; the Chebyshev polynomial T_16 is at most 1 in size, so this is x^16 to
    // 2^-15.
    static constexpr Row last_power{-1 / 32768.0,      0, 128 / 32768.0,    0, -2688 / 32768.0,  0,
                                    21504 / 32768.0,   0, -84480 / 32768.0, 0, 180224 / 32768.0, 0,
                                    -212992 / 32768.0, 0, 131072 / 32768.0, 0};
    Row series[2], even_series;  // kernel(u) = asymptote + sum of series[k - 1] e^(-k u), u > 0

    static const SmoothKernels& tables() {
        static const std::unique_ptr<const SmoothKernels> built(new SmoothKernels);
        return *built;
    }

private:
    using Real = LongReal;
    using Square = std::array<std::array<Real, terms>, terms>;

    SmoothKernels() {
        const Real half = Real(bin_width) / 2;
        for (int apart = 0; apart <= near_bins; ++apart) {
            auto table = [&](Real (*function)(Real)) {
                return powers([&](Real x, Real y) { return function(apart * Real(bin_width) + half * (x - y)); });
            };
            near[slope_kernel][apart] = table(slope);
            near[curvature_kernel][apart] = table(curvature);
            const Matrix around = table(even);
            for (int l = 0; l < terms; ++l) even_near[apart][l] = around[l][0];
        }
        for (int k = 1; k <= terms; ++k) {
            const Matrix wave = powers([&](Real x, Real) { return std::exp(k * half * x); });
            for (int l = 0; l < terms; ++l) {
                rising[l][k - 1] = wave[0][l];
                falling[k - 1][l] = l % 2 ? -wave[0][l] : wave[0][l];
            }
            for (int apart = 0; apart <= decay_bins; ++apart)
                decay[apart][k - 1] = static_cast<double>(std::exp(-k * Real(bin_width) * apart));
            integral[k - 1] = bin_width / 2 / k;
            const double sign = k % 2 ? 1.0 : -1.0;
            even_series[k - 1] = sign / k;
            series[slope_kernel][k - 1] = -sign;
            series[curvature_kernel][k - 1] = sign * k;
        }
    }

    static Real even(Real u) { return std::fabs(u) / 2 + std::log1p(std::exp(-std::fabs(u))); }
    static Real slope(Real u) { return std::tanh(u / 2) / 2; }
    static Real curvature(Real u) {
        const Real e = std::exp(-std::fabs(u));
        return e / ((1 + e) * (1 + e));
    }

    // The coefficients [power of y][power of x] of f on the square: from values at Chebyshev points to Chebyshev
    // coefficients to powers. The last step multiplies by integers, so its rounding is small.
    template <class Function>
    static Matrix powers(Function&& f) {
        const Real pi = std::acos(Real(-1));
        Square at{}, cosine{}, chebyshev{};
        for (int i = 0; i < terms; ++i)
            for (int j = 0; j < terms; ++j) {
                cosine[j][i] = std::cos(j * (2 * i + 1) * pi / (2 * terms)) * (j ? 2 : 1) / terms;
                at[j][i] = f(std::cos((2 * i + 1) * pi / (2 * terms)), std::cos((2 * j + 1) * pi / (2 * terms)));
            }
        chebyshev[0][0] = chebyshev[1][1] = 1;  // [degree][power]
        for (int j = 2; j < terms; ++j)
            for (int k = 0; k < terms; ++k)
                chebyshev[j][k] = (k ? 2 * chebyshev[j - 1][k - 1] : 0) - chebyshev[j - 2][k];
        const Square coefficients = product(cosine, product(at, transposed(cosine)));
        const Square result = product(transposed(chebyshev), product(coefficients, chebyshev));
        Matrix rounded;
        for (int l = 0; l < terms; ++l)
            for (int k = 0; k < terms; ++k) rounded[l][k] = static_cast<double>(result[l][k]);
        return rounded;
    }

    static Square product(const Square& a, const Square& b) {
        Square result{};
        for (int i = 0; i < terms; ++i)
            for (int k = 0; k < terms; ++k)
                for (int j = 0; j < terms; ++j) result[i][j] += a[i][k] * b[k][j];
        return result;
    }

    static Square transposed(const Square& a) {
        Square result;
        for (int i = 0; i < terms; ++i)
            for (int j = 0; j < terms; ++j) result[j][i] = a[i][j];
        return result;
    }
};

}  // namespace rankwise
