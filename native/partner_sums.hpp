// Weighted sums over the violated partners of each row of one query: rows enter a tree over ranks in label order, once
// from the lowest label on and once from the highest. The weighted hinge, the squared hinge, its Hessian and the
// weighted metrics follow from these sums.
#pragma once

#include <array>
#include <vector>

#include "order_tree.hpp"
#include "pair_count.hpp"

namespace rankwise {

// Optional columns, one number per row. A null pointer stands for ones (weight, can_be_worse) or for no column (gain,
// moment). A row with can_be_worse 0 (a censored one) is the worse one of no pair.
struct RowColumns {
    const double* weight;
    const double* can_be_worse;
    const double* gain;
    const double* moment;
    double origin = 0;  // subtracted from the moments
};

// For row i and its violated partners j: up[0] = sum over better j of w_ij, up[1] = sum of w_ij moment_j, and
// `down` the same over worse j. w_ij is the product of the weights of the rows and, with gains, of the absolute
// difference of their gains. up[1] and down[1] are null without a moment.
struct RowSums {
    double* up[2];
    double* down[2];
};

// K numbers per row, by label position: a row adds `own` to the sums of its partners; `sum` holds K sums over its
// better partners and then K over its worse ones.
struct Channels {
    std::vector<double> own, can_be_worse;
    double* sum;
    Channels(std::int64_t n, int k, double* received) : own(n * k), can_be_worse(n), sum(received) {
        std::fill_n(sum, 2 * n * k, 0.0);
    }
    template <int K>
    double* up(std::int64_t position) {
        return sum + 2 * K * position;
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

// Channels of a row: weight [, weight * moment] [, weight * gain [, weight * moment * gain]].
template <bool Gain, bool Moment>
inline std::array<double, channel_count<Gain, Moment>> row_channels(const RowColumns& columns, std::int32_t row) {
    const double weight = or_one(columns.weight, row);
    if constexpr (Gain && Moment) {
        const double gain = columns.gain[row], moment = columns.moment[row] - columns.origin;
        return {weight, weight * moment, weight * gain, weight * gain * moment};
    } else if constexpr (Gain) {
        return {weight, weight * columns.gain[row]};
    } else if constexpr (Moment) {
        return {weight, weight * (columns.moment[row] - columns.origin)};
    } else {
        return {weight};
    }
}

// The weight and, with Moment, the moment of the better or worse partners of a row, from the sums of its channels.
template <bool Gain, bool Moment, bool better>
inline std::array<double, Moment ? 2 : 1> of_side(const RowColumns& columns, std::int64_t row, const double* received) {
    constexpr int moments = Moment ? 2 : 1;
    std::array<double, moments> sums;
    for (int m = 0; m < moments; ++m) {
        sums[m] = received[m];
        if constexpr (Gain) {
            sums[m] = received[m + moments] - columns.gain[row] * sums[m];
            if (!better) sums[m] = -sums[m];
        }
        sums[m] *= or_one(columns.weight, row);
    }
    return sums;
}

template <bool Gain, bool Moment, bool better>
inline void store_side(const RowColumns& columns, std::int64_t row, const double* received, double* const* out) {
    const auto sums = of_side<Gain, Moment, better>(columns, row, received);
    for (std::size_t m = 0; m < sums.size(); ++m) out[m][row] = sums[m];
}

template <bool Gain, bool Moment>
inline void store_sums(const RowColumns& columns, std::int64_t row, const double* received, const RowSums& out) {
    store_side<Gain, Moment, true>(columns, row, received, out.up);
    store_side<Gain, Moment, false>(columns, row, received + channel_count<Gain, Moment>, out.down);
}

template <int K>
inline void add(double* to, const double* from, double factor = 1.0) {
    for (int k = 0; k < K; ++k) to[k] += factor * from[k];
}

// The rows [begin, end) of a query: all rows of some labels. K numbers per row, by label position.
struct SumPart {
    LabelOrder order;
    const Window* windows;
    const double* given;
    const double* can_be_worse;  // by label position, or null
    std::int64_t begin, end;
    double* sums;  // 2 K numbers per row, of which these are K
};

// One side of the partners. Better ones enter from the highest label on, worse ones from the lowest with ranks counted
// from the highest score: so a window always consists of the ranks below its end.
template <int K, bool better>
struct Side {
    SumPart part;

    RANKWISE_INLINE std::uint32_t rank(std::int64_t p) const {
        const std::int32_t place = part.windows[p].place;
        return static_cast<std::uint32_t>(better ? place : part.order.n - 1 - place);
    }
    RANKWISE_INLINE std::uint32_t window_end(std::int64_t p) const {
        const Window& window = part.windows[p];
        return static_cast<std::uint32_t>(better ? window.high : part.order.n - window.low);
    }
    RANKWISE_INLINE void given_by(std::int64_t p, double* values) const {
        const double factor = better || !part.can_be_worse ? 1.0 : part.can_be_worse[p];
        for (int k = 0; k < K; ++k) values[k] = factor * part.given[p * K + k];
    }
    // A row that is read or entered some steps later.
    RANKWISE_INLINE std::int64_t ahead(std::int64_t p) const {
        constexpr std::int64_t rows = 12;
        const std::int64_t last = part.order.n - 1;
        return better ? (p < rows ? 0 : p - rows) : (p + rows > last ? last : p + rows);
    }
};

// Side and tree are copies: the compiler would reload everything behind a reference after every store of a vector.
template <int K, bool better, int depth>
struct SumLoop {
    Side<K, better> side;
    RankSums<K> tree;

    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const Side<K, better>& side, const RankSums<K>& tree) {
        SumLoop loop{side, tree};
        const SumPart part = side.part;
        const std::int32_t* level_begin = part.order.level_begin;
        if constexpr (better) {
            for (std::int64_t p = part.end - 1, entered = part.end; p >= part.begin; --p) {
                const bool of_next_level = p + 1 == part.end || level_begin[p] < level_begin[p + 1];
                while (of_next_level && entered > p + 1) loop.template enter<Cpu>(--entered);
                loop.template read<Cpu>(p);
            }
        } else {
            for (std::int64_t p = part.begin, entered = part.begin; p < part.end; ++p) {
                for (; entered < level_begin[p]; ++entered) loop.template enter<Cpu>(entered);
                loop.template read<Cpu>(p);
            }
        }
    }

    template <class Cpu>
    RANKWISE_INLINE void read(std::int64_t p) const {
        tree.fetch_to_read(side.window_end(side.ahead(p)));
        tree.template read<Cpu, depth>(side.window_end(p), side.part.sums + p * (2 * K));
    }
    template <class Cpu>
    RANKWISE_INLINE void enter(std::int64_t p) {
        tree.fetch_to_enter(side.rank(side.ahead(p)));
        double values[K];
        side.given_by(p, values);
        tree.template enter<Cpu, depth>(side.rank(p), values);
    }
};

template <int K, bool better>
void sum_side(const SumPart& part, Scratch& scratch) {
    const Side<K, better> side{part};
    const std::int64_t n = part.order.n, begin = better ? part.end : 0, end = better ? n : part.begin;
    scratch.restart();
    RankSums<K> tree(scratch, n);
    for (std::int64_t p = begin; p < end; ++p) {
        double values[K];
        side.given_by(p, values);
        tree.put(side.rank(p), values);
    }
    if (begin < end) tree.settle();
    at_depth(tree.depth, [&](auto depth) {
        on_this_cpu([&](auto cpu) { run<SumLoop<K, better, depth.value>>(cpu, side, tree); });
    });
}

}  // namespace detail

// The K numbers that a row adds to the sums of its partners, and 2 K sums, over its better and then over its worse
// partners; both by label position. A row with can_be_worse 0 adds nothing to better rows; the caller discards its own
// sums over better rows.
struct WindowSums {
    double* given;
    const double* can_be_worse;
    double* sums;
};

// Sums over the violated partners: O(n log n). The number of parts, and so the rounding, depends on n alone.
template <int K>
void sum_partners(const LabelOrder& order, const Window* windows, const WindowSums& sums, ScratchPool& pool,
                  int n_threads) {
    const std::int64_t n_parts = order.n < 1 << 20 ? 1 : 4;
    parallel_for(2 * n_parts, order.n < detail::parallel_rows ? 1 : n_threads, [&](std::size_t task) {
        const std::int64_t k = task / 2;
        const bool better = task % 2;
        const auto scratch = pool.lend();
        const auto run = better ? detail::sum_side<K, true> : detail::sum_side<K, false>;
        run({order, windows, sums.given, sums.can_be_worse, order.part_begin(k, n_parts),
             order.part_begin(k + 1, n_parts), sums.sums + (better ? 0 : K)},
            *scratch);
    });
}

// Algorithm 3 of Airola et al. 2011: rows by score, an order-statistic tree over labels. O(n log n).
template <int K>
void sum_by_tree(const LabelOrder& order, const double* scores, double margin, Channels& channels) {
    Scratch scratch;
    const RowSlot* rows = rows_by_score(order, scores, margin, scratch, 1, false).rows;
    const auto n = static_cast<std::int32_t>(order.n);
    OrderTree<K> tree(order.n);
    double value[K];
    for (std::int32_t i = 0, j = 0; i < n; ++i) {
        const Window row = rows[i].window;
        for (; j < row.high; ++j) {
            const std::int64_t p = rows[j].window.place;
            tree.insert(order.level_begin[p], channels.own.data() + p * K);
        }
        std::fill_n(value, K, 0.0);
        tree.sum_larger(order.level_begin[row.place], value);
        detail::add<K>(channels.up<K>(row.place), value, channels.can_be_worse[row.place]);
    }
    tree.clear();
    for (std::int32_t i = n - 1, j = n - 1; i >= 0; --i) {
        const Window row = rows[i].window;
        for (; j >= row.low; --j) {
            const std::int64_t p = rows[j].window.place;
            std::fill_n(value, K, 0.0);
            detail::add<K>(value, channels.own.data() + p * K, channels.can_be_worse[p]);
            tree.insert(order.level_begin[p], value);
        }
        tree.sum_smaller(order.level_begin[row.place], channels.down<K>(row.place));
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

// Every pair of different labels, for any scores, by running sums over the labels: O(n), without scratch.
template <bool Gain, bool Moment>
void sum_by_label(const LabelOrder& order, const RowColumns& columns, const RowSums& out) {
    using namespace detail;
    constexpr int K = channel_count<Gain, Moment>;
    double sum[K] = {};
    auto enter = [&](std::int64_t p, const double* factor) {
        add<K>(sum, row_channels<Gain, Moment>(columns, order.row[p]).data(), or_one(factor, order.row[p]));
    };
    for (std::int64_t p = 0, entered = 0; p < order.n; ++p) {
        for (; entered < order.level_begin[p]; ++entered) enter(entered, columns.can_be_worse);
        store_side<Gain, Moment, false>(columns, order.row[p], sum, out.down);
    }
    std::fill_n(sum, K, 0.0);
    for (std::int64_t end = order.n, entered = order.n; end > 0;) {
        const std::int64_t begin = order.level_begin[end - 1];
        while (entered > end) enter(--entered, nullptr);
        for (std::int64_t p = begin; p < end; ++p) {
            double received[K] = {};
            add<K>(received, sum, or_one(columns.can_be_worse, order.row[p]));
            store_side<Gain, Moment, true>(columns, order.row[p], received, out.up);
        }
        end = begin;
    }
}

}  // namespace rankwise
