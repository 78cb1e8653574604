// The lowest and the highest value of each column of a matrix, in one pass that costs about as much as a product with a
// vector. NaN is ignored. A column without rows has infinity as its lowest and minus infinity as its highest value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>

#include "sparse_product.hpp"
#include "vectors.hpp"

namespace rankwise {

namespace detail {

// If columns are few, several rows are treated as one strip of about this many entries.
constexpr std::size_t entries_per_strip = 64;

// Lowest and highest values in the type of the data: no conversion, no rounding.
template <class Value>
struct Extremes {
    explicit Extremes(std::size_t n)
        : low(std::make_unique_for_overwrite<Value[]>(n)), high(std::make_unique_for_overwrite<Value[]>(n)) {
        std::fill_n(low.get(), n, std::numeric_limits<Value>::infinity());
        std::fill_n(high.get(), n, -std::numeric_limits<Value>::infinity());
    }
    std::unique_ptr<Value[]> low, high;
};

template <class Value>
RANKWISE_INLINE Value lower(Value a, Value b) {
    return a < b ? a : b;
}

template <class Value>
RANKWISE_INLINE Value higher(Value a, Value b) {
    return a > b ? a : b;
}

// Updates the extremes by rows that are consecutive in memory.
struct TakeRows {
    template <class Cpu, class Value>
    static RANKWISE_INLINE void run(Cpu, const Value* row, std::size_t n_rows, std::size_t n,
                                    const Extremes<Value>& extremes) {
        Value* __restrict low = extremes.low.get();
        Value* __restrict high = extremes.high.get();
        for (std::size_t i = 0; i < n_rows; ++i, row += n)
            for (std::size_t j = 0; j < n; ++j) {
                low[j] = lower(row[j], low[j]);
                high[j] = higher(row[j], high[j]);
            }
    }
};

}  // namespace detail

// For a row-major matrix; lowest and highest have n_columns entries.
template <class Value>
void row_major_range(const Value* X, std::size_t n_rows, std::size_t n_columns, double* lowest, double* highest) {
    const std::size_t rows = std::max<std::size_t>(1, detail::entries_per_strip / std::max<std::size_t>(n_columns, 1));
    const std::size_t width = rows * n_columns, n_strips = n_rows / rows;
    const detail::Extremes<Value> extremes(width);
    detail::on_this_cpu([&](auto cpu) {
        detail::run<detail::TakeRows>(cpu, X, n_strips, width, extremes);
        // The remaining rows, fewer than a strip, update the first row of the extremes.
        detail::run<detail::TakeRows>(cpu, X + n_strips * width, n_rows - n_strips * rows, n_columns, extremes);
    });
    for (std::size_t j = 0; j < n_columns; ++j) {
        Value least = extremes.low[j], most = extremes.high[j];
        for (std::size_t k = j + n_columns; k < width; k += n_columns) {
            least = detail::lower(extremes.low[k], least);
            most = detail::higher(extremes.high[k], most);
        }
        lowest[j] = least;
        highest[j] = most;
    }
}

// For a column-major matrix. Several running extremes per column avoid a chain of dependent comparisons.
template <class Value>
void column_major_range(const Value* X, std::size_t n_rows, std::size_t n_columns, double* lowest, double* highest) {
    constexpr std::size_t lanes = 64 / sizeof(Value);
    for (std::size_t j = 0; j < n_columns; ++j, X += n_rows) {
        Value low[lanes], high[lanes];
        std::fill_n(low, lanes, std::numeric_limits<Value>::infinity());
        std::fill_n(high, lanes, -std::numeric_limits<Value>::infinity());
        std::size_t i = 0;
        for (; i + lanes <= n_rows; i += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                low[lane] = detail::lower(X[i + lane], low[lane]);
                high[lane] = detail::higher(X[i + lane], high[lane]);
            }
        for (; i < n_rows; ++i) {
            low[0] = detail::lower(X[i], low[0]);
            high[0] = detail::higher(X[i], high[0]);
        }
        lowest[j] = *std::min_element(low, low + lanes);
        highest[j] = *std::max_element(high, high + lanes);
    }
}

// The largest absolute value of each column of a CSR matrix without duplicate indices.
template <class Value, class Index>
void csr_scale(const CsrView<Value, Index>& X, double* scale) {
    const auto largest = std::make_unique<Value[]>(X.n_columns);
    for (std::size_t k = 0; k < X.n_nonzeros(); ++k) {
        Value& most = largest[X.indices[k]];
        most = detail::higher(std::abs(X.data[k]), most);
    }
    std::copy_n(largest.get(), X.n_columns, scale);
}

// full[j]: every row of a CSR matrix without duplicate indices stores column j. Stops at the row that rules out the
// last candidate.
template <class Value, class Index>
void csr_full_columns(const CsrView<Value, Index>& X, bool* full) {
    const auto rows_so_far = std::make_unique<Index[]>(X.n_columns);
    std::size_t row = 0;
    for (bool any = true; row < X.n_rows && any; ++row) {
        any = false;
        for (Index k = X.indptr[row]; k < X.indptr[row + 1]; ++k) {
            Index& rows = rows_so_far[X.indices[k]];
            if (static_cast<std::size_t>(rows) != row) continue;
            ++rows;
            any = true;
        }
    }
    for (std::size_t j = 0; j < X.n_columns; ++j) full[j] = static_cast<std::size_t>(rows_so_far[j]) == X.n_rows;
}

}  // namespace rankwise
