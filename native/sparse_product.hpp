// X w and X' c for a CSR matrix X, without a copy of X.
//
// Sums are in double for any type of data. The partition of the rows into blocks depends on the matrix alone, and
// partial sums are added in the order of the blocks: the result is the same, bit for bit, for any number of threads.
// Indices may be unsorted and may repeat within a row. They must be in range, which is not checked.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

#include "parallel.hpp"

namespace rankwise {

template <class Value, class Index>
struct CsrView {
    std::size_t n_rows;
    std::size_t n_columns;
    const Index* indptr;
    const Index* indices;
    const Value* data;

    std::size_t n_nonzeros() const { return static_cast<std::size_t>(indptr[n_rows]); }
};

namespace detail {

// Below this number of nonzeros, starting a thread costs more than it saves.
constexpr std::size_t nonzeros_worth_a_thread = 1 << 16;

// A block of X' c has a buffer of n_columns doubles. With this number of nonzeros per column, the time to clear and add
// it is small, and all buffers together are much smaller than the matrix.
constexpr std::size_t nonzeros_per_buffer_entry = 8;
constexpr std::size_t most_buffers = 16;

// The buffers are added in pieces that fit a cache.
constexpr std::size_t columns_per_piece = 1 << 14;

inline int useful_threads(std::size_t n_nonzeros, int n_threads) {
    return n_nonzeros < nonzeros_worth_a_thread ? 1 : n_threads;
}

// The first row of a block; blocks have about equal numbers of nonzeros.
template <class Value, class Index>
std::size_t first_row(const CsrView<Value, Index>& X, std::size_t block, std::size_t n_blocks) {
    if (block == n_blocks) return X.n_rows;
    const std::size_t before = X.n_nonzeros() / n_blocks * block;
    return std::lower_bound(X.indptr, X.indptr + X.n_rows, static_cast<Index>(before)) - X.indptr;
}

// Four partial sums avoid a chain of dependent additions.
template <class Value, class Index>
double sparse_dot(const Index* index, const Value* value, std::size_t n, const double* w) {
    double sum[4] = {0, 0, 0, 0};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (std::size_t lane = 0; lane < 4; ++lane)
            sum[lane] += static_cast<double>(value[k + lane]) * w[index[k + lane]];
    for (; k < n; ++k) sum[k % 4] += static_cast<double>(value[k]) * w[index[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <bool Squared>
double entry(double value) {
    return Squared ? value * value : value;
}

// The four products are computed before the first store, because a store might alias `value`.
template <bool Squared, class Value, class Index>
void add_scaled(const Index* index, const Value* value, std::size_t n, double scale, double* out) {
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        double product[4];
        for (std::size_t lane = 0; lane < 4; ++lane) product[lane] = scale * entry<Squared>(value[k + lane]);
        for (std::size_t lane = 0; lane < 4; ++lane) out[index[k + lane]] += product[lane];
    }
    for (; k < n; ++k) out[index[k]] += scale * entry<Squared>(value[k]);
}

inline std::size_t number_of_buffers(std::size_t n_nonzeros, std::size_t n_columns) {
    const std::size_t affordable = n_nonzeros / (nonzeros_per_buffer_entry * std::max<std::size_t>(n_columns, 1));
    return std::bit_floor(std::clamp<std::size_t>(affordable, 1, most_buffers));
}

}  // namespace detail

// out = X w; w has n_columns entries, out has n_rows.
template <class Value, class Index>
void csr_matvec(const CsrView<Value, Index>& X, const double* w, double* out, int n_threads) {
    const std::size_t n_blocks = std::clamp<std::size_t>(X.n_nonzeros() / detail::nonzeros_worth_a_thread, 1, 256);
    parallel_for(n_blocks, detail::useful_threads(X.n_nonzeros(), n_threads), [&](std::size_t block) {
        const std::size_t end = detail::first_row(X, block + 1, n_blocks);
        for (std::size_t row = detail::first_row(X, block, n_blocks); row < end; ++row) {
            const Index start = X.indptr[row];
            out[row] = detail::sparse_dot(X.indices + start, X.data + start, X.indptr[row + 1] - start, w);
        }
    });
}

// out = X' c, with the squares of X if Squared; c has n_rows entries, out has n_columns. The first block sums into out
// itself.
template <bool Squared, class Value, class Index>
void csr_rmatvec(const CsrView<Value, Index>& X, const double* c, double* out, int n_threads) {
    const std::size_t n_blocks = detail::number_of_buffers(X.n_nonzeros(), X.n_columns);
    const auto spare = std::make_unique_for_overwrite<double[]>((n_blocks - 1) * X.n_columns);
    const auto buffer = [&](std::size_t block) { return block == 0 ? out : spare.get() + (block - 1) * X.n_columns; };

    parallel_for(n_blocks, detail::useful_threads(X.n_nonzeros(), n_threads), [&](std::size_t block) {
        double* sums = buffer(block);
        std::fill_n(sums, X.n_columns, 0.0);
        const std::size_t end = detail::first_row(X, block + 1, n_blocks);
        for (std::size_t row = detail::first_row(X, block, n_blocks); row < end; ++row) {
            if (c[row] == 0) continue;  // near the optimum many rows are in no violated pair
            const Index start = X.indptr[row];
            detail::add_scaled<Squared>(X.indices + start, X.data + start, X.indptr[row + 1] - start, c[row], sums);
        }
    });
    if (n_blocks == 1) return;

    const std::size_t n_pieces = (X.n_columns + detail::columns_per_piece - 1) / detail::columns_per_piece;
    parallel_for(n_pieces, n_threads, [&](std::size_t piece) {
        const std::size_t begin = piece * detail::columns_per_piece;
        const std::size_t end = std::min(begin + detail::columns_per_piece, X.n_columns);
        for (std::size_t block = 1; block < n_blocks; ++block) {
            const double* sums = buffer(block);
            for (std::size_t column = begin; column < end; ++column) out[column] += sums[column];
        }
    });
}

}  // namespace rankwise
