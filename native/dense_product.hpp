// X w and X' c for an array X of float32 or float64 and one vector or several, without a copy of X.
//
// X is read once for all vectors, and the product with each has the same bits as with it alone.
// Sums are in double for any type of data. The partition of X depends on its shape alone, and partial sums are added in
// the order of the parts: the result is the same, bit for bit, for any number of threads. An array in memory order F is
// the transpose of one in order C.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "parallel.hpp"
#include "vectors.hpp"

namespace rankwise {

// An array in memory order C.
template <class Value>
struct DenseView {
    const Value* data;
    std::size_t n_rows;
    std::size_t n_columns;

    const Value* row(std::size_t i) const { return data + i * n_columns; }
};

namespace detail {

// Columns per piece: their part of w, or of the sums, stays in a cache while the rows are read.
constexpr std::size_t columns_at_once = 1 << 13;
// Numbers of X per task of a thread.
constexpr std::size_t numbers_per_task = 1 << 17;

struct Part {
    std::size_t begin, end;
};

// Vectors of n entries, one after the other.
struct Vectors {
    const double* data;
    std::size_t count, n;

    const double* operator[](std::size_t i) const { return data + i * n; }
};

inline Part part_of(std::size_t n, std::size_t step, std::size_t number) {
    return {number * step, std::min((number + 1) * step, n)};
}

// The number itself, or its square.
template <bool Squared, class Number>
RANKWISE_INLINE Number power(const Number& x) {
    if constexpr (Squared) return x * x;
    return x;
}

// sums[v, i] = x_i' w_v over some columns. Several partial sums avoid a chain of dependent additions; rows are read in
// the order of memory, which the hardware prefetches.
template <bool Squared>
struct RowDots {
    static constexpr std::size_t chains = 4;

    template <class Cpu, class Value>
    static RANKWISE_INLINE void run(Cpu, const DenseView<Value>& X, Part rows, Part columns, const Vectors& w,
                                    double* sums) {
        const std::size_t n = columns.end - columns.begin;
        for (std::size_t row = rows.begin; row < rows.end; ++row)
            for (std::size_t v = 0; v < w.count; ++v)
                sums[v * X.n_rows + row] = dot<Cpu>(X.row(row) + columns.begin, w[v] + columns.begin, n);
    }

    template <class Cpu, class Value>
    static RANKWISE_INLINE double dot(const Value* x, const double* w, std::size_t n) {
        RANKWISE_CONTRACT
        typename Cpu::Lanes sum[chains] = {};
        std::size_t k = 0;
        for (; k + chains * Cpu::width <= n; k += chains * Cpu::width) {
            RANKWISE_UNROLL
            for (std::size_t i = 0; i < chains; ++i)
                sum[i] += power<Squared>(load<Cpu>(x + k + i * Cpu::width)) * load<Cpu>(w + k + i * Cpu::width);
        }
        for (; k + Cpu::width <= n; k += Cpu::width) sum[0] += power<Squared>(load<Cpu>(x + k)) * load<Cpu>(w + k);
        double rest = 0;
        for (; k < n; ++k) rest += power<Squared>(static_cast<double>(x[k])) * w[k];
        sum[0] += sum[1];
        sum[2] += sum[3];
        sum[0] += sum[2];
        double lanes[Cpu::width];
        std::memcpy(lanes, &sum[0], sizeof lanes);
        for (std::size_t half = Cpu::width / 2; half > 0; half /= 2)
            for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
        return lanes[0] + rest;
    }
};

// sums[v, k] += the sum over some rows of c_vi x_ik, for some columns k. Several rows at a time save loads and stores
// of the sums; they are added one after the other.
template <bool Squared>
struct AddRows {
    static constexpr std::size_t rows_at_once = 4;

    template <class Cpu, class Value>
    static RANKWISE_INLINE void run(Cpu, const DenseView<Value>& X, Part rows, Part columns, const Vectors& c,
                                    double* sums) {
        const std::size_t n = columns.end - columns.begin;
        std::size_t row = rows.begin;
        for (; row + rows_at_once <= rows.end; row += rows_at_once)
            for (std::size_t v = 0; v < c.count; ++v)
                add<Cpu, rows_at_once>(X.row(row) + columns.begin, X.n_columns, n, c[v] + row,
                                       sums + v * X.n_columns + columns.begin);
        for (; row < rows.end; ++row)
            for (std::size_t v = 0; v < c.count; ++v)
                add<Cpu, 1>(X.row(row) + columns.begin, X.n_columns, n, c[v] + row,
                            sums + v * X.n_columns + columns.begin);
    }

