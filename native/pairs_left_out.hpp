// Pairs of rows in the wrong order by the model that is fitted without them (leave-pair-out), counted without storing a
// score: a few operations for each entry of a tile of the smoother, which the caller computes. The formulas are those
// of AllPairs and TwoClasses in model_selection/pair_formulas.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "vectors.hpp"

namespace rankwise {

// A tile of a matrix in order C: the rows of `first`, the columns of `second`, counted in all rows.
struct PairTile {
    const double* entries;
    std::size_t first, n_rows;
    std::size_t second, n_columns;

    const double* row(std::size_t i) const { return entries + i * n_columns; }
};

// All pairs count, ties included: labels, P_ii, 1 - 2/m - P_ii and (P y)_i - P_ii y_i of each of m rows. Differences
// below `tie` times the determinant, or `rounding` times the smaller factor, are rounding errors of equal scores.
struct SmoothedRows {
    const double* labels;
    const double* diagonal;
    const double* left;
    const double* own;
    std::size_t m;
    double tie, rounding;
};

// Rows of one of two classes: the scores, (G L)_ii, J_ii and (J y)_i of each row.
struct ClassRows {
    const double* fitted;
    const double* own;
    const double* diagonal;
    const double* right;
    std::size_t n;
};

namespace detail {

// Twice the error of a pair whose difference should be positive: a tie counts one half.
RANKWISE_INLINE std::int64_t twice_wrong(double difference, double smallest) {
    return std::int64_t(difference < -smallest) + std::int64_t(difference <= smallest);
}

// A row with rows before it.
struct CountSmoothed {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const SmoothedRows& rows, std::size_t i, const double* P, std::size_t second,
                                    std::size_t n, std::int64_t* total) {
        const double share = 1.0 / static_cast<double>(rows.m);
        const double y_i = rows.labels[i], own_i = rows.own[i], left_i = rows.left[i], P_ii = rows.diagonal[i];
        const double *y = rows.labels + second, *own = rows.own + second, *left = rows.left + second;
        const double* diagonal = rows.diagonal + second;
        std::int64_t count = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const double p = P[j], a_i = left_i - p, a_j = left[j] - p, off = p + share;
            const double determinant = (left_i + share) * (left[j] + share) - off * off;
            const double least = std::fabs(a_i) < std::fabs(a_j) ? std::fabs(a_i) : std::fabs(a_j);
            const double by_tie = rows.tie * std::fabs(determinant), by_rounding = rows.rounding * least;
            const double smallest = by_tie > by_rounding ? by_tie : by_rounding;
            const double difference =
                (own_i - p * y[j]) * a_j - (own[j] - p * y_i) * a_i - (y_i + y[j]) * ((P_ii - diagonal[j]) * share);
            const double upward = y_i > y[j] ? difference : -difference;
            count += y_i != y[j] ? twice_wrong(upward, smallest) : 0;
        }
        *total += count;
    }
};

// A positive row with all negative rows, given J_ij, (G L)_ij and (G L)_ji.
struct CountClasses {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const ClassRows& rows, std::size_t i, const ClassRows& others, const double* J,
                                    const double* above, const double* below, double smallest, std::int64_t* total) {
        const double fitted_i = rows.fitted[i], own_i = rows.own[i], J_ii = rows.diagonal[i], right_i = rows.right[i];
        std::int64_t count = 0;
        for (std::size_t j = 0; j < others.n; ++j) {
            const double inverse = 1.0 / (J_ii * others.diagonal[j] - J[j] * J[j]);
            const double moved_i = (right_i * others.diagonal[j] - J[j] * others.right[j]) * inverse;
            const double moved_j = (J_ii * others.right[j] - J[j] * right_i) * inverse;
            const double score_i = fitted_i - own_i * moved_i - above[j] * moved_j;
            const double score_j = others.fitted[j] - others.own[j] * moved_j - below[j] * moved_i;
            count += twice_wrong(score_i - score_j, smallest);
        }
        *total += count;
    }
};

}  // namespace detail

// Twice the number of pairs of a row of the tile and an earlier row whose scores differ in the wrong direction.
inline std::int64_t twice_wrong_smoothed(const PairTile& P, const SmoothedRows& rows) {
    std::int64_t total = 0;
    detail::on_this_cpu([&](auto cpu) {
        for (std::size_t i = 0; i < P.n_rows; ++i) {
            const std::size_t row = P.first + i;
            const std::size_t n = row < P.second ? 0 : std::min(P.n_columns, row - P.second);
            detail::run<detail::CountSmoothed>(cpu, rows, row, P.row(i), P.second, n, &total);
        }
    });
    return total;
}

// Twice the number of positive rows below negative ones; J and G L have a row for each positive row, and `below` has
// the transpose of the other part of G L.
inline std::int64_t twice_wrong_classes(const ClassRows& positive, const ClassRows& negative, const double* J,
                                        const double* above, const double* below, double smallest) {
    std::int64_t total = 0;
    detail::on_this_cpu([&](auto cpu) {
        for (std::size_t i = 0; i < positive.n; ++i) {
            const std::size_t begin = i * negative.n;
            detail::run<detail::CountClasses>(cpu, positive, i, negative, J + begin, above + begin, below + begin,
                                              smallest, &total);
        }
    });
    return total;
}

}  // namespace rankwise
