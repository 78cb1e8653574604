#include "logistic_ranking.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "comparisons.hpp"
#include "compiler.hpp"
#include "parallel.hpp"
#include "smooth_kernels.hpp"

// The code is compiled for what every processor has, and on x86 once more for wider registers.
#define RANKWISE_INSTRUCTIONS common
#include "lanes.hpp"
#include "score_bins.hpp"
#include "few_pairs.hpp"
#include "ordered_sums.hpp"
#include "logistic_sums.hpp"
#include "comparison_sums.hpp"
#undef RANKWISE_INSTRUCTIONS

#ifdef RANKWISE_X86
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
#undef RANKWISE_WIDE
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace rankwise {

double logistic_ranking(const LogisticTask& task, bool widest) {
    if (task.columns.gain && task.columns.can_be_worse)
        throw std::invalid_argument("gain and can_be_worse are given: the logistic loss takes one of them");
#ifdef RANKWISE_X86
    if (widest && __builtin_cpu_supports("avx2")) return avx2::run_logistic(task);
#endif
    static_cast<void>(widest);
    return common::run_logistic(task);
}

double logistic_comparisons(const LogisticComparisons& task, bool widest) {
#ifdef RANKWISE_X86
    if (widest && __builtin_cpu_supports("avx2")) return avx2::run_comparisons(task);
#endif
    static_cast<void>(widest);
    return common::run_comparisons(task);
}

}  // namespace rankwise
