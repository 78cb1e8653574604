// Weighted sums over the violated partners of each row of one query: the label partition of pair_count.hpp
// with numbers to add instead of ones to count. Weighted hinge, squared hinge, its Hessian and the weighted
// metrics are all read off these sums.
#pragma once

#include <vector>

#include "order_tree.hpp"
#include "pair_count.hpp"

namespace rankwise {

// K numbers a row, by label position: what a row adds to its partners when it is the better or the worse one
// of a pair, and what it receives: `up` from its better partners, `down` from its worse ones.
struct Channels {
    std::vector<double> as_better, as_worse, up, down;
    void resize(std::int64_t n, int k) {
        as_better.resize(n * k);
        as_worse.resize(n * k);
        up.assign(n * k, 0.0);
        down.assign(n * k, 0.0);
    }
};

namespace detail {

template <int K>
inline void add(double* to, const double* from) {
    for (int k = 0; k < K; ++k) to[k] += from[k];
}

// The windows begin or end at a border of the node, so each sum runs from that border: no difference of two
// large prefix sums is ever taken, and sums of weights keep their relative precision.
template <int K>
class SumDescent {
public:
    struct Scratch {
        std::int32_t* prefix;
        double* from_start;  // over the upper rows before k
        double* to_end;      // over the lower rows from k on
        Scratch skip(std::int64_t n) const { return {prefix + n, from_start + n * K, to_end + n * K}; }
    };

    SumDescent(const std::int32_t* level_begin, Channels& channels) : level_begin_(level_begin), c_(channels) {}

    void run(RowSlot* rows, RowSlot* spare, Scratch scratch, std::int32_t begin, std::int32_t end,
             int n_threads) const {
        const std::int32_t n = end - begin;
        if (n <= sum_leaf_rows) return leaf(rows, n);
        const std::int32_t split = split_position(level_begin_, begin, end);
        if (split == end) return;
        const std::int32_t lower = split - begin;
        count_lower(rows, scratch.prefix, n, split);
        accumulate(rows, scratch, n, split);
        partition(rows, spare, scratch, n, split);
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
                 [&] { run_upper(scratch.skip(lower + lower_threads), upper_threads); });
    }

private:
    static constexpr std::int32_t sum_leaf_rows = 24;
    const std::int32_t* level_begin_;
    Channels& c_;

    void accumulate(const RowSlot* rows, Scratch s, std::int32_t n, std::int32_t split) const {
        double sum[K] = {};
        for (std::int32_t k = 0; k < n; ++k) {
            std::copy_n(sum, K, s.from_start + std::int64_t{k} * K);
            const std::int32_t p = rows[k].window.position;
            const double keep = p >= split;
            for (int j = 0; j < K; ++j) sum[j] += keep * c_.as_better[std::int64_t{p} * K + j];
        }
        std::copy_n(sum, K, s.from_start + std::int64_t{n} * K);
        std::fill_n(sum, K, 0.0);
        std::copy_n(sum, K, s.to_end + std::int64_t{n} * K);
        for (std::int32_t k = n - 1; k >= 0; --k) {
            const std::int32_t p = rows[k].window.position;
            const double keep = p < split;
            for (int j = 0; j < K; ++j) sum[j] += keep * c_.as_worse[std::int64_t{p} * K + j];
            std::copy_n(sum, K, s.to_end + std::int64_t{k} * K);
        }
    }

    void partition(const RowSlot* rows, RowSlot* spare, Scratch s, std::int32_t n, std::int32_t split) const {
        std::int32_t at_lower = 0, at_upper = s.prefix[n];
        for (std::int32_t k = 0; k < n; ++k) {
            WindowRow row = rows[k].window;
            const std::int64_t p = row.position;
            const bool upper = p >= split;
            const double* sums = upper ? s.to_end + std::int64_t{row.low} * K
                                       : s.from_start + std::int64_t{row.high} * K;
            add<K>((upper ? c_.down.data() : c_.up.data()) + p * K, sums);
            const std::int32_t mask = -static_cast<std::int32_t>(upper);
            const std::int32_t high = s.prefix[row.high], low = s.prefix[row.low];
            row.high = high ^ ((high ^ (row.high - high)) & mask);
            row.low = low ^ ((low ^ (row.low - low)) & mask);
            spare[at_lower ^ ((at_lower ^ at_upper) & mask)].window = row;
            at_lower += 1 + mask;
            at_upper -= mask;
        }
    }

