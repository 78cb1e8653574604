// Sums over the features of two rows: dot products, squared distances and sums of absolute differences.
//
// A sum depends on the numbers of its two rows and on nothing else: not on the positions or the number of the rows,
// their alignment in memory or the number of threads. BLAS guarantees none of this. Each sum goes over the features in
// one order, and incomplete tiles are padded and summed in the same way. On another type of CPU the rounding may
// differ, because of fused multiply-adds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "parallel.hpp"
#include "vectors.hpp"

namespace rankwise {

struct Rows {
    const double* data;  // row-major
    std::size_t n_rows;
    std::size_t n_columns;

    const double* row(std::size_t i) const { return data + i * n_columns; }
};

namespace detail {

// Rows of X per tile, vectors of rows of Z per tile, and features that are summed before the sums are stored.
constexpr std::size_t tile_rows = 4, tile_vectors = 3, features_per_pass = 256;
// Rows of Z per tile.
template <class Cpu>
constexpr std::size_t panel_rows = tile_vectors * Cpu::width;
// Rows of X per task, which stay in a cache while all rows of Z are read.
constexpr std::size_t rows_per_task = 64;
// Below this number of multiplications, starting a thread costs more than it saves.
constexpr std::size_t work_worth_a_thread = 1 << 18;

}  // namespace detail

// The terms of a sum: x with each of the numbers z.
struct Product {
    template <class Lanes>
    static RANKWISE_INLINE void add(double x, const Lanes& z, Lanes& sum) {
        RANKWISE_CONTRACT
        sum += x * z;
    }
};

struct SquaredDifference {
    template <class Lanes>
    static RANKWISE_INLINE void add(double x, const Lanes& z, Lanes& sum) {
        RANKWISE_CONTRACT
        const Lanes difference = x - z;
        sum += difference * difference;
    }
};

struct AbsoluteDifference {
    template <class Lanes>
    static RANKWISE_INLINE void add(double x, const Lanes& z, Lanes& sum) {
        using detail::magnitude;
        const Lanes difference = x - z;
        sum += magnitude(difference);
    }
};

namespace detail {

// Features first, ..., first + n - 1 of all rows of Z, panel by panel and within a panel feature by feature.
struct Pass {
    std::size_t first;
    std::size_t n;
    const double* panels;
    std::size_t n_rows;
};

// The same features of tile_rows rows of X, and of a panel of rows of Z feature by feature.
template <class Term, class Cpu>
RANKWISE_INLINE void sum_tile(const double* const* x, const double* panel, std::size_t n_features, double* sums) {
    using Lanes = typename Cpu::Lanes;
    Lanes sum[tile_rows][tile_vectors] = {};
    for (std::size_t k = 0; k < n_features; ++k) {
        Lanes z[tile_vectors];
        RANKWISE_UNROLL
        for (std::size_t j = 0; j < tile_vectors; ++j)
            std::memcpy(&z[j], panel + k * panel_rows<Cpu> + j * Cpu::width, sizeof z[j]);
        RANKWISE_UNROLL
        for (std::size_t i = 0; i < tile_rows; ++i) {
            const double value = x[i][k];
            RANKWISE_UNROLL
            for (std::size_t j = 0; j < tile_vectors; ++j) Term::add(value, z[j], sum[i][j]);
        }
    }
    std::memcpy(sums, sum, sizeof sum);
}

// Stores the sums of a tile without padding; adds them to those of earlier features unless these features are first.
template <class Cpu>
RANKWISE_INLINE void put_down(const double* sums, std::size_t n_rows, std::size_t n_columns, bool first, double* out,
                              std::size_t stride) {
    for (std::size_t i = 0; i < n_rows; ++i)
        for (std::size_t j = 0; j < n_columns; ++j) {
            const double sum = sums[i * panel_rows<Cpu> + j];
            double& entry = out[i * stride + j];
            entry = first ? sum : entry + sum;
        }
}

// Sums of the rows begin, ..., end - 1 of X with all rows of Z. A tile beyond the last row repeats it.
template <class Term, class Cpu>
RANKWISE_INLINE void sum_rows(const Rows& X, std::size_t begin, std::size_t end, const Pass& pass, double* out) {
    for (std::size_t column = 0; column < pass.n_rows; column += panel_rows<Cpu>)
        for (std::size_t row = begin; row < end; row += tile_rows) {
            const double* x[tile_rows];
            for (std::size_t i = 0; i < tile_rows; ++i) x[i] = X.row(std::min(row + i, end - 1)) + pass.first;
            double sums[tile_rows * panel_rows<Cpu>];
            sum_tile<Term, Cpu>(x, pass.panels + column * pass.n, pass.n, sums);
            put_down<Cpu>(sums, std::min(tile_rows, end - row), std::min(panel_rows<Cpu>, pass.n_rows - column),
                          pass.first == 0, out + row * pass.n_rows + column, pass.n_rows);
        }
}

// Copies a panel of rows of Z, padded with rows of zeros.
template <std::size_t Panel>
void pack(const Rows& Z, std::size_t first_row, const Pass& pass, double* panel) {
    const std::size_t n_rows = std::min(Panel, Z.n_rows - first_row);
    if (n_rows < Panel) std::fill_n(panel, Panel * pass.n, 0.0);
    for (std::size_t j = 0; j < n_rows; ++j) {
        const double* z = Z.row(first_row + j) + pass.first;
        for (std::size_t k = 0; k < pass.n; ++k) panel[k * Panel + j] = z[k];
    }
}

// Four vectors of partial sums avoid a chain of dependent additions.
template <class Cpu>
RANKWISE_INLINE double dot(const double* x, const double* w, std::size_t n) {
    RANKWISE_CONTRACT
    constexpr std::size_t n_sums = 4 * Cpu::width;
    typename Cpu::Lanes sum[4] = {};
    std::size_t k = 0;
    for (; k + n_sums <= n; k += n_sums) {
        RANKWISE_UNROLL
        for (std::size_t j = 0; j < 4; ++j) {
            typename Cpu::Lanes a, b;
            std::memcpy(&a, x + k + j * Cpu::width, sizeof a);
            std::memcpy(&b, w + k + j * Cpu::width, sizeof b);
            sum[j] += a * b;
        }
    }
    double total[n_sums];
    std::memcpy(total, sum, sizeof sum);
    for (std::size_t lane = 0; k < n; ++k, ++lane) total[lane] += x[k] * w[k];
    for (std::size_t half = n_sums / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) total[lane] += total[lane + half];
    return total[0];
}

template <class Cpu>
RANKWISE_INLINE void score_rows(const Rows& X, std::size_t begin, std::size_t end, const Rows& functions, double* out) {
    for (std::size_t row = begin; row < end; ++row)
        for (std::size_t v = 0; v < functions.n_rows; ++v)
            out[row * functions.n_rows + v] = dot<Cpu>(X.row(row), functions.row(v), X.n_columns);
}

template <class Term>
struct SumRows {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const Rows& X, std::size_t begin, std::size_t end, const Pass& pass,
                                    double* out) {
        sum_rows<Term, Cpu>(X, begin, end, pass, out);
    }
};

struct ScoreRows {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const Rows& X, std::size_t begin, std::size_t end, const Rows& functions,
                                    double* out) {
        score_rows<Cpu>(X, begin, end, functions, out);
    }
};

}  // namespace detail

