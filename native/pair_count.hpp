// Violated pairs per row of one query: rows in score order with their windows, and the descent by label.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "label_descent.hpp"
#include "score_order.hpp"

namespace rankwise {

// What a query's rows look like in label order.
struct LabelOrder {
    const std::int32_t* row;          // row index at each position
    const std::int32_t* level_begin;  // first position with the same label, counted from the query's start
    std::int64_t n;
};

// The rows of a query in score order with their windows, in one of the two buffers, which is returned.
inline RowSlot* rows_by_score(const LabelOrder& order, const double* scores, double margin, RowSlot* rows,
                              RowSlot* spare, double* sorted_scores, int n_threads) {
    const detail::Blocks blocks = detail::Blocks::of(order.n, n_threads);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t p = blocks.begin(b); p < blocks.begin(b + 1); ++p)
            rows[p].keyed = {score_key(scores[order.row[p]]), static_cast<std::int32_t>(p), 0};
    });
    RowSlot* sorted = sort_by_key(rows, spare, order.n, n_threads);
    RowSlot* windows = sorted == rows ? spare : rows;
    margin_windows(sorted, windows, sorted_scores, order.n, margin, n_threads);
    return windows;
}

// The label boundary nearest the middle of [begin, end), or `end` when all its rows share one label.
inline std::int32_t split_position(const std::int32_t* level_begin, std::int32_t begin, std::int32_t end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    const std::int32_t below = level_begin[middle];
    if (below == middle && middle > begin) return middle;
    const auto above = static_cast<std::int32_t>(
        std::upper_bound(level_begin + middle, level_begin + end, below) - level_begin);
    if (below <= begin) return above;
    if (above >= end) return below;
    return middle - below <= above - middle ? below : above;
}

// Scratch for the rows of one query, 40 bytes per row, reused from query to query. The sorted scores are done
// with before the counts begin, so they share their memory.
class CountScratch {
public:
    explicit CountScratch(std::int64_t n) : slots_(2 * n), numbers_(n), n_(n) {}
    RowSlot* rows() { return slots_.data(); }
    RowSlot* spare() { return slots_.data() + n_; }
    double* scores() { return numbers_.data(); }
    std::int32_t* net() { return reinterpret_cast<std::int32_t*>(numbers_.data()); }
    std::uint8_t* part() { return reinterpret_cast<std::uint8_t*>(net() + n_); }

private:
    Buffer<RowSlot> slots_;
    Buffer<double> numbers_;
    std::int64_t n_;
};

// net[p] = violated pairs in which the row at position p is the worse one, minus those in which it is the
// better one (c_i - d_i of equations (5) and (6) of Airola et al. 2011); returns their total, sum of c_i.
inline std::int64_t count_violations(const LabelOrder& order, const double* scores, double margin,
                                     CountScratch& scratch, int n_threads) {
    RowSlot *rows = scratch.rows(), *spare = scratch.spare();
    RowSlot* windows = rows_by_score(order, scores, margin, rows, spare, scratch.scores(), n_threads);
    return detail::LabelDescent<WindowRow>(order.level_begin, scratch.net())
        .run(&windows->window, &(windows == rows ? spare : rows)->window, scratch.part(), 0,
             static_cast<std::int32_t>(order.n), n_threads);
}

}  // namespace rankwise
