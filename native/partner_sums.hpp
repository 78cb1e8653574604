// Weighted sums over the violated partners of each row of one query: the label partition of label_descent.hpp
// with numbers to add instead of ones to count. Weighted hinge, squared hinge, its Hessian and the weighted
// metrics are all read off these sums.
#pragma once

#include <array>
#include <bit>
#include <vector>

#include "order_tree.hpp"
#include "pair_count.hpp"

namespace rankwise {

// K numbers per row, by label position: `own` is what a row adds to its partners; `sum` holds what it receives, K
// sums over its better partners and then K over its worse ones. A row with can_be_worse 0 (a censored one) is the
// worse one of no pair.
struct Channels {
    std::vector<double> own, can_be_worse, sum;
    void resize(std::int64_t n, int k) {
        own.resize(n * k);
        can_be_worse.resize(n);
        sum.assign(2 * n * k, 0.0);
    }
    template <int K>
    double* up(std::int64_t position) {
        return sum.data() + 2 * K * position;
    }
    template <int K>
    double* down(std::int64_t position) {
        return up<K>(position) + K;
    }
};

namespace detail {

// x where the mask is all ones, 0 where it is zero: a choice without a branch.
inline double masked(double x, std::int64_t mask) {
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(x) & mask);
}

template <int K>
inline void add(double* to, const double* from, double factor = 1.0) {
    for (int k = 0; k < K; ++k) to[k] += factor * from[k];
}

// A row on its way down with what it adds and what it has received, K sums over its better and K over its worse
// partners. Where every row adds 1 to the first of them, `unit`, that one is a count. Only with `censored` may a row
// be the worse one of no pair.
template <int K, bool unit, bool censored>
struct SumRow {
    using Out = double*;
    static constexpr int tables = K - unit, results = 2 * K;
    std::int32_t high, low, position;
    std::int32_t worse_mask;  // all ones, or zero for a row that is the worse one of no pair
    std::array<double, tables> own, better, worse;
    std::array<std::int32_t, unit ? 2 : 0> counts;

    SumRow() = default;
    SumRow(const WindowRow& window, const Channels& channels)
        : high(window.high), low(window.low), position(window.position),
          worse_mask(-static_cast<std::int32_t>(channels.can_be_worse[position] != 0)), better{}, worse{}, counts{} {
        std::copy_n(channels.own.data() + std::int64_t{position} * K + unit, tables, own.data());
    }

    double add_better(int t) const { return own[t]; }
    double add_worse(int t) const { return censored ? masked(own[t], worse_mask) : own[t]; }
    void take_better(std::int32_t count, const double* sums, int stride) {
        if constexpr (unit) counts[0] += count;
        for (int t = 0; t < tables; ++t) better[t] += censored ? masked(sums[t * stride], worse_mask) : sums[t * stride];
    }
    void take_worse(std::int32_t count, const double* sums, int stride) {
        if constexpr (unit) counts[1] += count;
        for (int t = 0; t < tables; ++t) worse[t] += sums[t * stride];
    }
    void store(Out out) const {
        double *up = out + std::int64_t{position} * results, *down = up + K;
        if constexpr (unit) {
            *up++ = counts[0];
            *down++ = counts[1];
        }
        std::copy_n(better.data(), tables, up);
        std::copy_n(worse.data(), tables, down);
    }
};

// The same with one sum over all partners for each channel. With a second channel, the gain, the worse partners' are
// subtracted: over better partners the weight is gain_j - gain_i, over worse ones gain_i - gain_j.
template <int K, bool censored>
struct MomentRow {
    using Out = double*;
    static constexpr int tables = K, results = K;
    std::int32_t high, low, position;
    std::int32_t worse_mask;
    std::array<double, K> own, sum;

    MomentRow() = default;
    MomentRow(const WindowRow& window, const Channels& channels)
        : high(window.high), low(window.low), position(window.position),
          worse_mask(-static_cast<std::int32_t>(channels.can_be_worse[position] != 0)), sum{} {
        std::copy_n(channels.own.data() + std::int64_t{position} * K, K, own.data());
    }

    double add_better(int t) const { return own[t]; }
    double add_worse(int t) const { return censored ? masked(own[t], worse_mask) : own[t]; }
    void take_better(std::int32_t, const double* sums, int stride) {
        for (int t = 0; t < K; ++t) sum[t] += censored ? masked(sums[t * stride], worse_mask) : sums[t * stride];
    }
    void take_worse(std::int32_t, const double* sums, int stride) {
        for (int t = 0; t < K; ++t) sum[t] += K == 2 ? -sums[t * stride] : sums[t * stride];
    }
    void store(Out out) const { std::copy_n(sum.data(), K, out + std::int64_t{position} * K); }
};

}  // namespace detail

