// The instruction set that a translation unit is compiled for, as the namespace of all code that depends on it.
//
// The logistic sums are compiled for every processor (logistic_common.cpp, the default) and on x86 once more for AVX2
// (logistic_avx2.cpp). The linker keeps one copy of an inline function or a template of a given name. Hence code that
// is compiled for several sets is in namespace rankwise::RANKWISE_INSTRUCTIONS: a copy with AVX2 instructions cannot
// replace the one for every processor.
#pragma once

#ifndef RANKWISE_INSTRUCTIONS
#define RANKWISE_INSTRUCTIONS common
#endif
