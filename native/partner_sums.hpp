// Weighted sums over the violated partners of each row of one query: the label partition of pair_count.hpp
// with numbers to add instead of ones to count. Weighted hinge, squared hinge, its Hessian and the weighted
// metrics are all read off these sums.
#pragma once

#include <vector>

#include "order_tree.hpp"
#include "pair_count.hpp"

namespace rankwise {

// K numbers per row, by label position: `own` is what a row adds to its partners, `up` what it receives from its
// better partners and `down` from its worse ones. A row with can_be_worse 0 (a censored one) is the worse
// one of no pair.
struct Channels {
    std::vector<double> own, can_be_worse, up, down;
    void resize(std::int64_t n, int k) {
        own.resize(n * k);
        can_be_worse.resize(n);
        up.assign(n * k, 0.0);
        down.assign(n * k, 0.0);
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

// A row on its way down with what it adds and what it has received. With Split, `sum` holds K sums over better
// and K over worse partners; otherwise one sum of each kind, the worse partners' times `sign`.
template <int K, bool Split>
struct SumRow {
    std::int32_t high, low, position;
    std::int32_t worse_mask;  // all ones, or zero for a row that is the worse one of no pair
    double own[K];
    double sum[Split ? 2 * K : K];
};

template <int K, bool Split>
class SumDescent {
public:
    using Row = SumRow<K, Split>;
    static constexpr int sums = Split ? 2 * K : K;

    // Room for n + 2 n_threads entries: each thread's last range of n rows needs n + 2 running sums.
    struct Scratch {
        std::int32_t* prefix;
        double* running;
        Scratch skip(std::int64_t n) const { return {prefix + n, running + n * K}; }
    };

    SumDescent(const std::int32_t* level_begin, double sign, double* result)
        : level_begin_(level_begin), sign_(sign), result_(result) {}

    void run(Row* rows, Row* spare, Scratch scratch, std::int32_t begin, std::int32_t end, int n_threads) const {
        const std::int32_t n = end - begin;
        if (n <= sum_leaf_rows) return leaf(rows, n);
        const std::int32_t split = split_position(level_begin_, begin, end);
        if (split == end) return store(rows, n);
        const std::int32_t lower = split - begin;
        accumulate(rows, scratch, n, lower, split);
        partition(rows, spare, scratch, n, lower, split);
        auto run_lower = [&](int t) { run(spare, rows, scratch, begin, split, t); };
        auto run_upper = [&](Scratch room, int t) {
            run(spare + lower, rows + lower, room, split, end, t);
        };
        if (n_threads < 2 || n < fork_rows) {
            run_lower(1);
            run_upper(scratch, 1);
            return;
        }
        const int upper_threads = n_threads / 2, lower_threads = n_threads - upper_threads;
        run_both([&] { run_lower(lower_threads); },
                 [&] { run_upper(scratch.skip(lower + 2 * lower_threads), upper_threads); });
    }

private:
    static constexpr std::int32_t sum_leaf_rows = 8;
    const std::int32_t* level_begin_;
    double sign_;
    double* result_;

    // Running sums over the first 0, 1, ... rows of either half, the lower half's first.
    void accumulate(const Row* rows, Scratch s, std::int32_t n, std::int32_t lower, std::int32_t split) const {
        double below[K] = {}, above[K] = {};
        double *at_lower = s.running, *at_upper = s.running + (std::int64_t{lower} + 1) * K;
        std::copy_n(below, K, at_lower);
        std::copy_n(above, K, at_upper);
        std::int32_t counted = 0;
        for (std::int32_t k = 0; k < n; ++k) {
            s.prefix[k] = counted;
            const std::int64_t upper = -static_cast<std::int64_t>(rows[k].position >= split);
            const std::int64_t worse = ~upper & rows[k].worse_mask;
            counted += static_cast<std::int32_t>(1 + upper);
            at_lower += K * (1 + upper);
            at_upper -= K * upper;
            for (int j = 0; j < K; ++j) {
                below[j] += masked(rows[k].own[j], worse);
                above[j] += masked(rows[k].own[j], upper);
                at_lower[j] = below[j];
                at_upper[j] = above[j];
            }
        }
        s.prefix[n] = counted;
    }

    // Gives each row its partners in the other half.
    void partition(const Row* rows, Row* spare, Scratch s, std::int32_t n, std::int32_t lower,
                   std::int32_t split) const {
        const double* upper_sums = s.running + (std::int64_t{lower} + 1) * K;
        const double* total = s.running + std::int64_t{lower} * K;
        std::int64_t at_lower = 0, at_upper = lower;
        for (std::int32_t k = 0; k < n; ++k) {
            Row row = rows[k];
            const auto mask = -static_cast<std::int64_t>(row.position >= split);
            const std::int32_t high = s.prefix[row.high], low = s.prefix[row.low];
            const std::int64_t worse = ~mask & row.worse_mask;
            const double* from_better = upper_sums + std::int64_t{row.high - high} * K;
            const double* from_worse = s.running + std::int64_t{low} * K;
            for (int j = 0; j < K; ++j) {
                const double up = masked(from_better[j], worse), down = masked(total[j] - from_worse[j], mask);
                if constexpr (Split) {
                    row.sum[j] += up;
                    row.sum[K + j] += down;
                } else {
                    row.sum[j] += up + sign_ * down;
                }
            }
            const auto narrow = static_cast<std::int32_t>(mask);
            row.high = high ^ ((high ^ (row.high - high)) & narrow);
            row.low = low ^ ((low ^ (row.low - low)) & narrow);
            spare[at_lower ^ ((at_lower ^ at_upper) & mask)] = row;
            at_lower += 1 + mask;
            at_upper -= mask;
        }
    }

    // All pairs of a few rows. The inner loop runs over the receiving rows, so that it becomes vector
    // instructions without reordering a sum, and compares integers, which may be done ahead of need.
    void leaf(Row* rows, std::int32_t n) const {
        constexpr std::int32_t m = sum_leaf_rows;
        alignas(64) std::int32_t level[m] = {}, high[m] = {}, low[m] = {};
        alignas(64) double up[K][m] = {}, down[K][m] = {};
        for (std::int32_t k = 0; k < n; ++k) {
            level[k] = level_begin_[rows[k].position];
            high[k] = rows[k].high;
            low[k] = rows[k].low;
        }
        for (std::int32_t j = 0; j < n; ++j) {
            const std::int32_t mine = level[j];
            alignas(64) std::int32_t better[m], worse[m];
            for (std::int32_t k = 0; k < m; ++k) {
                better[k] = (mine > level[k]) & (j < high[k]);
                worse[k] = (mine < level[k]) & (j >= low[k]);
            }
            for (int c = 0; c < K; ++c) {
                const double own = rows[j].own[c], own_worse = masked(own, rows[j].worse_mask);
                for (std::int32_t k = 0; k < m; ++k) {
                    up[c][k] += better[k] * own;
                    down[c][k] += worse[k] * own_worse;
                }
            }
        }
        for (std::int32_t k = 0; k < n; ++k)
            for (int c = 0; c < K; ++c) {
                rows[k].sum[c] += masked(up[c][k], rows[k].worse_mask);
                rows[k].sum[Split ? K + c : c] += (Split ? 1.0 : sign_) * down[c][k];
            }
        store(rows, n);
    }

    void store(const Row* rows, std::int32_t n) const {
        for (std::int32_t k = 0; k < n; ++k)
            std::copy_n(rows[k].sum, sums, result_ + std::int64_t{rows[k].position} * sums);
    }
};

}  // namespace detail

// The label partition, from rows in score order with their windows: O(n log n). `result` receives, by
// position, the `sum` of detail::SumRow.
template <int K, bool Split>
void sum_windows(const LabelOrder& order, const RowSlot* windows, const Channels& channels, double sign,
                 int n_threads, double* result) {
    using Descent = detail::SumDescent<K, Split>;
    using Row = typename Descent::Row;
    const int forks = std::min(n_threads, detail::most_forks);
    Buffer<Row> memory(2 * order.n);
    Buffer<std::int32_t> prefix(order.n + 2 * forks);
    Buffer<double> running((order.n + 2 * forks) * K);
    Row* rows = memory.data();
    const detail::Blocks blocks = detail::Blocks::of(order.n, n_threads);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i) {
            const WindowRow& window = windows[i].window;
            const std::int64_t p = window.position;
            const std::int32_t worse_mask = -static_cast<std::int32_t>(channels.can_be_worse[p] != 0);
            rows[i] = Row{window.high, window.low, window.position, worse_mask, {}, {}};
            std::copy_n(channels.own.data() + p * K, K, rows[i].own);
        }
    });
    Descent(order.level_begin, sign, result)
        .run(rows, rows + order.n, {prefix.data(), running.data()}, 0, static_cast<std::int32_t>(order.n), forks);
}