// Scratch for the rows of one query, reused from query to query.
template <class Row>
struct DescentScratch {
    explicit DescentScratch(std::int64_t n) : rows(2 * n), part(n) {}
    Buffer<Row> rows;
    Buffer<std::uint8_t> part;
};

// The descent by label, from rows in score order with their windows: O(n log n). `result` receives, by position, what
// a Row stores.
template <class Row>
void sum_windows(const LabelOrder& order, const RowSlot* windows, const Channels& channels,
                 DescentScratch<Row>& scratch, int n_threads, double* result) {
    Row* rows = scratch.rows.data();
    const detail::Blocks blocks = detail::Blocks::of(order.n, n_threads);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i) rows[i] = Row(windows[i].window, channels);
    });
    detail::LabelDescent<Row>(order.level_begin, result)
        .run(rows, rows + order.n, scratch.part.data(), 0, static_cast<std::int32_t>(order.n), n_threads);
}

// The descent by label, from scores.
template <class Row>
class SumByMerge {
public:
    explicit SumByMerge(std::int64_t n) : count_(n), descent_(n) {}
    void operator()(const LabelOrder& order, const double* scores, double margin, Channels& channels, int n_threads) {
        const RowSlot* windows = rows_by_score(order, scores, margin, count_.rows(), count_.spare(), count_.scores(),
                                               n_threads);
        sum_windows<Row>(order, windows, channels, descent_, n_threads, channels.sum.data());
    }

private:
    CountScratch count_;
    DescentScratch<Row> descent_;
};

// Algorithm 3 of Airola et al. 2011: rows by score, an order-statistic tree over labels. O(n log n).
template <int K>
void sum_by_tree(const LabelOrder& order, const double* scores, double margin, Channels& channels) {
    CountScratch scratch(order.n);
    const RowSlot* rows =
        rows_by_score(order, scores, margin, scratch.rows(), scratch.spare(), scratch.scores(), 1);
    const auto n = static_cast<std::int32_t>(order.n);
    OrderTree<K> tree(order.n);
    double value[K];
    for (std::int32_t i = 0, j = 0; i < n; ++i) {
        const WindowRow row = rows[i].window;
        for (; j < row.high; ++j) {
            const std::int64_t p = rows[j].window.position;
            tree.insert(order.level_begin[p], channels.own.data() + p * K);
        }
        std::fill_n(value, K, 0.0);
        tree.sum_larger(order.level_begin[row.position], value);
        detail::add<K>(channels.up<K>(row.position), value,
                       channels.can_be_worse[row.position]);
    }
    tree.clear();
    for (std::int32_t i = n - 1, j = n - 1; i >= 0; --i) {
        const WindowRow row = rows[i].window;
        for (; j >= row.low; --j) {
            const std::int64_t p = rows[j].window.position;
            std::fill_n(value, K, 0.0);
            detail::add<K>(value, channels.own.data() + p * K, channels.can_be_worse[p]);
            tree.insert(order.level_begin[p], value);
        }
        tree.sum_smaller(order.level_begin[row.position], channels.down<K>(row.position));
    }
}

// Every pair: O(n^2).
template <int K>
void sum_by_pairs(const LabelOrder& order, const double* scores, double margin, Channels& channels) {
    for (std::int64_t p = 0; p < order.n; ++p) {
        const double score = scores[order.row[p]];
        for (std::int64_t q = 0; q < order.level_begin[p]; ++q) {
            if (channels.can_be_worse[q] == 0 || !violated(score, scores[order.row[q]], margin)) continue;
            detail::add<K>(channels.up<K>(q), channels.own.data() + p * K);
            detail::add<K>(channels.down<K>(p), channels.own.data() + q * K);
        }
    }
}

// Every pair of different labels, whatever the scores, by running sums over the labels: O(n).
template <int K>
void sum_by_label(const LabelOrder& order, Channels& channels) {
    double sum[K] = {};
    for (std::int64_t p = 0, added = 0; p < order.n; ++p) {
        for (; added < order.level_begin[p]; ++added)
            detail::add<K>(sum, channels.own.data() + added * K, channels.can_be_worse[added]);
        detail::add<K>(channels.down<K>(p), sum);
    }
    std::fill_n(sum, K, 0.0);
    for (std::int64_t end = order.n, added = order.n; end > 0;) {
        const std::int64_t begin = order.level_begin[end - 1];
        while (added > end) detail::add<K>(sum, channels.own.data() + --added * K);
        for (std::int64_t p = begin; p < end; ++p)
            detail::add<K>(channels.up<K>(p), sum, channels.can_be_worse[p]);
        end = begin;
    }
}

}  // namespace rankwise
