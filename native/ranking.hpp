// Counts and sums over the violated pairs of a ranking of each query, threaded over queries and within large ones. The
// results do not depend on the number of threads.
#pragma once

#include <numeric>
#include <stdexcept>
#include <string>

#include "level_sweep.hpp"
#include "partner_sums.hpp"
#include "violated_pairs.hpp"

namespace rankwise {

// The rows by query, then by label. rankwise.preferences.row_order.RowOrder builds this layout; all counts and sums
// over a ranking read it.
//
//     row          the row at each position: query by query, in ascending order of label, equal labels in the order of
//                  their rows; rows of weight zero are left out
//     level_begin  for each position, the first position of the query with the same label, counted from the begin of
//                  the query. This is the number of rows of the query with a lower label, the possible worse partners.
//     query_begin  query q has the positions from query_begin[q] up to, not including, query_begin[q + 1]; it may have
//                  none. The last entry, query_begin[n_queries], is the number of positions.
//     position     the position of each row, or -1 if it is left out: the inverse of `row`
//
// Invariants: row[position[i]] == i unless position[i] == -1. Within a query level_begin begins with 0 and never
// decreases, and level_begin[b + level_begin[p]] == level_begin[p] <= p - b, b being the query's first position.
struct Ranking {
    const std::int32_t* row;
    const std::int32_t* level_begin;
    const std::int64_t* query_begin;
    std::int64_t n_queries;
    const std::int32_t* position;
    std::int64_t n_rows;  // entries of `position`, rows left out included

    LabelOrder query(std::int64_t q) const {
        const std::int64_t begin = query_begin[q];
        return {row + begin, level_begin + begin, query_begin[q + 1] - begin};
    }
};

enum class Method { merge, tree, pairs };

inline Method method_named(const std::string& name) {
    if (name == "merge") return Method::merge;
    if (name == "tree") return Method::tree;
    if (name == "pairs") return Method::pairs;
    throw std::invalid_argument("unknown counting method: " + name);
}

namespace detail {

constexpr std::int64_t large_query = 2 * parallel_rows;
constexpr std::int64_t task_rows = 1 << 13;
constexpr std::int64_t few_pairs_per_row = 400;  // in numbers added per row; from there on, a sort costs less

struct QueryRange {
    std::int64_t begin, end;
};

// Tasks of consecutive queries of some thousand rows in all; large queries are skipped if large_apart.
inline std::vector<QueryRange> small_query_tasks(const Ranking& ranking, bool large_apart) {
    std::vector<QueryRange> tasks;
    std::int64_t rows = 0;
    QueryRange task{0, 0};
    auto close = [&](std::int64_t next) {
        if (task.end > task.begin) tasks.push_back(task);
        task = {next, next};
        rows = 0;
    };
    for (std::int64_t q = 0; q < ranking.n_queries; ++q) {
        const std::int64_t n = ranking.query(q).n;
        if (large_apart && n >= large_query) {
            close(q + 1);
            continue;
        }
        task.end = q + 1;
        if ((rows += n) >= task_rows) close(q + 1);
    }
    close(ranking.n_queries);
    return tasks;
}

// Calls work(q, scratch, threads) for each query and make_scratch() once per task.
template <class MakeScratch, class Work>
void for_each_query(const Ranking& ranking, int n_threads, MakeScratch&& make_scratch, Work&& work) {
    const bool large_apart = n_threads > 1;
    for (std::int64_t q = 0; large_apart && q < ranking.n_queries; ++q) {
        const std::int64_t n = ranking.query(q).n;
        if (n < large_query) continue;
        auto scratch = make_scratch();
        work(q, scratch, n_threads);
    }
    const auto tasks = small_query_tasks(ranking, large_apart);
    parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
        auto scratch = make_scratch();
        for (std::int64_t q = tasks[t].begin; q < tasks[t].end; ++q) work(q, scratch, 1);
    });
}

// Whether summing over the pairs of a query, with this number of channels, costs less than a sort and a tree.
inline bool few_rows(const LabelOrder& order, int channels) {
    constexpr std::int64_t most = 1024;
    if (order.n > most) return false;
    std::int64_t pairs = 0;
    for (std::int64_t p = 0; p < order.n; ++p) pairs += order.level_begin[p];
    return (1 + channels) * pairs < few_pairs_per_row * order.n;
}

