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

// Optional columns, one number per row; a null pointer stands for ones (weight, can_be_worse) or for nothing. A row
// with can_be_worse 0 (a censored one) is the worse one of no pair.
struct RowColumns {
    const double* weight;
    const double* can_be_worse;
    const double* gain;
    const double* moment;
};

// For row i and its violated partners j: up[0] = sum over better j of w_ij, up[1] = sum of w_ij moment_j, and
// `down` the same over worse j, where w_ij is the product of the rows' weights and, with gains, of their
// absolute difference in gain. Null up[1], down[1] where there is no moment.
struct RowSums {
    double* up[2];
    double* down[2];
};

// K numbers per row, by label position: `own` is what a row adds to its partners; `sum` holds what it receives, K
// sums over its better partners and then K over its worse ones.
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

template <bool Gain, bool Moment>
constexpr int channel_count = (Gain ? 2 : 1) * (Moment ? 2 : 1);

inline double or_one(const double* column, std::int64_t row) { return column ? column[row] : 1.0; }

inline std::int32_t worse_mask(const RowColumns& columns, std::int32_t row) {
    return -static_cast<std::int32_t>(or_one(columns.can_be_worse, row) != 0);
}

// Channels of a row: weight [, weight * moment] [, weight * gain [, weight * moment * gain]].
template <bool Gain, bool Moment>
inline std::array<double, channel_count<Gain, Moment>> row_channels(const RowColumns& columns, std::int32_t row) {
    const double weight = or_one(columns.weight, row);
    if constexpr (Gain && Moment) {
        const double gain = columns.gain[row], moment = columns.moment[row];
        return {weight, weight * moment, weight * gain, weight * gain * moment};
    } else if constexpr (Gain) {
        return {weight, weight * columns.gain[row]};
    } else if constexpr (Moment) {
        return {weight, weight * columns.moment[row]};
    } else {
        return {weight};
    }
}

// Writes what a row's channels received from its better and worse partners to its sums.
template <bool Gain, bool Moment>
inline void store_sums(const RowColumns& columns, std::int32_t row, const double* up, const double* down,
                       const RowSums& out) {
    constexpr int moments = Moment ? 2 : 1;
    const double weight = or_one(columns.weight, row);
    for (int m = 0; m < moments; ++m) {
        double above = up[m], below = down[m];
        if constexpr (Gain) {
            above = up[m + moments] - columns.gain[row] * up[m];
            below = columns.gain[row] * down[m] - down[m + moments];
        }
        out.up[m][row] = weight * above;
        out.down[m][row] = weight * below;
    }
}

// x where the mask is all ones, 0 where it is zero: a choice without a branch.
inline double masked(double x, std::int64_t mask) {
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(x) & mask);
}

template <int K>
inline void add(double* to, const double* from, double factor = 1.0) {
    for (int k = 0; k < K; ++k) to[k] += factor * from[k];
}

// A row on its way down with what its channels add and what they have received from better and from worse partners.
// Without weights, `unit`, the first channel is 1 in every row, and what it receives is a count. Only with `censored`
// may a row be the worse one of no pair.
template <bool Gain, bool Moment, bool unit, bool censored>
struct SumRow {
    static constexpr int channels = channel_count<Gain, Moment>, tables = channels - unit;
    using Added = std::array<double, tables>;
    struct Received {
        std::array<double, channels> up, down;
    };
    using Out = Received*;
    std::int32_t high, low, position;
    std::int32_t worse_mask;  // all ones, or zero for a row that is the worse one of no pair
    std::array<double, tables> own, better, worse;
    std::array<std::int32_t, unit ? 2 : 0> counts;

    SumRow() = default;
    SumRow(const WindowRow& window, const Added* added, const std::int32_t* worse_masks)
        : high(window.high), low(window.low), position(window.position), worse_mask(censored ? worse_masks[position] : -1),
          own(added[position]), better{}, worse{}, counts{} {}

