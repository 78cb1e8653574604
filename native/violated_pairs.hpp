// Sums over the violated partners of a few rows, pair by pair: four better rows against one vector of worse ones at a
// time. No sort is needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "scratch.hpp"
#include "vectors.hpp"

namespace rankwise::detail {

// K numbers per row, in label order, in columns padded with zeros for a vector past the last row.
template <int K>
struct FewRows {
    static constexpr std::int64_t room = 8;
    using Columns = std::array<double*, K>;

    const std::int32_t* level_begin;
    std::int64_t n;
    double margin;
    double* score;
    Columns given, given_as_worse;  // added to the sums of worse and of better partners
    Columns better, worse;          // sums over better and worse partners

    FewRows(Scratch& scratch, const std::int32_t* begin, std::int64_t n_rows, double violated_below, bool censored)
        : level_begin(begin), n(n_rows), margin(violated_below), score(column(scratch)) {
        for (int k = 0; k < K; ++k) {
            given[k] = column(scratch);
            given_as_worse[k] = censored ? column(scratch) : given[k];
            better[k] = column(scratch);
            worse[k] = column(scratch);
        }
    }

private:
    double* column(Scratch& scratch) const {
        double* numbers = scratch.take<double>(n + room);
        std::fill_n(numbers, n + room, 0.0);
        return numbers;
    }
};

// Eight numbers: `count` zeros, then infinities.
RANKWISE_INLINE const double* far_from(std::int32_t count) {
    constexpr double far = std::numeric_limits<double>::infinity();
    static constexpr double numbers[16] = {0, 0, 0, 0, 0, 0, 0, 0, far, far, far, far, far, far, far, far};
    return numbers + 8 - (count < 0 ? 0 : count > 8 ? 8 : count);
}

template <int K>
struct FewRowsLoop {
    static constexpr int block = 4;  // better rows at a time

    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const FewRows<K>& rows) {
        constexpr auto width = static_cast<std::int32_t>(Cpu::width);
        const auto n = static_cast<std::int32_t>(rows.n);
        for (std::int32_t p = 0; p < n; p += block) {
            std::int32_t ends[block], least = n, most = 0;
            for (int r = 0; r < block; ++r) {
                ends[r] = p + r < n ? rows.level_begin[p + r] : 0;
                least = ends[r] < least ? ends[r] : least;
                most = ends[r] > most ? ends[r] : most;
            }
            if (most > 0) against<Cpu>(rows, p, ends, least / width * width, most);
        }
    }

    // The rows p to p + 3 against the worse rows before their ends. All four make pairs with the rows before `full`.
    template <class Cpu>
    static RANKWISE_INLINE void against(const FewRows<K>& rows, std::int32_t p, const std::int32_t* ends,
                                        std::int32_t full, std::int32_t most) {
        using Lanes = typename Cpu::Lanes;
        Lanes sum[block][K] = {};
        std::int32_t q = 0;
        for (; q < full; q += static_cast<std::int32_t>(Cpu::width)) meet<Cpu, false>(rows, p, q, ends, sum);
        for (; q < most; q += static_cast<std::int32_t>(Cpu::width)) meet<Cpu, true>(rows, p, q, ends, sum);
        for (int r = 0; r < block; ++r)
            for (int k = 0; k < K; ++k) {
                double lane[Cpu::width];
                std::memcpy(lane, &sum[r][k], sizeof lane);
                double total = lane[0];
                for (std::size_t i = 1; i < Cpu::width; ++i) total += lane[i];
                rows.worse[k][p + r] = total;
            }
    }

    template <class Cpu, bool cut>
    static RANKWISE_INLINE void meet(const FewRows<K>& rows, std::int32_t p, std::int32_t q, const std::int32_t* ends,
                                     typename Cpu::Lanes (&sum)[block][K]) {
        using Lanes = typename Cpu::Lanes;
        const Lanes score = load<Cpu>(rows.score + q);
        Lanes given[K], received[K];
        for (int k = 0; k < K; ++k) {
            given[k] = load<Cpu>(rows.given_as_worse[k] + q);
            received[k] = load<Cpu>(rows.better[k] + q);
        }
        for (int r = 0; r < block; ++r) {
            Lanes difference = rows.score[p + r] - score;
            if constexpr (cut) difference += load<Cpu>(far_from(ends[r] - q));
            for (int k = 0; k < K; ++k) {
                received[k] += where_below(difference, rows.margin, rows.given[k][p + r] - Lanes{});
                sum[r][k] += where_below(difference, rows.margin, given[k]);
            }
        }
        for (int k = 0; k < K; ++k) std::memcpy(rows.better[k] + q, &received[k], sizeof received[k]);
    }
};

template <int K>
void sum_few_rows(const FewRows<K>& rows) {
    on_this_cpu([&](auto cpu) { detail::run<FewRowsLoop<K>>(cpu, rows); });
}

}  // namespace rankwise::detail