// Calls row(i, numbers of row i) for each row i, with zeros for rows that are left out. Results are stored by label
// position and then gathered by row, because scattered reads are faster than scattered writes.
template <int count, class Number, class Row>
void read_by_row(const Ranking& ranking, int n_threads, const Number* by_position, Row&& row) {
    constexpr std::int64_t ahead = 24;
    constexpr Number none[count] = {};
    const std::int32_t* position = ranking.position;
    const std::int64_t last = ranking.n_rows - 1;
    over_rows(ranking.n_rows, n_threads, [=, &none](std::int64_t i) {
        fetch_ahead(by_position + count * std::max(0, position[std::min(i + ahead, last)]));
        row(i, position[i] < 0 ? none : by_position + count * std::int64_t{position[i]});
    });
}

// Returns the sum of net (score - reference).
inline double net_score(const LabelOrder& order, const std::int32_t* net, const double* scores, int n_threads) {
    const double reference = scores[order.row[0]];
    return sum_over_rows(order.n, n_threads,
                         [&](std::int64_t p) { return net[p] * (scores[order.row[p]] - reference); });
}

// count_partners, pair by pair.
inline std::int64_t count_few_rows(const LabelOrder& order, const double* scores, double margin, Scratch& scratch,
                                   const PartnerCounts& out) {
    FewRows<1> rows(scratch, order.level_begin, order.n, margin, false);
    for (std::int64_t p = 0; p < order.n; ++p) {
        rows.score[p] = scores[order.row[p]];
        rows.given[0][p] = 1.0;
    }
    sum_few_rows(rows);
    std::int64_t pairs = 0;
    for (std::int64_t p = 0; p < order.n; ++p) {
        pairs += out.better[p] = static_cast<std::int32_t>(rows.better[0][p]);
        out.worse[p] = static_cast<std::int32_t>(rows.worse[0][p]);
    }
    return pairs;
}

inline std::int64_t count_few_levels(const LabelOrder& order, const FewLevels& levels, const double* scores,
                                     double margin, Scratch& scratch, int n_threads, const PartnerCounts& out) {
    sweep_levels<1>(
        order, levels, scores, margin, scratch, n_threads, [](std::int64_t, double) { return std::array{1.0}; },
        [&](std::int64_t p, const double*, const double* better, const double* worse) {
            out.better[p] = static_cast<std::int32_t>(*better);
            out.worse[p] = static_cast<std::int32_t>(*worse);
            return 0.0;  // a double may not hold the number of pairs exactly
        });
    return std::accumulate(out.better, out.better + order.n, std::int64_t{0});
}

// The counts of n rows, in 8 bytes per row.
inline PartnerCounts counts_in(void* memory, std::int64_t n) {
    auto* better = static_cast<std::int32_t*>(memory);
    return {better, better + n};
}

struct QueryCounts {
    PartnerCounts partners;
    std::int64_t pairs;
};

// The counts of a query, in scratch.
inline QueryCounts count_query(const LabelOrder& order, const double* scores, double margin, Scratch& scratch,
                               int n_threads) {
    auto room = [&] { return counts_in(scratch.take<double>(order.n), order.n); };
    if (few_rows(order, 1)) {
        const PartnerCounts out = room();
        return {out, count_few_rows(order, scores, margin, scratch, out)};
    }
    if (const FewLevels levels(order); levels.few) {
        const PartnerCounts out = room();
        return {out, count_few_levels(order, levels, scores, margin, scratch, n_threads, out)};
    }
    const auto [windows, spare] = windows_by_label(order, scores, margin, scratch, n_threads);
    const PartnerCounts out = counts_in(spare, order.n);
    return {out, count_partners(order, windows, scratch, n_threads, out)};
}

}  // namespace detail

// For each row c_i - d_i, for each query the number of violated pairs and the sum of their hinge losses, sum of (c_i -
// d_i) s_i + margin c_i: equations (5) to (8) of Airola et al. 2011. If net and losses are null, only counts.
inline void count_ranking(const Ranking& ranking, const double* scores, double margin, ScratchPool& pool, int n_threads,
                          std::int64_t* violations, double* net, double* losses) {
    constexpr std::size_t bytes_to_count = 2 * sizeof(RowSlot) + 1;
    const auto kept = pool.lend();
    kept->restart();
    auto* counted = kept->take<std::int32_t>(ranking.query_begin[ranking.n_queries]);
    detail::for_each_query(
        ranking, n_threads, [&] { return pool.lend(); },
        [&](std::int64_t q, ScratchPool::Lease& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            violations[q] = 0;
            if (losses) losses[q] = 0;
            if (order.n == 0) return;
            scratch->restart(bytes_to_count * order.n);
            const auto [counts, pairs] = detail::count_query(order, scores, margin, *scratch, threads);
            violations[q] = pairs;
            if (!net) return;
            std::int32_t* of_query = counted + ranking.query_begin[q];
            for (std::int64_t p = 0; p < order.n; ++p) of_query[p] = counts.better[p] - counts.worse[p];
            losses[q] =
                detail::net_score(order, of_query, scores, threads) + margin * static_cast<double>(violations[q]);
        });
    if (net)
        detail::read_by_row<1>(ranking, n_threads, counted,
                               [=](std::int64_t i, const std::int32_t* count) { net[i] = *count; });
}

