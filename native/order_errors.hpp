// Pairs in the wrong order, compared one by one: up to some hundred rows per query this is faster than sorting.
#pragma once

#include <cstdint>
#include <vector>

#include "ranking.hpp"
#include "vectors.hpp"

namespace rankwise {

namespace detail {

struct OrderErrors {
    std::int64_t wrong = 0, wrong_or_tied = 0;
};

// Row p is the better one of a pair with every row before level_begin[p].
struct CompareRows {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const LabelOrder& order, const double* scores, OrderErrors* errors) {
#if defined(RANKWISE_GNU)
        constexpr std::int64_t width = Cpu::width;
        using Lanes = typename Cpu::Lanes;
        auto above = Lanes{} < Lanes{}, not_below = above;  // true is -1: a lane counts down
#endif
        for (std::int64_t p = 0; p < order.n; ++p) {
            const double own = scores[p];
            const std::int64_t end = order.level_begin[p];
            std::int64_t q = 0;
#if defined(RANKWISE_GNU)
            for (; q + width <= end; q += width) {
                const Lanes other = load<Cpu>(scores + q);
                above += other > own;
                not_below += other >= own;
            }
#endif
            for (; q < end; ++q) {
                errors->wrong += scores[q] > own;
                errors->wrong_or_tied += scores[q] >= own;
            }
        }
#if defined(RANKWISE_GNU)
        for (std::int64_t lane = 0; lane < width; ++lane) {
            errors->wrong -= above[lane];
            errors->wrong_or_tied -= not_below[lane];
        }
#endif
    }
};

}  // namespace detail

// For each query the number of pairs whose better row has the lower score, and of these and the pairs of equal scores.
inline void count_order_errors(const Ranking& ranking, const double* scores, int n_threads, std::int64_t* wrong,
                               std::int64_t* wrong_or_tied) {
    detail::for_each_query(
        ranking, n_threads, [] { return std::vector<double>(); },
        [&](std::int64_t q, std::vector<double>& ordered, int) {
            const LabelOrder order = ranking.query(q);
            ordered.resize(order.n);
            for (std::int64_t p = 0; p < order.n; ++p) ordered[p] = scores[order.row[p]];
            detail::OrderErrors errors;
            const double* numbers = ordered.data();
            detail::on_this_cpu([&](auto cpu) { detail::run<detail::CompareRows>(cpu, order, numbers, &errors); });
            wrong[q] = errors.wrong;
            wrong_or_tied[q] = errors.wrong_or_tied;
        });
}

}  // namespace rankwise
