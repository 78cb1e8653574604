// The extension module.
#include "python_arrays.hpp"

NB_MODULE(_native, m) {
    using namespace rankwise::python;
    nb::set_leak_warnings(false);  // a ranking that is alive when the interpreter exits is no leak
    bind_outcomes(m);
    bind_rankings(m);
    bind_products(m);
    bind_svmlight(m);
}