namespace detail {

template <bool Gain, bool Moment>
void fill_channels(const LabelOrder& order, const RowColumns& columns, Channels& channels) {
    constexpr int K = channel_count<Gain, Moment>;
    for (std::int64_t p = 0; p < order.n; ++p) {
        const std::int32_t row = order.row[p];
        channels.can_be_worse[p] = or_one(columns.can_be_worse, row);
        const auto own = row_channels<Gain, Moment>(columns, row);
        std::copy_n(own.data(), K, channels.own.data() + p * K);
    }
}

template <bool Gain, bool Moment, class Found>
double sum_few_rows(const LabelOrder& order, const double* scores, double margin, const RowColumns& columns,
                    Scratch& scratch, const Found& found) {
    constexpr int K = channel_count<Gain, Moment>;
    FewRows<K> rows(scratch, order.level_begin, order.n, margin, columns.can_be_worse);
    for (std::int64_t p = 0; p < order.n; ++p) {
        const std::int32_t row = order.row[p];
        const auto own = row_channels<Gain, Moment>(columns, row);
        rows.score[p] = scores[row];
        for (int k = 0; k < K; ++k) rows.given[k][p] = own[k];
        for (int k = 0; columns.can_be_worse && k < K; ++k)
            rows.given_as_worse[k][p] = columns.can_be_worse[row] * own[k];
    }
    sum_few_rows(rows);
    return sum_over_rows(order.n, 1, [&](std::int64_t p) {
        double own[K], better[K], worse[K];
        for (int k = 0; k < K; ++k) {
            own[k] = rows.given[k][p];
            better[k] = or_one(columns.can_be_worse, order.row[p]) * rows.better[k][p];
            worse[k] = rows.worse[k][p];
        }
        return found(p, own, better, worse);
    });
}

// Room for `tables` numbers per row and for their sums; `given` and `sums` are used if they are not null.
inline WindowSums window_sums(const LabelOrder& order, int tables, const double* can_be_worse, double* given,
                              double* sums, Scratch& scratch, int n_threads) {
    double* events = can_be_worse ? scratch.take<double>(order.n) : nullptr;
    if (events) over_rows(order.n, n_threads, [&](std::int64_t p) { events[p] = can_be_worse[order.row[p]]; });
    if (!given) given = scratch.take<double>(order.n * tables);
    return {given, events, sums ? sums : scratch.take<double>(2 * order.n * tables)};
}

// unit: no weights, so the first number of every row is 1 and its sum is a count.
template <bool Gain, bool Moment, bool unit, class Found>
double sum_by_windows(const LabelOrder& order, const double* scores, double margin, const RowColumns& columns,
                      ScratchPool& pool, Scratch& scratch, int n_threads, const Found& found, double* room_for_two) {
    constexpr int K = channel_count<Gain, Moment>;
    constexpr int tables = K - unit;
    const auto [windows, spare] = windows_by_label(order, scores, margin, scratch, n_threads);
    auto* room = static_cast<double*>(spare);  // of counts in one half of it, and numbers in the rest
    const PartnerCounts counts = counts_in(room, order.n);
    if constexpr (unit) scratch.borrow([&] { count_partners(order, windows, scratch, n_threads, counts); });
    double* given = tables + unit <= 2 ? room + unit * order.n : nullptr;
    const WindowSums sums = window_sums(order, tables, columns.can_be_worse, given,
                                        tables == 1 ? room_for_two : nullptr, scratch, n_threads);
    if constexpr (tables > 0) {
        over_rows(order.n, n_threads, [&](std::int64_t p) {
            const auto own = row_channels<Gain, Moment>(columns, order.row[p]);
            for (int k = 0; k < tables; ++k) sums.given[p * tables + k] = own[unit + k];
        });
        sum_partners<tables>(order, windows, sums, pool, n_threads);
    }
    return sum_over_rows(order.n, n_threads, [&](std::int64_t p) {
        double own[K], better[K], worse[K];
        if constexpr (unit) {
            own[0] = 1.0;
            better[0] = counts.better[p];
            worse[0] = counts.worse[p];
        }
        for (int k = 0; k < tables; ++k) {
            own[unit + k] = sums.given[p * tables + k];
            better[unit + k] = or_one(sums.can_be_worse, p) * sums.sums[2 * p * tables + k];
            worse[unit + k] = sums.sums[(2 * p + 1) * tables + k];
        }
        return found(p, own, better, worse);
    });
}

// The sums of a query by the cheapest method. found(p, own, better, worse) receives the channels of the row at position
// p and their sums over its better and its worse partners. Returns the sum of the values of `found`. Two numbers per
// row that only `found` writes, at 2 p and 2 p + 1, save memory as room_for_two.
template <bool Gain, bool Moment, class Found>
double sum_query(const LabelOrder& order, const double* scores, double margin, const RowColumns& columns,
                 ScratchPool& pool, Scratch& scratch, int n_threads, const Found& found,
                 double* room_for_two = nullptr) {
    constexpr int K = channel_count<Gain, Moment>;
    const bool unit = !columns.weight && !columns.can_be_worse;
    if (few_rows(order, K)) return sum_few_rows<Gain, Moment>(order, scores, margin, columns, scratch, found);
    if (const FewLevels levels(order); levels.few && !columns.can_be_worse)
        return sweep_levels<K>(
            order, levels, scores, margin, scratch, n_threads,
            [&](std::int64_t p, double score) {
                if constexpr (!Gain && Moment)  // the score is at hand: no access by row
                    if (unit && columns.moment == scores) return std::array{1.0, score - columns.origin};
                return row_channels<Gain, Moment>(columns, order.row[p]);
            },
            found);
    const auto run = unit ? sum_by_windows<Gain, Moment, true, Found> : sum_by_windows<Gain, Moment, false, Found>;
    return run(order, scores, margin, columns, pool, scratch, n_threads, found, room_for_two);
}

template <bool Gain, bool Moment>
void sum_for_reference(const LabelOrder& order, const double* scores, double margin, Method method,
                       const RowColumns& columns, double* received) {
    constexpr int K = channel_count<Gain, Moment>;
    Channels channels(order.n, K, received);
    fill_channels<Gain, Moment>(order, columns, channels);
    if (method == Method::tree) sum_by_tree<K>(order, scores, margin, channels);
    if (method == Method::pairs) sum_by_pairs<K>(order, scores, margin, channels);
}

template <bool Gain, bool Moment>
void sum_all_partners(const Ranking& ranking, const RowColumns& columns, int n_threads, const RowSums& out) {
    if (ranking.query_begin[ranking.n_queries] < ranking.n_rows)
        for (int m = 0; m < (Moment ? 2 : 1); ++m) {
            std::fill_n(out.up[m], ranking.n_rows, 0.0);
            std::fill_n(out.down[m], ranking.n_rows, 0.0);
        }
    for_each_query(
        ranking, n_threads, [] { return 0; },
        [&](std::int64_t q, int, int) { sum_by_label<Gain, Moment>(ranking.query(q), columns, out); });
}

template <bool Gain, bool Moment>
void sum_ranking(const Ranking& ranking, const double* scores, double margin, Method method, const RowColumns& columns,
                 ScratchPool& pool, int n_threads, const RowSums& out) {
    constexpr int K = channel_count<Gain, Moment>;
    const auto kept = pool.lend();
    kept->restart();
    auto* received = kept->take<double>(2 * K * ranking.query_begin[ranking.n_queries]);
    for_each_query(
        ranking, n_threads, [&] { return pool.lend(); },
        [&](std::int64_t q, ScratchPool::Lease& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            double* of_query = received + 2 * K * ranking.query_begin[q];
            if (method != Method::merge)
                return sum_for_reference<Gain, Moment>(order, scores, margin, method, columns, of_query);
            scratch->restart();
            sum_query<Gain, Moment>(order, scores, margin, columns, pool, *scratch, threads,
                                    [=](std::int64_t p, const double*, const double* better, const double* worse) {
                                        std::copy_n(better, K, of_query + 2 * K * p);
                                        std::copy_n(worse, K, of_query + 2 * K * p + K);
                                        return 0.0;
                                    });
        });
    read_by_row<2 * K>(ranking, n_threads, received,
                       [=](std::int64_t i, const double* sums) { store_sums<Gain, Moment>(columns, i, sums, out); });
}

// With gains, over better partners the weight is gain_j - gain_i, over worse ones gain_i - gain_j.
template <bool Gain>
void moments_of_query(const LabelOrder& order, const Window* windows, const RowColumns& columns, ScratchPool& pool,
                      Scratch& scratch, int n_threads, double* received) {
    constexpr int K = Gain ? 2 : 1;
    const WindowSums sums = window_sums(order, K, columns.can_be_worse, nullptr, nullptr, scratch, n_threads);
    over_rows(order.n, n_threads, [&](std::int64_t p) {
        const std::int32_t row = order.row[p];
        const double moment = or_one(columns.weight, row) * columns.moment[row];
        sums.given[p * K] = moment;
        if constexpr (Gain) sums.given[p * K + 1] = moment * columns.gain[row];
    });
    sum_partners<K>(order, windows, sums, pool, n_threads);
    over_rows(order.n, n_threads, [&](std::int64_t p) {
        for (int k = 0; k < K; ++k) {
            const double better = or_one(sums.can_be_worse, p) * sums.sums[2 * p * K + k];
            const double worse = sums.sums[(2 * p + 1) * K + k];
            received[p * K + k] = Gain ? better - worse : better + worse;
        }
    });
}

template <bool Gain>
void moments_of_ranking(const Ranking& ranking, const Window* windows, const RowColumns& columns, ScratchPool& pool,
                        int n_threads, double* out) {
    constexpr int K = Gain ? 2 : 1;
    const auto kept = pool.lend();
    kept->restart();
    auto* received = kept->take<double>(K * ranking.query_begin[ranking.n_queries]);
    for_each_query(
        ranking, n_threads, [&] { return pool.lend(); },
        [&](std::int64_t q, ScratchPool::Lease& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            const std::int64_t begin = ranking.query_begin[q];
            if (order.n == 0) return;
            scratch->restart();
            moments_of_query<Gain>(order, windows + begin, columns, pool, *scratch, threads, received + K * begin);
        });
    read_by_row<K>(ranking, n_threads, received, [=](std::int64_t i, const double* sums) {
        double sum = sums[0];
        if constexpr (Gain) sum = sums[1] - columns.gain[i] * sum;
        out[i] = or_one(columns.weight, i) * sum;
    });
}

}  // namespace detail

