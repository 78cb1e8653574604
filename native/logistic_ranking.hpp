// The pairwise logistic loss log(1 + e^-d), d = s_better - s_worse, over all pairs of a ranking: value, gradient and
// Hessian. docs/counting_smooth.md explains the method.
//
// The loss is log(2 cosh(d / 2)) - d / 2: an even function of d and a linear term. The sum of the linear terms is the
// product of the scores with `balance`, which depends on labels and weights alone. The sum of the even parts takes
// linear time for any labels (score_bins.hpp, level_groups.hpp). Few labels need no such split, nor do small queries,
// which are summed pair by pair (few_pairs.hpp). If a pair weighs a difference of gains, if some rows cannot be worse,
// or if linear and even part would cancel, rows are taken in label order (ordered_sums.hpp).
//
// All results are the same bits for any number of threads and any instruction set; `widest` allows the widest registers
// of this processor.
#pragma once

#include <cstdint>

#include "level_groups.hpp"
#include "ranking.hpp"

namespace rankwise {

// The pairs of a ranking, their weights and the scores. At most one of gain and can_be_worse is given.
struct LogisticPairs {
    Ranking ranking;
    const double *weight, *can_be_worse, *gain;  // as in RowColumns
    LevelGroupsView groups;                      // not used with gain or can_be_worse
    const double* scores;
    const double* query_factor;  // the factor of the pairs of each query
    int n_threads;
};

// Returns the loss, each query times its factor, and writes its gradient and, unless `diagonal` is null, the diagonal
// of its Hessian. balance_i is half of (the weight of the pairs with a row better than i less that with a worse row).
double logistic_gradient(const LogisticPairs& pairs, const double* balance, double* gradient, double* diagonal,
                         bool widest = true);

// Writes the diagonal of the Hessian.
void logistic_diagonal(const LogisticPairs& pairs, double* diagonal, bool widest = true);

// Writes the product of the Hessian, whose diagonal is given, with the direction.
void logistic_product(const LogisticPairs& pairs, const double* diagonal, const double* direction, double* product,
                      bool widest = true);

}  // namespace rankwise