    static Added added(const RowColumns& columns, std::int32_t row) {
        const auto all = row_channels<Gain, Moment>(columns, row);
        Added own;
        std::copy_n(all.data() + unit, tables, own.data());
        return own;
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
        Received& received = out[position];
        if constexpr (unit) {
            received.up[0] = counts[0];
            received.down[0] = counts[1];
        }
        std::copy_n(better.data(), tables, received.up.data() + unit);
        std::copy_n(worse.data(), tables, received.down.data() + unit);
    }
    static void store_row(const RowColumns& columns, std::int32_t row, const Received& received, const RowSums& out) {
        store_sums<Gain, Moment>(columns, row, received.up.data(), received.down.data(), out);
    }
};

// The same for the moment alone, weight * moment [, weight * moment * gain], with one sum over all partners. With
// gains, over better partners the weight is gain_j - gain_i, over worse ones gain_i - gain_j.
template <bool Gain, bool censored>
struct MomentRow {
    static constexpr int tables = Gain ? 2 : 1;
    using Added = std::array<double, tables>;
    using Received = Added;
    using Out = Received*;
    std::int32_t high, low, position;
    std::int32_t worse_mask;
    std::array<double, tables> own, sum;

    MomentRow() = default;
    MomentRow(const WindowRow& window, const Added* added, const std::int32_t* worse_masks)
        : high(window.high), low(window.low), position(window.position), worse_mask(censored ? worse_masks[position] : -1),
          own(added[position]), sum{} {}

    static Added added(const RowColumns& columns, std::int32_t row) {
        const double moment = or_one(columns.weight, row) * columns.moment[row];
        if constexpr (Gain)
            return {moment, moment * columns.gain[row]};
        else
            return {moment};
    }

    double add_better(int t) const { return own[t]; }
    double add_worse(int t) const { return censored ? masked(own[t], worse_mask) : own[t]; }
    void take_better(std::int32_t, const double* sums, int stride) {
        for (int t = 0; t < tables; ++t) sum[t] += censored ? masked(sums[t * stride], worse_mask) : sums[t * stride];
    }
    void take_worse(std::int32_t, const double* sums, int stride) {
        for (int t = 0; t < tables; ++t) sum[t] += Gain ? -sums[t * stride] : sums[t * stride];
    }
    void store(Out out) const { out[position] = sum; }
    static void store_row(const RowColumns& columns, std::int32_t row, const Received& sum, double* out) {
        double total = sum[0];
        if constexpr (Gain) total = sum[1] - columns.gain[row] * total;
        out[row] = or_one(columns.weight, row) * total;
    }
};

}  // namespace detail

// Scratch for the rows of one query, reused from query to query. What rows add and receive passes through memory by
// position: rows that are near in label then are near in memory, wherever they are in the data.
template <class Row>
class WindowSums {
public:
    explicit WindowSums(std::int64_t n) : rows_(2 * n), part_(n), added_(n), received_(n), worse_mask_(n) {}

    // The descent by label, from rows in score order with their windows: O(n log n).
    template <class Output>
    void run(const LabelOrder& order, const RowSlot* windows, const RowColumns& columns, int n_threads,
             const Output& out) {
        Row* rows = rows_.data();
        typename Row::Added* added = added_.data();
        typename Row::Received* received = received_.data();
        std::int32_t* worse_mask = worse_mask_.data();
        const detail::Blocks blocks = detail::Blocks::of(order.n, n_threads);
        auto in_blocks = [&](auto&& work) {
            parallel_for(blocks.count, n_threads, [&](std::size_t b) {
                for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i) work(i);
            });
        };
        in_blocks([&](std::int64_t p) { added[p] = Row::added(columns, order.row[p]); });
        if (columns.can_be_worse)
            in_blocks([&](std::int64_t p) { worse_mask[p] = detail::worse_mask(columns, order.row[p]); });
        in_blocks([&](std::int64_t i) { rows[i] = Row(windows[i].window, added, worse_mask); });
        detail::LabelDescent<Row>(order.level_begin, received)
            .run(rows, rows + order.n, part_.data(), 0, static_cast<std::int32_t>(order.n), n_threads);
        in_blocks([&](std::int64_t p) { Row::store_row(columns, order.row[p], received[p], out); });
    }

private:
    Buffer<Row> rows_;
    Buffer<std::uint8_t> part_;
    Buffer<typename Row::Added> added_;
    Buffer<typename Row::Received> received_;
    Buffer<std::int32_t> worse_mask_;
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