    void leaf(const RowSlot* rows, std::int32_t n) const {
        for (std::int32_t k = 0; k < n; ++k) {
            const WindowRow row = rows[k].window;
            const std::int32_t mine = level_begin_[row.position];
            double* up = c_.up.data() + std::int64_t{row.position} * K;
            double* down = c_.down.data() + std::int64_t{row.position} * K;
            for (std::int32_t j = 0; j < row.high; ++j) {
                const std::int64_t p = rows[j].window.position;
                if (level_begin_[p] > mine) add<K>(up, c_.as_better.data() + p * K);
            }
            for (std::int32_t j = row.low; j < n; ++j) {
                const std::int64_t p = rows[j].window.position;
                if (level_begin_[p] < mine) add<K>(down, c_.as_worse.data() + p * K);
            }
        }
    }
};

}  // namespace detail

// The label partition: O(n log n).
template <int K>
void sum_by_merge(const LabelOrder& order, const double* scores, double margin, Channels& channels,
                  int n_threads) {
    CountScratch scratch(order.n);
    RowSlot* rows = rows_by_score(order, scores, margin, scratch.rows(), scratch.spare(), scratch.scores(),
                                  n_threads);
    RowSlot* spare = rows == scratch.rows() ? scratch.spare() : scratch.rows();
    const std::int64_t room = order.n + detail::most_forks;
    std::unique_ptr<double[]> sums(new double[2 * room * K]);
    detail::SumDescent<K>(order.level_begin, channels)
        .run(rows, spare, {scratch.prefix(), sums.get(), sums.get() + room * K}, 0,
             static_cast<std::int32_t>(order.n), std::min(n_threads, detail::most_forks));
}

// Algorithm 3 of Airola et al. 2011: rows by score, an order-statistic tree over labels. O(n log n).
template <int K>
void sum_by_tree(const LabelOrder& order, const double* scores, double margin, Channels& channels) {
    CountScratch scratch(order.n);
    const RowSlot* rows =
        rows_by_score(order, scores, margin, scratch.rows(), scratch.spare(), scratch.scores(), 1);
    const auto n = static_cast<std::int32_t>(order.n);
    OrderTree<K> tree(order.n);
    for (std::int32_t i = 0, j = 0; i < n; ++i) {
        const WindowRow row = rows[i].window;
        for (; j < row.high; ++j) {
            const std::int32_t p = rows[j].window.position;
            tree.insert(order.level_begin[p], channels.as_better.data() + std::int64_t{p} * K);
        }
        tree.sum_larger(order.level_begin[row.position], channels.up.data() + std::int64_t{row.position} * K);
    }
    tree.clear();
    for (std::int32_t i = n - 1, j = n - 1; i >= 0; --i) {
        const WindowRow row = rows[i].window;
        for (; j >= row.low; --j) {
            const std::int32_t p = rows[j].window.position;
            tree.insert(order.level_begin[p], channels.as_worse.data() + std::int64_t{p} * K);
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
            if (!violated(score, scores[order.row[q]], margin)) continue;
            detail::add<K>(channels.up.data() + q * K, channels.as_better.data() + p * K);
            detail::add<K>(channels.down.data() + p * K, channels.as_worse.data() + q * K);
        }
    }
}

// Every pair of different labels, whatever the scores, by running sums over the labels: O(n).
template <int K>
void sum_by_label(const LabelOrder& order, Channels& channels) {
    double sum[K] = {};
    for (std::int64_t p = 0, level = 0; p < order.n; ++p) {
        for (; level < order.level_begin[p]; ++level) detail::add<K>(sum, channels.as_worse.data() + level * K);
        detail::add<K>(channels.down.data() + p * K, sum);
    }
    std::fill_n(sum, K, 0.0);
    std::int64_t added = order.n;  // rows from here on are in the sum
    for (std::int64_t end = order.n; end > 0;) {
        const std::int64_t begin = order.level_begin[end - 1];
        for (; added > end;) detail::add<K>(sum, channels.as_better.data() + --added * K);
        for (std::int64_t p = begin; p < end; ++p) detail::add<K>(channels.up.data() + p * K, sum);
        end = begin;
    }
}

}  // namespace rankwise
