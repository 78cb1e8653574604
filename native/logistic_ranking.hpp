// The pairwise logistic loss log(1 + e^-d), d = s_better - s_worse, over all pairs of a ranking: value, gradient and
// Hessian.
//
// It is log(2 cosh(d / 2)) - d / 2: an even function of d and a straight line. The sum of the lines is a product of the
// scores with numbers that labels and weights fix, `balance`; the sum of the even parts comes from score_bins.hpp in
// linear time whatever the labels (level_groups.hpp), or pair by pair where a query is small (few_pairs.hpp). Where a
// pair weighs a difference of gains, or a row may be the worse one of no pair, sums are one-sided (ordered_sums.hpp).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "level_groups.hpp"
#include "parallel.hpp"
#include "ranking.hpp"
#include "smooth_kernels.hpp"

namespace rankwise {

// What is asked for, and where it goes. With a balance, the gradient; otherwise the Hessian's diagonal or, with a
// diagonal given and a direction in columns.moment, its product with the direction.
struct LogisticTask {
    Ranking ranking;
    RowColumns columns;
    LevelGroupsView groups;  // not used with gains or can_be_worse
    const double* scores;
    const double* query_factor;  // what a pair of the query counts for
    const double* balance;       // half of what weighs on each row from above, less what weighs on it from below
    const double* diagonal;
    double* out;
    int n_threads;
};

// As comparisons.hpp describes.
struct LogisticComparisons {
    const std::int32_t *first, *second;
    const double *share, *lead, *scores;
    double order_effect;
    std::int64_t n_items, n_entries;
    double *gradient, *curvature;
};

}  // namespace rankwise

// The code is compiled for what every processor has, and on x86 once more for wider registers.
#define RANKWISE_INSTRUCTIONS common
#include "lanes.hpp"
#include "score_bins.hpp"
#include "few_pairs.hpp"
#include "ordered_sums.hpp"
#include "logistic_sums.hpp"
#include "comparison_sums.hpp"
#undef RANKWISE_INSTRUCTIONS
#undef RANKWISE_INLINE

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define RANKWISE_AVX2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define RANKWISE_WIDE
#define RANKWISE_INSTRUCTIONS avx2
#include "lanes.hpp"
#include "score_bins.hpp"
#include "few_pairs.hpp"
#include "ordered_sums.hpp"
#include "logistic_sums.hpp"
#include "comparison_sums.hpp"
#undef RANKWISE_INSTRUCTIONS
#undef RANKWISE_INLINE
#undef RANKWISE_WIDE
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace rankwise {

// Returns the loss, summed with the queries' factors, where the gradient is asked for. The same bits for any number of
// threads and either instruction set.
inline double logistic_ranking(const LogisticTask& task, bool widest = true) {
#ifdef RANKWISE_AVX2
    if (widest && __builtin_cpu_supports("avx2")) return avx2::run_logistic(task);
#endif
    static_cast<void>(widest);
    return common::run_logistic(task);
}

}  // namespace rankwise
