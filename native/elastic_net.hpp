// Coordinate descent on a quadratic plus an elastic net.
#pragma once

#include <cmath>
#include <cstddef>

namespace rankwise {

// The terms sum_j absolute_j |v_j| + square_j v_j^2.
struct ElasticNet {
    const double* absolute;
    const double* square;
};

// Lowers slopes'(v - w) + (v - w)'H(v - w)/2 + net(v) over v, from v = w, one coordinate at a time; `slopes` are those
// of the quadratic at v before and after. Ends after a sweep that lowers it by at most `tol`, and returns the decrease
// of the last sweep, or a bound below it.
//
// A coordinate without curvature has no slope either, but for rounding: it is zero if it has a penalty. Cost: O(n) for
// each sweep and for each coordinate that moves.
inline double coordinate_descent(const double* H, std::size_t n, double* slopes, double* v, const ElasticNet& net,
                                 std::size_t max_sweeps, double tol) {
    double decrease = 0.0;
    for (std::size_t sweep = 0; sweep < max_sweeps; ++sweep) {
        decrease = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            const double curvature = H[j * n + j] + 2.0 * net.square[j];
            const double pull = H[j * n + j] * v[j] - slopes[j];
            const double beyond = std::fabs(pull) - net.absolute[j];
            double moved = 0.0;
            if (curvature > 0.0) {
                if (beyond > 0.0) moved = std::copysign(beyond, pull) / curvature;
            } else if (net.absolute[j] == 0.0) {
                continue;
            }
            const double step = moved - v[j];
            if (step == 0.0) continue;
            v[j] = moved;
            const double* row = H + j * n;
            for (std::size_t k = 0; k < n; ++k) slopes[k] += step * row[k];
            decrease += 0.5 * curvature * step * step;
        }
        if (!(decrease > tol)) break;
    }
    return decrease;
}

}  // namespace rankwise