// out[i, j] = the sum over features k of the term of x_ik and z_jk; out has a row for each row of X and a column
// for each row of Z. Copies features_per_pass features of Z at a time.
template <class Term>
void sum_all_pairs(const Rows& X, const Rows& Z, double* out, int n_threads) {
    if (X.n_columns == 0) std::fill_n(out, X.n_rows * Z.n_rows, 0.0);
    const bool small = X.n_rows * Z.n_rows * X.n_columns < detail::work_worth_a_thread;
    const int threads = small ? 1 : n_threads;
    detail::on_this_cpu([&](auto cpu) {
        constexpr std::size_t panel = detail::panel_rows<decltype(cpu)>;
        const std::size_t n_panels = detail::blocks(Z.n_rows, panel);
        const std::size_t most_features = std::min(X.n_columns, detail::features_per_pass);
        const auto panels = std::make_unique_for_overwrite<double[]>(n_panels * panel * most_features);
        for (std::size_t first = 0; first < X.n_columns; first += most_features) {
            const std::size_t n_features = std::min(most_features, X.n_columns - first);
            const detail::Pass pass{first, n_features, panels.get(), Z.n_rows};
            parallel_for(n_panels, threads, [&](std::size_t p) {
                detail::pack<panel>(Z, p * panel, pass, panels.get() + p * panel * n_features);
            });
            parallel_for(detail::blocks(X.n_rows, detail::rows_per_task), threads, [&](std::size_t task) {
                const std::size_t begin = task * detail::rows_per_task;
                const std::size_t end = std::min(begin + detail::rows_per_task, X.n_rows);
                detail::run<detail::SumRows<Term>>(cpu, X, begin, end, pass, out);
            });
        }
    });
}

// out[i, v] = x_i' f_v; out has a row for each row of X and a column for each function.
inline void score_rows(const Rows& X, const Rows& functions, double* out, int n_threads) {
    const std::size_t step = std::max<std::size_t>(
        1, detail::work_worth_a_thread / std::max<std::size_t>(1, X.n_columns * functions.n_rows));
    detail::on_this_cpu([&](auto cpu) {
        parallel_for(detail::blocks(X.n_rows, step), n_threads, [&](std::size_t task) {
            const std::size_t end = std::min((task + 1) * step, X.n_rows);
            detail::run<detail::ScoreRows>(cpu, X, task * step, end, functions, out);
        });
    });
}

}  // namespace rankwise
