// Violated pairs per row of one query, without visiting a pair.
//
// Rows are numbered by label: position p, and level_begin[p] is the first position of the same label, so ties
// share it. In score order, the better partners that violate row i are the rows with a higher label among
// the first `high` of the order, and the worse partners are the rows with a lower label from `low` on. Take
// the rows in score order and split them by label into a lower and an upper half, each still in score order:
// one prefix count gives every lower row its partners in the upper half, every upper row its partners in the
// lower half, and both their windows inside their own half. This is a merge sort by score run from the root
// to the leaves, so that the only data-dependent choice is a store address.
#pragma once

#include <cstdint>

#include "buffer.hpp"
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

namespace detail {

constexpr std::int32_t leaf_rows = 128;
constexpr std::int32_t fork_rows = 1 << 15;
constexpr int most_forks = 64;  // threads inside one query

inline std::uint64_t pack(std::uint32_t high, std::uint32_t low) {
    return high | static_cast<std::uint64_t>(low) << 32;
}

// prefix[k] = number of the first k rows whose position is below `split`, for k from `begin` to before `end`;
// `lower` is the number before `begin`.
inline void count_lower(const RowSlot* rows, std::int32_t* prefix, std::int32_t begin, std::int32_t end,
                        std::int32_t split, std::int32_t lower) {
    for (std::int32_t k = begin; k < end; ++k) {
        prefix[k] = lower;
        lower += rows[k].window.position < split;
    }
}

class CountDescent {
public:
    CountDescent(const std::int32_t* level_begin, std::int32_t* net) : level_begin_(level_begin), net_(net) {}

    // Adds every pair inside the label range [begin, end) to `net` and returns their number. `rows` holds the
    // range in score order; `prefix` has room for n + n_threads numbers: each thread's last range needs n + 1.
    std::int64_t run(RowSlot* rows, RowSlot* spare, std::int32_t* prefix, std::int32_t begin, std::int32_t end,
                     int n_threads) const {
        const std::int32_t n = end - begin;
        if (n <= leaf_rows) return leaf(rows, begin, n);
        const std::int32_t split = split_position(level_begin_, begin, end);
        if (split == end) {
            store(rows, n);
            return 0;
        }
        const std::int32_t lower = split - begin;
        const std::int64_t here = split_rows(rows, spare, prefix, n, lower, split, n < fork_rows ? 1 : n_threads);
        auto run_lower = [&](int t) { return run(spare, rows, prefix, begin, split, t); };
        auto run_upper = [&](std::int32_t* room, int t) {
            return run(spare + lower, rows + lower, room, split, end, t);
        };
        if (n_threads < 2 || n < fork_rows) return here + run_lower(1) + run_upper(prefix, 1);
        std::int64_t below = 0, above = 0;
        const int upper_threads = n_threads / 2, lower_threads = n_threads - upper_threads;
        run_both([&] { below = run_lower(lower_threads); },
                 [&] { above = run_upper(prefix + lower + lower_threads, upper_threads); });
        return here + below + above;
    }

private:
    const std::int32_t* level_begin_;
    std::int32_t* net_;

    void store(const RowSlot* rows, std::int32_t n) const {
        for (std::int32_t k = 0; k < n; ++k) net_[rows[k].window.position] = rows[k].window.net;
    }

    // Splits the rows into lower and upper half and returns the number of pairs across; each thread takes a
    // block of rows.
    static std::int64_t split_rows(const RowSlot* rows, RowSlot* spare, std::int32_t* prefix, std::int32_t n,
                                   std::int32_t lower, std::int32_t split, int n_threads) {
        prefix[n] = lower;
        if (n_threads == 1) {
            count_lower(rows, prefix, 0, n, split, 0);
            return partition(rows, spare, prefix, 0, n, lower, split);
        }
        const Blocks blocks{n, n_threads};
        std::vector<std::int32_t> before(blocks.count + 1, 0);
        std::vector<std::int64_t> pairs(blocks.count);
        auto begin = [&](std::size_t b) { return static_cast<std::int32_t>(blocks.begin(b)); };
        parallel_for(blocks.count, n_threads, [&](std::size_t b) {
            std::int32_t count = 0;
            for (std::int32_t k = begin(b); k < begin(b + 1); ++k) count += rows[k].window.position < split;
            before[b + 1] = count;
        });
        for (std::int64_t b = 0; b < blocks.count; ++b) before[b + 1] += before[b];
        parallel_for(blocks.count, n_threads, [&](std::size_t b) {
            count_lower(rows, prefix, begin(b), begin(b + 1), split, before[b]);
        });
        parallel_for(blocks.count, n_threads, [&](std::size_t b) {
            pairs[b] = partition(rows, spare, prefix, begin(b), begin(b + 1), lower, split);
        });
        std::int64_t total = 0;
        for (const std::int64_t part : pairs) total += part;
        return total;
    }

