// The logistic sums for processors with AVX2.
//
// A compiler flag would apply to the standard library's templates too, and the linker might keep the copies of this
// file for the whole extension, which then would not run without AVX2. So all code outside namespace avx2 is included
// before AVX2 is switched on (tests/test_native.py holds this true).
#include "logistic_functions.hpp"

#ifdef RANKWISE_X86

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "level_groups.hpp"
#include "parallel.hpp"
#include "smooth_kernels.hpp"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define RANKWISE_INSTRUCTIONS avx2
#define RANKWISE_WIDE

#include "comparison_sums.hpp"
#include "logistic_sums.hpp"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace rankwise::avx2 {

const LogisticFunctions logistic_functions{logistic_gradient, logistic_diagonal, logistic_product, sum_comparisons};

}  // namespace rankwise::avx2

#endif
