// The pairwise logistic loss log(1 + e^-d), d = s_better - s_worse, over all pairs of a ranking: value, gradient and
// Hessian.
//
// It is log(2 cosh(d / 2)) - d / 2: an even function of d and a straight line. The sum of the lines is a product of the
// scores with numbers that labels and weights fix, `balance`; the sum of the even parts comes from score_bins.hpp in
// linear time whatever the labels (level_groups.hpp). Few labels need no such split, nor do small queries, which are
// summed pair by pair (few_pairs.hpp). Where a pair weighs a difference of gains, where a row may be the worse one of no
// pair, or where line and even part would cancel, rows are taken in label order (ordered_sums.hpp).
#pragma once

#include "level_groups.hpp"
#include "ranking.hpp"

namespace rankwise {

// What is asked for, and where it goes. With a balance, the gradient and, with room for it in `curvature`, the Hessian's
// diagonal too; otherwise the diagonal or, with a diagonal given and a direction in columns.moment, its product with the
// direction.
struct LogisticTask {
    Ranking ranking;
    RowColumns columns;
    LevelGroupsView groups;  // not used with gains or can_be_worse
    const double* scores;
    const double* query_factor;  // what a pair of the query counts for
    const double* balance;       // half of what weighs on each row from above, less what weighs on it from below
    const double* diagonal;
    double* out;
    double* curvature;
    int n_threads;
};

// Returns the loss, summed with the queries' factors, where the gradient is asked for. The same bits for any number of
// threads and either instruction set: `widest` allows for what this processor has beyond the common ones.
double logistic_ranking(const LogisticTask& task, bool widest = true);

}  // namespace rankwise
