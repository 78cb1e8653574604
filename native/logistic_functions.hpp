// The logistic sums of each instruction set (instruction_set.hpp), among which logistic_ranking.cpp chooses at run
// time.
#pragma once

#include "comparisons.hpp"
#include "compiler.hpp"
#include "logistic_ranking.hpp"

namespace rankwise {

struct LogisticFunctions {
    double (*gradient)(const LogisticPairs&, const double* balance, double* gradient, double* diagonal);
    void (*diagonal)(const LogisticPairs&, double* diagonal);
    void (*product)(const LogisticPairs&, const double* diagonal, const double* direction, double* product);
    double (*comparisons)(const LogisticComparisons&);
};

namespace common {
extern const LogisticFunctions logistic_functions;
}

#ifdef RANKWISE_X86
namespace avx2 {
extern const LogisticFunctions logistic_functions;
}
#endif

}  // namespace rankwise
