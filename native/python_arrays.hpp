// numpy arrays as arguments and results, for the files bind*.cpp only. Arguments are used without conversion: the
// Python side passes contiguous arrays of the right type. Results are new arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "sparse_product.hpp"

namespace nb = nanobind;

namespace rankwise::python {

void bind_rankings(nb::module_& m);
void bind_outcomes(nb::module_& m);
void bind_products(nb::module_& m);
void bind_svmlight(nb::module_& m);

template <class T>
using InputVector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = std::optional<InputVector<double>>;
template <class Value, class Order>
using DenseArray = nb::ndarray<const Value, nb::ndim<2>, Order, nb::device::cpu>;
using InputMatrix = DenseArray<double, nb::c_contig>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using OutputVector = Output<double>;

template <class T>
Output<T> own(std::unique_ptr<T[]> memory, std::size_t n) {
    T* entries = memory.get();
    nb::capsule owner(entries, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    memory.release();
    return Output<T>(entries, {n}, owner);
}

// A new, uninitialised numpy vector.
template <class T = double>
Output<T> new_vector(std::size_t n) {
    return own(std::make_unique_for_overwrite<T[]>(n), n);
}

inline OutputVector zeros(std::size_t n) { return own(std::make_unique<double[]>(n), n); }

inline void check_length(std::size_t given, std::size_t expected, const char* sentence) {
    if (given != expected) throw nb::value_error(sentence);
}

inline const double* pointer(const Column& column, std::size_t n_rows) {
    if (column) check_length(column->size(), n_rows, "a column needs one entry for each score");
    return column ? column->data() : nullptr;
}

template <class T>
Output<T> to_array(const std::vector<T>& values) {
    auto array = new_vector<T>(values.size());
    std::copy(values.begin(), values.end(), array.data());
    return array;
}

template <class Value, class Index>
rankwise::CsrView<Value, Index> csr_view(const InputVector<Index>& indptr, const InputVector<Index>& indices,
                                         const InputVector<Value>& data, std::size_t n_columns) {
    if (indptr.size() == 0) throw nb::value_error("indptr is empty; it needs one entry more than there are rows");
    const rankwise::CsrView<Value, Index> X{indptr.size() - 1, n_columns, indptr.data(), indices.data(), data.data()};
    if (X.indptr[0] != 0 || X.n_nonzeros() > std::min(indices.size(), data.size()))
        throw nb::value_error("indptr must begin at 0 and end at no more than the length of indices and data");
    return X;
}

}  // namespace rankwise::python
