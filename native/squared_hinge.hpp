// The pairwise squared hinge loss, max(0, 1 - d)^2 with d = s_better - s_worse, over all pairs of a ranking: value,
// gradient and the diagonal of the Hessian, from the same sums.
#pragma once

#include "ranking.hpp"

namespace rankwise {

struct SquaredHinge {
    double *gradient, *diagonal;  // by row; zero for rows that are left out
};

namespace detail {

// Gradient, diagonal and part of the loss of a row from its sums. With v = 1 + s_worse - s_better, half the gradient is
// the sum of v over the pairs in which the row is the worse one, less that over those in which it is the better one.
// The sum of v^2 over all pairs is the product of half the gradient with the scores, plus the sum of v over all pairs.
template <bool Gain>
struct SquaredHingeRow {
    const LabelOrder& order;
    const RowColumns& columns;
    double factor;  // of the pairs of the query
    double* out;    // gradient and diagonal, by label position

    double operator()(std::int64_t p, const double* own, const double* better, const double* worse) const {
        const std::int32_t row = order.row[p];
        const double score = columns.weight ? columns.moment[row] - columns.origin : own[1];
        const auto [up, moment_up] = of_side<Gain, true, true>(columns, row, better);
        const auto [down, moment_down] = of_side<Gain, true, false>(columns, row, worse);
        const double as_worse = (1.0 + score) * up - moment_up, as_better = (1.0 - score) * down + moment_down;
        const double half = factor * (as_worse - as_better);
        out[2 * p] = 2.0 * half;
        out[2 * p + 1] = 2.0 * factor * (up + down);
        return half * score + factor * as_worse;
    }
};

template <bool Gain>
double squared_hinge(const Ranking& ranking, const double* query_factor, const RowColumns& columns, ScratchPool& pool,
                     int n_threads, const SquaredHinge& out) {
    const double* scores = columns.moment;
    const auto kept = pool.lend();
    kept->restart();
    auto* received = kept->take<double>(2 * ranking.query_begin[ranking.n_queries]);
    std::vector<double> values(ranking.n_queries);
    for_each_query(
        ranking, n_threads, [&] { return pool.lend(); },
        [&](std::int64_t q, ScratchPool::Lease& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            // No pair depends on a common offset; in products of scores it would cancel digits.
            RowColumns centred = columns;
            centred.origin = sum_over_rows(order.n, threads, [&](std::int64_t p) { return scores[order.row[p]]; }) /
                             static_cast<double>(order.n);
            double* of_query = received + 2 * ranking.query_begin[q];
            const SquaredHingeRow<Gain> found{order, centred, query_factor[q], of_query};
            scratch->restart();
            values[q] = sum_query<Gain, true>(order, scores, 1.0, centred, pool, *scratch, threads, found, of_query);
        });
    read_by_row<2>(ranking, n_threads, received, [=](std::int64_t i, const double* numbers) {
        out.gradient[i] = numbers[0];
        out.diagonal[i] = numbers[1];
    });
    return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace detail

// Returns the loss, each query times its factor. columns.moment holds the scores.
inline double squared_hinge(const Ranking& ranking, const double* query_factor, const RowColumns& columns,
                            ScratchPool& pool, int n_threads, const SquaredHinge& out) {
    const auto run = columns.gain ? detail::squared_hinge<true> : detail::squared_hinge<false>;
    return run(ranking, query_factor, columns, pool, n_threads, out);
}

}  // namespace rankwise