inline void sum_ranking(const Ranking& ranking, const double* scores, double margin, Method method,
                        const RowColumns& columns, ScratchPool& pool, int n_threads, const RowSums& out) {
    using detail::sum_ranking;
    const auto run = columns.gain ? (columns.moment ? sum_ranking<true, true> : sum_ranking<true, false>)
                                  : (columns.moment ? sum_ranking<false, true> : sum_ranking<false, false>);
    run(ranking, scores, margin, method, columns, pool, n_threads, out);
}

// The sums over all partners of each row, violated or not. Rows that are left out have none.
inline void sum_all_partners(const Ranking& ranking, const RowColumns& columns, int n_threads, const RowSums& out) {
    using detail::sum_all_partners;
    const auto run = columns.gain ? (columns.moment ? sum_all_partners<true, true> : sum_all_partners<true, false>)
                                  : (columns.moment ? sum_all_partners<false, true> : sum_all_partners<false, false>);
    run(ranking, columns, n_threads, out);
}

// The windows of each query's rows, in label order, for several calls of sum_moment.
inline void find_windows(const Ranking& ranking, const double* scores, double margin, ScratchPool& pool, int n_threads,
                         Window* windows) {
    detail::for_each_query(
        ranking, n_threads, [&] { return pool.lend(); },
        [&](std::int64_t q, ScratchPool::Lease& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            scratch->restart();
            std::copy_n(windows_by_label(order, scores, margin, *scratch, threads).windows, order.n,
                        windows + ranking.query_begin[q]);
        });
}

// out_i = sum over the violated partners j of row i, better and worse, of w_ij moment_j.
inline void sum_moment(const Ranking& ranking, const Window* windows, const RowColumns& columns, ScratchPool& pool,
                       int n_threads, double* out) {
    const auto run = columns.gain ? detail::moments_of_ranking<true> : detail::moments_of_ranking<false>;
    run(ranking, windows, columns, pool, n_threads, out);
}

}  // namespace rankwise
