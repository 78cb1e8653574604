// Violated pairs per row of one query: rows enter a tree over ranks in label order. docs/counting.md explains the
// method.
//
// In score order, the violated better partners of row i are the rows with a higher label among the first `high`, and
// the violated worse partners are the rows with a lower label from `low` on. After the rows below a label have entered
// the tree, it yields the worse partners of the rows of that label. After these rows have entered too, the rows that
// are missing among the first `high` are the better partners.
#pragma once

#include <cstdint>
#include <vector>

#include "rank_tree.hpp"
#include "score_order.hpp"

namespace rankwise {

// The part of `row` and `level_begin` of one query: see Ranking in ranking.hpp.
struct LabelOrder {
    const std::int32_t* row;
    const std::int32_t* level_begin;
    std::int64_t n;

    // The begin of one of several parts of the query: a boundary between two labels.
    std::int64_t part_begin(std::int64_t part, std::int64_t n_parts) const {
        return part == n_parts ? n : level_begin[n * part / n_parts];
    }
};

// The rows of a query in score order with their windows, and an array of the same size for reuse. It holds the sorted
// keys if they are kept.
struct ByScore {
    RowSlot *rows, *spare;
};

inline ByScore rows_by_score(const LabelOrder& order, const double* scores, double margin, Scratch& scratch,
                             int n_threads, bool keep_keys) {
    auto *rows = scratch.take<RowSlot>(order.n), *spare = scratch.take<RowSlot>(order.n);
    detail::over_rows(order.n, n_threads, [&](std::int64_t p) {
        rows[p].keyed = {score_key(scores[order.row[p]]), static_cast<std::int32_t>(p), 0};
    });
    RowSlot* sorted = sort_by_key(rows, spare, order.n, n_threads);
    RowSlot* windows = sorted == rows ? spare : rows;
    const bool in_place = !keep_keys && detail::Blocks::of(order.n, n_threads).count == 1;
    scratch.borrow([&] {
        auto* numbers = in_place ? reinterpret_cast<double*>(sorted) : scratch.take<double>(order.n);
        margin_windows(sorted, windows, numbers, order.n, margin, n_threads);
    });
    return {windows, sorted};
}

// A stable argsort of finite numbers.
inline void stable_order(const double* numbers, std::int64_t n, std::int32_t* order) {
    Scratch scratch;
    auto *rows = scratch.take<RowSlot>(n), *spare = scratch.take<RowSlot>(n);
    for (std::int64_t i = 0; i < n; ++i)  // + 0.0: no negative zero
        rows[i].keyed = {score_key(numbers[i] + 0.0), static_cast<std::int32_t>(i), 0};
    const RowSlot* sorted = sort_by_key(rows, spare, n, 1);
    for (std::int64_t i = 0; i < n; ++i) order[i] = sorted[i].keyed.position;
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && sorted[end].keyed.key == sorted[begin].keyed.key;) ++end;
        if (end - begin > 1 && !std::is_sorted(order + begin, order + end)) std::sort(order + begin, order + end);
    }
}

// Windows in label order, each with the rank of its row by score, and 16 bytes per row for reuse.
struct ByLabel {
    const Window* windows;
    void* spare;
};

inline ByLabel windows_by_label(const LabelOrder& order, const double* scores, double margin, Scratch& scratch,
                                int n_threads) {
    static_assert(sizeof(RowSlot) == sizeof(Window));
    const auto [rows, spare] = rows_by_score(order, scores, margin, scratch, n_threads, false);
    auto* windows = reinterpret_cast<Window*>(spare);
    detail::over_rows(order.n, n_threads, [rows = rows, windows, last = order.n - 1](std::int64_t rank) {
        constexpr std::int64_t ahead = 24;
        detail::fetch_ahead(windows + rows[std::min(rank + ahead, last)].window.place);
        const Window window = rows[rank].window;
        windows[window.place] = {window.high, window.low, static_cast<std::int32_t>(rank), 0};
    });
    return {windows, rows};
}

// The label boundary nearest to the middle of [begin, end), or `end` if all of its rows have one label.
inline std::int32_t split_position(const std::int32_t* level_begin, std::int32_t begin, std::int32_t end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    const std::int32_t below = level_begin[middle];
    if (below == middle && middle > begin) return middle;
    const auto above =
        static_cast<std::int32_t>(std::upper_bound(level_begin + middle, level_begin + end, below) - level_begin);
    if (below <= begin) return above;
    if (above >= end) return below;
    return middle - below <= above - middle ? below : above;
}

// Violated partners of each row, by label position.
struct PartnerCounts {
    std::int32_t *better, *worse;
};

namespace detail {

// The rows [begin, end) of a query: all rows of some labels.
struct CountPart {
    LabelOrder order;
    const Window* windows;
    std::int64_t begin, end;
    PartnerCounts out;
    std::int64_t* pairs;
};

template <int depth>
struct CountLoop {
    template <class Cpu>
    static RANKWISE_INLINE void run(Cpu, const CountPart& given, const RankCounts& tree) {
        // Copies: the compiler would reload everything behind a reference after every store of a vector.
        const CountPart part = given;
        RankCounts counts = tree;
        const Window* windows = part.windows;
        std::int64_t pairs = 0;
        for (std::int64_t first = part.begin, last; first < part.end; first = last) {
            for (last = first + 1; last < part.end && part.order.level_begin[last] == first;) ++last;
            const auto entered = static_cast<std::int32_t>(first);
            for (std::int64_t p = first; p < last; ++p)
                part.out.worse[p] = entered - counts.below<depth>(windows[p].low);
            for (std::int64_t p = first; p < last; ++p) counts.enter<Cpu, depth>(windows[p].place);
            for (std::int64_t p = first; p < last; ++p) {
                const std::int32_t better = windows[p].high - counts.below<depth>(windows[p].high);
                part.out.better[p] = better;
                pairs += better;
            }
        }
        *part.pairs = pairs;
    }
};

}  // namespace detail

// Counts the violated partners of each row (c_i and d_i of equations (5) and (6) of Airola et al. 2011); returns the
// number of violated pairs. Counts are exact, so the number of parts may depend on the number of threads.
inline std::int64_t count_partners(const LabelOrder& order, const Window* windows, Scratch& scratch, int n_threads,
                                   const PartnerCounts& out) {
    using namespace detail;
    const std::int64_t n_parts = Blocks::of(order.n, n_threads).count;
    std::vector<std::int64_t> pairs(n_parts);
    std::vector<RankCounts> counts;
    for (std::int64_t k = 0; k < n_parts; ++k) counts.emplace_back(scratch, order.n);
    parallel_for(n_parts, n_threads, [&](std::size_t k) {
        const CountPart part{order, windows,         order.part_begin(k, n_parts), order.part_begin(k + 1, n_parts),
                             out,   pairs.data() + k};
        for (std::int64_t p = 0; p < part.begin; ++p) counts[k].put(windows[p].place);
        if (part.begin > 0) counts[k].settle();
        at_depth(counts[k].depth, [&](auto depth) {
            on_this_cpu([&](auto cpu) { detail::run<CountLoop<depth.value>>(cpu, part, counts[k]); });
        });
    });
    std::int64_t total = 0;
    for (const std::int64_t part : pairs) total += part;
    return total;
}

}  // namespace rankwise
