// The violated partners of each row of one query, counted and summed without visiting a pair.
//
// Rows are numbered by label: position p, and level_begin[p] is the first position of the same label, so ties
// share it. In score order, the better partners that violate row i are the rows with a higher label among
// the first `high` of the order, and the worse partners are the rows with a lower label from `low` on. Take
// the rows in score order and deal them out by label into eight parts, each still in score order. Running
// counts and sums of the parts give every row its partners in the parts above and below its own, and its
// window inside its own part, which is dealt out in turn. This is a merge sort by score run from the root to
// the leaves. Windows only move forward in score order, so all memory is passed through from end to end, and
// the only data-dependent choice is an address.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "parallel.hpp"

namespace rankwise::detail {

constexpr int ways = 8;
constexpr int leaf_ways = 16;  // a leaf has at most this many rows, each of which may be a part of its own
constexpr std::int32_t fork_rows = 1 << 15;

// Two sums and four counts that are added to at once. Nothing is reordered: each lane is a sum of its own.
#ifdef __GNUC__
typedef double TwoSums __attribute__((vector_size(16)));
typedef std::int64_t TwoMasks __attribute__((vector_size(16)));
typedef std::int32_t FourCounts __attribute__((vector_size(16)));
inline TwoSums masked_twice(double x, TwoMasks mask) { return (TwoSums)((TwoMasks)TwoSums{x, x} & mask); }
#else
template <class Number, int width>
struct Several {
    Number v[width];
    Several& operator+=(Several other) {
        for (int k = 0; k < width; ++k) v[k] += other.v[k];
        return *this;
    }
};
using TwoSums = Several<double, 2>;
using TwoMasks = Several<std::int64_t, 2>;
using FourCounts = Several<std::int32_t, 4>;
inline TwoSums masked_twice(double x, TwoMasks mask) { return {{mask.v[0] ? x : 0.0, mask.v[1] ? x : 0.0}}; }
#endif

template <class Several, class Number>
inline Several several(const Number* from) {
    Several value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// One register at a time: a copy of all of them at once would keep them in memory.
template <class Several, class Number>
inline void store(Number* to, Several value) {
    std::memcpy(to, &value, sizeof value);
}

// A row of part d belongs to the lanes 0 to d: lane b is about the parts from b on.
struct LaneTable {
    alignas(64) std::int64_t mask[leaf_ways][leaf_ways];
    alignas(64) std::int32_t one[leaf_ways][leaf_ways];
};

constexpr LaneTable make_lane_table() {
    LaneTable table{};
    for (int d = 0; d < leaf_ways; ++d)
        for (int b = 0; b <= d; ++b) {
            table.mask[d][b] = -1;
            table.one[d][b] = 1;
        }
    return table;
}

inline constexpr LaneTable lane_table = make_lane_table();

// For a stretch of prefixes of the rows: the number of their rows in the parts from b on, and the sums of what
// these add to their partners. Lane W, about no part, is always 0.
template <int W, int tables, int entries>
class Prefixes {
public:
    static constexpr int length = entries, sum_stride = W + 2;
    const std::int32_t* count(std::int32_t entry, int part) const { return count_.data() + entry * count_stride + part; }
    const double* sum(std::int32_t entry, int part) const { return sum_.data() + entry * tables * sum_stride + part; }

    void restart() {
        counts_ = {};
        sums_ = {};
    }

    // Prefixes begin to before end of n rows; part(i) and gives(i, t) are about the i-th of them.
    template <class Part, class Gives>
    void fill(std::int32_t begin, std::int32_t end, std::int32_t n, Part&& part, Gives&& gives) {
        Counts counts = counts_;
        Sums sums = sums_;
        for (std::int32_t i = begin; i < std::min(end, n); ++i) {
            put(i - begin, counts, sums);
            const int d = part(i);
            for (int v = 0; v < W / 4; ++v) counts[v] += several<FourCounts>(lane_table.one[d] + 4 * v);
            for (int t = 0; t < tables; ++t)
                for (int v = 0; v < W / 2; ++v)
                    sums[t][v] += masked_twice(gives(i, t), several<TwoMasks>(lane_table.mask[d] + 2 * v));
        }
        if (end > n) put(n - begin, counts, sums);
        counts_ = counts;
        sums_ = sums;
    }

private:
    static constexpr int count_stride = W + 4;
    using Counts = std::array<FourCounts, W / 4>;
    using Sums = std::array<std::array<TwoSums, W / 2>, tables>;
    Counts counts_;
    Sums sums_;
    alignas(64) std::array<std::int32_t, entries * count_stride> count_{};
    alignas(64) std::array<double, tables ? entries * tables * sum_stride : sum_stride> sum_{};

    void put(std::int32_t entry, const Counts& counts, const Sums& sums) {
        for (int v = 0; v < W / 4; ++v) store(count_.data() + entry * count_stride + 4 * v, counts[v]);
        for (int t = 0; t < tables; ++t)
            for (int v = 0; v < W / 2; ++v) store(sum_.data() + (entry * tables + t) * sum_stride + 2 * v, sums[t][v]);
    }
};

// A Row has `high`, `low` and `position`; add_better(t) and add_worse(t), for t below its `tables`, are what it adds
// to the sums of rows that are worse and better than it; take_better(count, sums, stride) and take_worse receive the
// number of partners and their sums, `stride` apart; store(out) comes last.
template <class Row>
class LabelDescent {
public:
    using Out = typename Row::Out;

    LabelDescent(const std::int32_t* level_begin, Out out) : level_begin_(level_begin), out_(out) {}

    // Stores every row of the label range [begin, end), which `rows` holds in score order, and returns the number of
    // violated pairs inside it. `part` has room for one number a row.
    std::int64_t run(Row* rows, Row* spare, std::uint8_t* part, std::int32_t begin, std::int32_t end,
                     int n_threads) const {
        Scratch scratch;
        return run(rows, spare, part, begin, end, scratch, n_threads);
    }

private:
    static constexpr int stretch = 128;  // prefixes at a time, so that they stay in the nearest cache
    struct Scratch {
        Prefixes<ways, Row::tables, stretch> inner;
        Prefixes<leaf_ways, Row::tables, leaf_ways + 1> leaf;
    };
    using Bounds = std::array<std::int32_t, ways + 1>;
    const std::int32_t* level_begin_;
    Out out_;

    std::int64_t run(Row* rows, Row* spare, std::uint8_t* part, std::int32_t begin, std::int32_t end, Scratch& scratch,
                     int n_threads) const {
        const std::int32_t n = end - begin;
        if (level_begin_[begin] == level_begin_[end - 1]) return store(rows, n);
        if (n <= leaf_ways) return leaf(rows, n, begin, scratch.leaf);
        const Bounds bound = cut(begin, end);
        number_parts(rows, n, bound, part);
        take_worse(rows, n, bound, part, scratch.inner);
        const std::int64_t pairs = take_better(rows, spare, n, bound, part, scratch.inner);
        auto below = [&](int b, Scratch& room, int threads) -> std::int64_t {
            const std::int32_t at = bound[b] - begin;
            if (bound[b] == bound[b + 1]) return 0;
            return run(spare + at, rows + at, part + at, bound[b], bound[b + 1], room, threads);
        };
        std::array<std::int64_t, ways> inside{};
        if (n_threads < 2 || n < fork_rows)
            for (int b = 0; b < ways; ++b) inside[b] = below(b, scratch, 1);
        else
            parallel_for(ways, n_threads, [&](std::size_t b) {
                Scratch room;
                inside[b] = below(static_cast<int>(b), room, n_threads / ways);
            });
        std::int64_t total = pairs;
        for (const std::int64_t count : inside) total += count;
        return total;
    }

    std::int32_t label_end(std::int32_t position, std::int32_t end) const {
        const std::int32_t level = level_begin_[position];
        if (position + 1 == end || level_begin_[position + 1] != level) return position + 1;
        return static_cast<std::int32_t>(std::upper_bound(level_begin_ + position, level_begin_ + end, level) -
                                         level_begin_);
    }

    // Where the parts begin, empty ones at the end: a part for each label where there are few, and otherwise the
    // label boundaries nearest to equal parts.
    Bounds cut(std::int32_t begin, std::int32_t end) const {
        Bounds bound;
        bound.fill(end);
        std::int32_t at = begin;
        for (int b = 0; b < ways && at < end; ++b, at = label_end(at, end)) bound[b] = at;
        if (at == end) return bound;
        bound.fill(end);
        bound[0] = begin;
        for (int w = 1, b = 0; w < ways; ++w) {
            const auto middle = static_cast<std::int32_t>(begin + std::int64_t{end - begin} * w / ways);
            const std::int32_t below = level_begin_[middle], above = label_end(middle, end);
            const std::int32_t nearest = middle - below <= above - middle ? below : above;
            if (nearest > bound[b] && nearest < end) bound[++b] = nearest;
        }
        return bound;
    }

    // Comparisons are added up, since which part a row belongs to is a toss that no branch predictor learns.
    static void number_parts(const Row* rows, std::int32_t n, const Bounds& bound, std::uint8_t* part) {
        const Bounds b = bound;
        for (std::int32_t k = 0; k < n; ++k) {
            const std::int32_t p = rows[k].position;
            part[k] = static_cast<std::uint8_t>(((p >= b[1]) + (p >= b[2])) + ((p >= b[3]) + (p >= b[4])) +
                                                ((p >= b[5]) + (p >= b[6])) + (p >= b[7]));
        }
    }

    // From the last row to the first, with parts in reverse too: "from b on" then means down from it.
    template <class Stretch>
    static void take_worse(Row* rows, std::int32_t n, const Bounds& bound, const std::uint8_t* part, Stretch& prefixes) {
        prefixes.restart();
        std::int32_t k = n - 1;
        for (std::int32_t begin = 0; begin <= n; begin += Stretch::length) {
            const std::int32_t end = std::min(begin + Stretch::length, n + 1);
            prefixes.fill(
                begin, end, n, [&](std::int32_t i) { return ways - 1 - part[n - 1 - i]; },
                [&](std::int32_t i, int t) { return rows[n - 1 - i].add_worse(t); });
            for (; k >= 0 && n - rows[k].low < end; --k) {
                const int b = ways - 1 - part[k];
                const std::int32_t entry = n - rows[k].low - begin;
                const std::int32_t* count = prefixes.count(entry, b);
                rows[k].take_worse(count[1], prefixes.sum(entry, b + 1), Stretch::sum_stride);
                rows[k].low = bound[part[k] + 1] - bound[part[k]] - (count[0] - count[1]);
            }
        }
    }

    template <class Stretch>
    static std::int64_t take_better(const Row* rows, Row* spare, std::int32_t n, const Bounds& bound,
                                    const std::uint8_t* part, Stretch& prefixes) {
        Bounds place;
        for (int b = 0; b <= ways; ++b) place[b] = bound[b] - bound[0];
        prefixes.restart();
        std::int64_t pairs = 0;
        std::int32_t k = 0;
        for (std::int32_t begin = 0; begin <= n; begin += Stretch::length) {
            const std::int32_t end = std::min(begin + Stretch::length, n + 1);
            prefixes.fill(
                begin, end, n, [&](std::int32_t i) { return part[i]; },
                [&](std::int32_t i, int t) { return rows[i].add_better(t); });
            for (; k < n && rows[k].high < end; ++k) {
                Row row = rows[k];
                const std::int32_t entry = row.high - begin;
                const std::int32_t* count = prefixes.count(entry, part[k]);
                row.take_better(count[1], prefixes.sum(entry, part[k] + 1), Stretch::sum_stride);
                row.high = count[0] - count[1];
                pairs += count[1];
                spare[place[part[k]]++] = row;
            }
        }
        return pairs;
    }

    template <class Leaf>
    std::int64_t leaf(Row* rows, std::int32_t n, std::int32_t begin, Leaf& prefixes) const {
        std::array<std::uint8_t, leaf_ways> part;
        for (std::int32_t k = 0; k < n; ++k)
            part[k] = static_cast<std::uint8_t>(level_begin_[rows[k].position] - begin);
        prefixes.restart();
        prefixes.fill(
            0, n + 1, n, [&](std::int32_t i) { return leaf_ways - 1 - part[n - 1 - i]; },
            [&](std::int32_t i, int t) { return rows[n - 1 - i].add_worse(t); });
        for (std::int32_t k = 0; k < n; ++k) {
            const std::int32_t entry = n - rows[k].low, next = leaf_ways - part[k];
            rows[k].take_worse(*prefixes.count(entry, next), prefixes.sum(entry, next), Leaf::sum_stride);
        }
        prefixes.restart();
        prefixes.fill(
            0, n + 1, n, [&](std::int32_t i) { return part[i]; },
            [&](std::int32_t i, int t) { return rows[i].add_better(t); });
        std::int64_t pairs = 0;
        for (std::int32_t k = 0; k < n; ++k) {
            const std::int32_t entry = rows[k].high, next = part[k] + 1, count = *prefixes.count(entry, next);
            rows[k].take_better(count, prefixes.sum(entry, next), Leaf::sum_stride);
            pairs += count;
        }
        store(rows, n);
        return pairs;
    }

    std::int64_t store(const Row* rows, std::int32_t n) const {
        for (std::int32_t k = 0; k < n; ++k) rows[k].store(out_);
        return 0;
    }
};

}  // namespace rankwise::detail
