// Sums over the violated partners of rows with few labels, by one sweep along the scores for each side.
//
// A vector holds a sum for each label: that of the rows passed so far with a higher label (or, from the other end, with
// a lower one). The ends of windows only move forward along the scores, so only the vectors of a short stretch are
// stored.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "pair_count.hpp"

namespace rankwise::detail {

constexpr int most_levels = fan_out;

// The first position of each of up to eight levels; the number of rows for missing levels.
struct FewLevels {
    std::array<std::int32_t, most_levels> begin;
    bool few;  // there are no further levels

    explicit FewLevels(const LabelOrder& order) {
        begin.fill(static_cast<std::int32_t>(order.n));
        const std::int32_t *first = order.level_begin, *end = first + order.n, *at = first;
        for (int level = 0; level < most_levels && at < end; ++level) {
            begin[level] = *at;
            at = std::upper_bound(at, end, *at);
        }
        few = at == end;
    }
    // Adds comparisons, because the level of a row cannot be predicted by branches.
    std::uint8_t level(std::int32_t place) const {
        const auto& b = begin;
        return static_cast<std::uint8_t>(((place >= b[1]) + (place >= b[2])) + ((place >= b[3]) + (place >= b[4])) +
                                         ((place >= b[5]) + (place >= b[6])) + (place >= b[7]));
    }
};

// Rows in score order, with K numbers per row.
struct Sweep {
    const RowSlot* rows;
    const std::uint8_t* level;
    const double* given;
    std::int64_t n;
    double* sums;
};

template <int K, bool better>
struct SweepLoop {
    static constexpr std::int64_t stretch = 128;

    // Sweeps from the lowest score for better partners, from the highest for worse ones.
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const Sweep& sweep) {
        using Lanes = typename Cpu::Lanes;
        constexpr int parts = most_levels / static_cast<int>(Cpu::width);
        alignas(64) double kept[stretch][K][most_levels];
        Lanes sum[K][parts] = {};
        const std::int64_t n = sweep.n;
        std::int64_t asked = 0;
        for (std::int64_t begin = 0; begin <= n; begin += stretch) {
            const std::int64_t end = begin + stretch < n + 1 ? begin + stretch : n + 1;
            for (std::int64_t passed = begin; passed < end; ++passed) {
                for (int k = 0; k < K; ++k)
                    for (int v = 0; v < parts; ++v)
                        std::memcpy(kept[passed - begin][k] + v * Cpu::width, &sum[k][v], sizeof(Lanes));
                if (passed == n) break;
                const std::int64_t r = better ? passed : n - 1 - passed;
                for (int k = 0; k < K; ++k)
                    for (int v = 0; v < parts; ++v) sum[k][v] += after<Cpu>(lane(sweep, r), v, sweep.given[r * K + k]);
            }
            for (; asked < n; ++asked) {
                const std::int64_t r = better ? asked : n - 1 - asked;
                const Window& window = sweep.rows[r].window;
                const std::int64_t passed = better ? window.high : n - window.low;
                if (passed >= end) break;
                for (int k = 0; k < K; ++k) sweep.sums[r * K + k] = kept[passed - begin][k][lane(sweep, r)];
            }
        }
    }

    static RANKWISE_INLINE int lane(const Sweep& sweep, std::int64_t r) {
        return better ? most_levels - 1 - sweep.level[r] : sweep.level[r];
    }
    // x in the lanes of part v that come after `lane`, and 0 in the others.
    template <class Cpu>
    static RANKWISE_INLINE typename Cpu::Lanes after(int lane, int v, double x) {
#if defined(RANKWISE_GNU)
        typedef std::int64_t Mask __attribute__((vector_size(sizeof(typename Cpu::Lanes))));
        Mask mask;
        std::memcpy(&mask, after_child.mask[lane] + v * Cpu::width, sizeof mask);
        return (typename Cpu::Lanes)((Mask)(x - typename Cpu::Lanes{}) & mask);
#else
        typename Cpu::Lanes lanes{};
        for (std::size_t i = 0; i < Cpu::width; ++i)
            if (after_child.mask[lane][v * Cpu::width + i]) lanes.lane[i] = x;
        return lanes;
#endif
    }
};

// Sums over the violated partners of rows of few levels. given(place, score) returns the K numbers of a row; the score
// is 0 if K is 1. found(place, numbers, better, worse) receives its sums. Returns the sum of the values of `found`.
template <int K, class Given, class Found>
double sweep_levels(const LabelOrder& order, const FewLevels& levels, const double* scores, double margin,
                    Scratch& scratch, int n_threads, Given&& given, Found&& found) {
    const auto [by_score, spare] = rows_by_score(order, scores, margin, scratch, n_threads, K > 1);
    const RowSlot* rows = by_score;
    auto* level = scratch.take<std::uint8_t>(order.n);
    static_assert(sizeof(RowSlot) == 2 * sizeof(double));
    auto* in_spare = reinterpret_cast<double*>(spare);
    double* numbers[3] = {K <= 2 ? in_spare : scratch.take<double>(K * order.n),
                          K == 1 ? in_spare + order.n : scratch.take<double>(K * order.n),
                          scratch.take<double>(K * order.n)};
    // A loop of its own: bytes may alias any object, so stores of bytes would prevent optimizations of the next loop.
    over_rows(order.n, n_threads, [=](std::int64_t r) { level[r] = levels.level(rows[r].window.place); });
    over_rows(order.n, n_threads, [=, spare = spare, out = numbers[0]](std::int64_t r) {
        // With K > 1 the numbers of a row overwrite at most its own slot of `spare`, whose key is read first.
        const double score = K > 1 ? key_score(spare[r].keyed.key) : 0.0;
        const auto own = given(rows[r].window.place, score);
        for (int k = 0; k < K; ++k) out[r * K + k] = own[k];
    });
    parallel_for(2, order.n < parallel_rows ? 1 : n_threads, [&](std::size_t side) {
        const Sweep sweep{rows, level, numbers[0], order.n, numbers[1 + side]};
        on_this_cpu([&](auto cpu) {
            if (side == 0)
                run<SweepLoop<K, true>>(cpu, sweep);
            else
                run<SweepLoop<K, false>>(cpu, sweep);
        });
    });
    return sum_over_rows(order.n, n_threads, [&](std::int64_t r) {
        return found(rows[r].window.place, numbers[0] + r * K, numbers[1] + r * K, numbers[2] + r * K);
    });
}

}  // namespace rankwise::detail