    static std::int64_t partition(const RowSlot* rows, RowSlot* spare, const std::int32_t* prefix,
                                  std::int32_t begin, std::int32_t end, std::int32_t lower, std::int32_t split) {
        std::int64_t at_lower = begin < end ? prefix[begin] : 0, at_upper = lower + begin - at_lower, pairs = 0;
        for (std::int32_t k = begin; k < end; ++k) {
            // Masks instead of branches: which half a row goes to is a coin toss that no predictor learns.
            // Both ends of the window go down in one 64-bit word; neither difference borrows from the other.
            const WindowRow row = rows[k].window;
            const auto upper = -static_cast<std::int64_t>(row.position >= split);
            const std::uint32_t high = prefix[row.high], low = prefix[row.low];
            const std::uint64_t below = pack(high, low), ends = pack(row.high, row.low);
            const std::uint64_t inside = below ^ ((below ^ (ends - below)) & upper);
            const std::int64_t above = row.high - static_cast<std::int64_t>(high);
            const std::int64_t change = above ^ ((above ^ (static_cast<std::int64_t>(low) - lower)) & upper);
            const std::int64_t at = at_lower ^ ((at_lower ^ at_upper) & upper);
            spare[at].window = {static_cast<std::int32_t>(inside), static_cast<std::int32_t>(inside >> 32),
                                row.position, row.net + static_cast<std::int32_t>(change)};
            pairs += above & ~upper;
            at_lower += 1 + upper;
            at_upper -= upper;
        }
        return pairs;
    }

    // All pairs of at most 128 rows, as signed byte comparisons that compilers turn into vector instructions.
    std::int64_t leaf(const RowSlot* rows, std::int32_t begin, std::int32_t n) const {
        alignas(64) std::int8_t level[leaf_rows];
        alignas(64) std::int8_t index[leaf_rows];
        for (std::int32_t k = 0; k < leaf_rows; ++k) {
            index[k] = byte(k);
            level[k] = 127;  // no row: above every window's end, and never worse
        }
        for (std::int32_t k = 0; k < n; ++k) level[k] = byte(level_begin_[rows[k].window.position] - begin);
        std::int64_t pairs = 0;
        for (std::int32_t k = 0; k < n; ++k) {
            const WindowRow row = rows[k].window;
            const std::int8_t mine = level[k], last = byte(row.high - 1), low = byte(row.low);
            std::uint8_t better = 0, worse = 0;
            if (row.high > 0)
                for (std::int32_t j = 0; j < leaf_rows; ++j)
                    better += static_cast<std::uint8_t>((level[j] > mine) & (index[j] <= last));
            for (std::int32_t j = 0; j < leaf_rows; ++j)
                worse += static_cast<std::uint8_t>((level[j] < mine) & (index[j] >= low));
            pairs += better;
            net_[row.position] = row.net + better - worse;
        }
        return pairs;
    }

    static std::int8_t byte(std::int32_t number) { return static_cast<std::int8_t>(number - 128); }
};

}  // namespace detail

// Scratch for the rows of one query, 40 bytes per row, reused from query to query. The sorted scores are done
// with before the counts begin, so they share their memory.
class CountScratch {
public:
    explicit CountScratch(std::int64_t n) : slots_(2 * n), numbers_(n + detail::most_forks), n_(n) {}
    RowSlot* rows() { return slots_.data(); }
    RowSlot* spare() { return slots_.data() + n_; }
    double* scores() { return numbers_.data(); }
    std::int32_t* net() { return reinterpret_cast<std::int32_t*>(numbers_.data()); }
    std::int32_t* prefix() { return net() + n_; }

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
    return detail::CountDescent(order.level_begin, scratch.net())
        .run(windows, windows == rows ? spare : rows, scratch.prefix(), 0, static_cast<std::int32_t>(order.n),
             std::min(n_threads, detail::most_forks));
}

}  // namespace rankwise