// The label partition from scores.
template <int K>
void sum_by_merge(const LabelOrder& order, const double* scores, double margin, Channels& channels,
                  int n_threads) {
    std::vector<double> both(2 * K * order.n);
    {
        CountScratch scratch(order.n);
        const RowSlot* windows = rows_by_score(order, scores, margin, scratch.rows(), scratch.spare(),
                                               scratch.scores(), n_threads);
        sum_windows<K, true>(order, windows, channels, 1.0, n_threads, both.data());
    }
    for (std::int64_t p = 0; p < order.n; ++p) {
        std::copy_n(both.data() + 2 * K * p, K, channels.up.data() + K * p);
        std::copy_n(both.data() + 2 * K * p + K, K, channels.down.data() + K * p);
    }
}

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
        detail::add<K>(channels.up.data() + std::int64_t{row.position} * K, value,
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
        tree.sum_smaller(order.level_begin[row.position], channels.down.data() + std::int64_t{row.position} * K);
    }
}

// Every pair: O(n^2).
template <int K>
void sum_by_pairs(const LabelOrder& order, const double* scores, double margin, Channels& channels) {
    for (std::int64_t p = 0; p < order.n; ++p) {
        const double score = scores[order.row[p]];
        for (std::int64_t q = 0; q < order.level_begin[p]; ++q) {
            if (channels.can_be_worse[q] == 0 || !violated(score, scores[order.row[q]], margin)) continue;
            detail::add<K>(channels.up.data() + q * K, channels.own.data() + p * K);
            detail::add<K>(channels.down.data() + p * K, channels.own.data() + q * K);
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
        detail::add<K>(channels.down.data() + p * K, sum);
    }
    std::fill_n(sum, K, 0.0);
    for (std::int64_t end = order.n, added = order.n; end > 0;) {
        const std::int64_t begin = order.level_begin[end - 1];
        while (added > end) detail::add<K>(sum, channels.own.data() + --added * K);
        for (std::int64_t p = begin; p < end; ++p)
            detail::add<K>(channels.up.data() + p * K, sum, channels.can_be_worse[p]);
        end = begin;
    }
}

}  // namespace rankwise
