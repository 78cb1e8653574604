#include "logistic_ranking.hpp"

#include <stdexcept>

#include "comparisons.hpp"
#include "logistic_functions.hpp"

namespace rankwise {
namespace {

const LogisticFunctions& functions([[maybe_unused]] bool widest) {
#ifdef RANKWISE_X86
    if (widest && __builtin_cpu_supports("avx2")) return avx2::logistic_functions;
#endif
    return common::logistic_functions;
}

void check(const LogisticPairs& pairs) {
    if (pairs.gain && pairs.can_be_worse)
        throw std::invalid_argument("gain and can_be_worse are given: the logistic loss takes one of them");
}

}  // namespace

double logistic_gradient(const LogisticPairs& pairs, const double* balance, double* gradient, double* diagonal,
                         bool widest) {
    check(pairs);
    return functions(widest).gradient(pairs, balance, gradient, diagonal);
}

void logistic_diagonal(const LogisticPairs& pairs, double* diagonal, bool widest) {
    check(pairs);
    functions(widest).diagonal(pairs, diagonal);
}

void logistic_product(const LogisticPairs& pairs, const double* diagonal, const double* direction, double* product,
                      bool widest) {
    check(pairs);
    functions(widest).product(pairs, diagonal, direction, product);
}

double logistic_comparisons(const LogisticComparisons& task, bool widest) {
    return functions(widest).comparisons(task);
}

}  // namespace rankwise
