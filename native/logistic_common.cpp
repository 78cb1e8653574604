// The logistic sums for every processor.
#include "comparison_sums.hpp"
#include "logistic_functions.hpp"
#include "logistic_sums.hpp"

namespace rankwise::common {

const LogisticFunctions logistic_functions{logistic_gradient, logistic_diagonal, logistic_product, sum_comparisons};

}  // namespace rankwise::common