    template <class Cpu, std::size_t Count, class Value>
    static RANKWISE_INLINE void add(const Value* x, std::size_t stride, std::size_t n, const double* factors,
                                    double* sums) {
        RANKWISE_CONTRACT
        if (std::all_of(factors, factors + Count, [](double factor) { return factor == 0; }))
            return;  // near the optimum many rows are in no violated pair
        std::size_t k = 0;
        for (; k + Cpu::width <= n; k += Cpu::width) {
            auto sum = load<Cpu>(sums + k);
            RANKWISE_UNROLL
            for (std::size_t i = 0; i < Count; ++i) sum += factors[i] * power<Squared>(load<Cpu>(x + i * stride + k));
            std::memcpy(sums + k, &sum, sizeof sum);
        }
        for (; k < n; ++k)
            for (std::size_t i = 0; i < Count; ++i)
                sums[k] += factors[i] * power<Squared>(static_cast<double>(x[i * stride + k]));
    }
};

}  // namespace detail

// out = X w for each vector w of n_columns entries, one after the other; with the squares of X if Squared.
template <bool Squared, class Value>
void dense_matvec(const DenseView<Value>& X, const detail::Vectors& w, double* out, int n_threads) {
    const std::size_t n_pieces = std::max<std::size_t>(1, detail::blocks(X.n_columns, detail::columns_at_once));
    const std::size_t width = std::min(std::max<std::size_t>(1, X.n_columns), detail::columns_at_once);
    const std::size_t n_rows = std::max<std::size_t>(1, detail::numbers_per_task / width);
    const std::size_t n_groups = detail::blocks(X.n_rows, n_rows);
    const std::size_t size = w.count * X.n_rows;
    const auto spare = std::make_unique_for_overwrite<double[]>((n_pieces - 1) * size);
    detail::on_this_cpu([&](auto cpu) {
        parallel_for(n_pieces * n_groups, n_threads, [&](std::size_t task) {
            const std::size_t piece = task / n_groups;
            double* sums = piece == 0 ? out : spare.get() + (piece - 1) * size;
            detail::run<detail::RowDots<Squared>>(cpu, X, detail::part_of(X.n_rows, n_rows, task % n_groups),
                                                  detail::part_of(X.n_columns, detail::columns_at_once, piece), w,
                                                  sums);
        });
    });
    for (std::size_t piece = 1; piece < n_pieces; ++piece)
        for (std::size_t i = 0; i < size; ++i) out[i] += spare[(piece - 1) * size + i];
}

// out = X' c for each vector c of n_rows entries, one after the other; with the squares of X if Squared. Tasks are
// blocks of rows, or pieces of columns if there are many.
template <bool Squared, class Value>
void dense_rmatvec(const DenseView<Value>& X, const detail::Vectors& c, double* out, int n_threads) {
    const std::size_t size = c.count * X.n_columns;
    std::fill_n(out, size, 0.0);
    const bool wide = X.n_columns >= detail::columns_at_once;
    const std::size_t width = wide ? detail::columns_at_once / 4 : X.n_columns;
    const std::size_t n_pieces = wide ? detail::blocks(X.n_columns, width) : 1;
    const std::size_t n_blocks =
        wide ? 1 : std::clamp<std::size_t>(X.n_rows * X.n_columns / (4 * detail::numbers_per_task), 1, 64);
    const std::size_t n_rows = detail::blocks(X.n_rows, n_blocks);
    const auto spare = std::make_unique<double[]>((n_blocks - 1) * size);
    detail::on_this_cpu([&](auto cpu) {
        parallel_for(n_pieces * n_blocks, n_threads, [&](std::size_t task) {
            const std::size_t block = wide ? 0 : task, piece = wide ? task : 0;
            double* sums = block == 0 ? out : spare.get() + (block - 1) * size;
            detail::run<detail::AddRows<Squared>>(cpu, X, detail::part_of(X.n_rows, n_rows, block),
                                                  detail::part_of(X.n_columns, width, piece), c, sums);
        });
    });
    for (std::size_t block = 1; block < n_blocks; ++block)
        for (std::size_t i = 0; i < size; ++i) out[i] += spare[(block - 1) * size + i];
}

}  // namespace rankwise
