// A ranking, or one ranking a query, over all rows: counts and sums of violated pairs, threaded over queries
// and, where a query is large, inside it. What is computed never depends on the number of threads.
#pragma once

#include <stdexcept>
#include <string>

#include "partner_sums.hpp"

namespace rankwise {

// Query q holds the positions query_begin[q] to query_begin[q + 1] of `row` and `level_begin`.
struct Ranking {
    const std::int32_t* row;
    const std::int32_t* level_begin;
    const std::int64_t* query_begin;
    std::int64_t n_queries;

    LabelOrder query(std::int64_t q) const {
        const std::int64_t begin = query_begin[q];
        return {row + begin, level_begin + begin, query_begin[q + 1] - begin};
    }
};

enum class Method { merge, tree, pairs, labels };

inline Method method_named(const std::string& name) {
    if (name == "merge") return Method::merge;
    if (name == "tree") return Method::tree;
    if (name == "pairs") return Method::pairs;
    if (name == "labels") return Method::labels;
    throw std::invalid_argument("unknown counting method: " + name);
}

namespace detail {

constexpr std::int64_t large_query = 2 * parallel_rows;
constexpr std::int64_t task_rows = 1 << 13;
constexpr std::int64_t sum_chunk = 1 << 13;

struct QueryRange {
    std::int64_t begin, end, largest;
};

// Consecutive queries that are not large, in tasks of some thousand rows.
inline std::vector<QueryRange> small_query_tasks(const Ranking& ranking, bool large_apart) {
    std::vector<QueryRange> tasks;
    std::int64_t rows = 0;
    QueryRange task{0, 0, 0};
    auto close = [&](std::int64_t next) {
        if (task.end > task.begin) tasks.push_back(task);
        task = {next, next, 0};
        rows = 0;
    };
    for (std::int64_t q = 0; q < ranking.n_queries; ++q) {
        const std::int64_t n = ranking.query(q).n;
        if (large_apart && n >= large_query) {
            close(q + 1);
            continue;
        }
        task.end = q + 1;
        task.largest = std::max(task.largest, n);
        if ((rows += n) >= task_rows) close(q + 1);
    }
    close(ranking.n_queries);
    return tasks;
}

// Calls work(q, scratch, threads) for each query; make_scratch(rows) is called once a task.
template <class MakeScratch, class Work>
void for_each_query(const Ranking& ranking, int n_threads, MakeScratch&& make_scratch, Work&& work) {
    const bool large_apart = n_threads > 1;
    for (std::int64_t q = 0; large_apart && q < ranking.n_queries; ++q) {
        const std::int64_t n = ranking.query(q).n;
        if (n < large_query) continue;
        auto scratch = make_scratch(n);
        work(q, scratch, n_threads);
    }
    const auto tasks = small_query_tasks(ranking, large_apart);
    parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
        auto scratch = make_scratch(tasks[t].largest);
        for (std::int64_t q = tasks[t].begin; q < tasks[t].end; ++q) work(q, scratch, 1);
    });
}

// Writes net counts to their rows; returns sum of net * (score - reference), in chunks of fixed size.
inline double scatter_net(const LabelOrder& order, const std::int32_t* net, const double* scores, double* out,
                          int n_threads) {
    const std::int64_t chunks = (order.n + sum_chunk - 1) / sum_chunk;
    const double reference = scores[order.row[0]];
    std::vector<double> partial(chunks);
    parallel_for(chunks, n_threads, [&](std::size_t chunk) {
        const std::int64_t begin = chunk * sum_chunk, end = std::min(order.n, begin + sum_chunk);
        double sum = 0;
        for (std::int64_t p = begin; p < end; ++p) {
            const std::int32_t row = order.row[p];
            out[row] = net[p];
            sum += net[p] * (scores[row] - reference);
        }
        partial[chunk] = sum;
    });
    double total = 0;
    for (double sum : partial) total += sum;
    return total;
}

}  // namespace detail

// For each row c_i - d_i, for each query the number of violated pairs and the sum of their hinge losses,
// sum of (c_i - d_i) s_i + margin c_i: equations (5) to (8) of Airola et al. 2011.
inline void count_ranking(const Ranking& ranking, const double* scores, double margin, int n_threads, double* net,
                          std::int64_t* violations, double* losses) {
    detail::for_each_query(
        ranking, n_threads, [](std::int64_t n) { return CountScratch(n); },
        [&](std::int64_t q, CountScratch& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            violations[q] = 0;
            losses[q] = 0;
            if (order.n == 0) return;
            violations[q] = count_violations(order, scores, margin, scratch, threads);
            losses[q] = detail::scatter_net(order, scratch.net(), scores, net, threads) +
                        margin * static_cast<double>(violations[q]);
        });
}

namespace detail {

template <bool Gain, bool Moment>
void fill_channels(const LabelOrder& order, const RowColumns& columns, Channels& channels) {
    constexpr int K = channel_count<Gain, Moment>;
    channels.resize(order.n, K);
    for (std::int64_t p = 0; p < order.n; ++p) {
        const std::int32_t row = order.row[p];
        channels.can_be_worse[p] = or_one(columns.can_be_worse, row);
        const auto own = row_channels<Gain, Moment>(columns, row);
        std::copy_n(own.data(), K, channels.own.data() + p * K);
    }
}

template <bool Gain, bool Moment>
void store_channels(const LabelOrder& order, const RowColumns& columns, const Channels& channels, const RowSums& out) {
    constexpr int K = channel_count<Gain, Moment>;
    for (std::int64_t p = 0; p < order.n; ++p) {
        const double* up = channels.sum.data() + 2 * K * p;
        store_sums<Gain, Moment>(columns, order.row[p], up, up + K, out);
    }
}

template <bool Gain, bool Moment, class Row>
void sum_by_merge(const Ranking& ranking, const double* scores, double margin, const RowColumns& columns,
                  int n_threads, const RowSums& out) {
    struct Scratch {
        CountScratch count;
        WindowSums<Row> sums;
    };
    for_each_query(
        ranking, n_threads, [](std::int64_t n) { return Scratch{CountScratch(n), WindowSums<Row>(n)}; },
        [&](std::int64_t q, Scratch& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            CountScratch& count = scratch.count;
            const RowSlot* windows =
                rows_by_score(order, scores, margin, count.rows(), count.spare(), count.scores(), threads);
            scratch.sums.run(order, windows, columns, threads, out);
        });
}

template <bool Gain, bool Moment>
void sum_ranking(const Ranking& ranking, const double* scores, double margin, Method method,
                 const RowColumns& columns, int n_threads, const RowSums& out) {
    constexpr int K = channel_count<Gain, Moment>;
    if (method == Method::merge) {
        const auto run = columns.can_be_worse ? sum_by_merge<Gain, Moment, SumRow<Gain, Moment, false, true>>
                         : columns.weight     ? sum_by_merge<Gain, Moment, SumRow<Gain, Moment, false, false>>
                                              : sum_by_merge<Gain, Moment, SumRow<Gain, Moment, true, false>>;
        return run(ranking, scores, margin, columns, n_threads, out);
    }
    for_each_query(
        ranking, n_threads, [](std::int64_t) { return Channels{}; },
        [&](std::int64_t q, Channels& channels, int) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            fill_channels<Gain, Moment>(order, columns, channels);
            if (method == Method::tree) sum_by_tree<K>(order, scores, margin, channels);
            if (method == Method::pairs) sum_by_pairs<K>(order, scores, margin, channels);
            if (method == Method::labels) sum_by_label<K>(order, channels);
            store_channels<Gain, Moment>(order, columns, channels, out);
        });
}

template <bool Gain, bool censored>
void sum_moment(const Ranking& ranking, const RowSlot* windows, const RowColumns& columns, int n_threads,
                double* out) {
    using Row = MomentRow<Gain, censored>;
    for_each_query(
        ranking, n_threads, [](std::int64_t n) { return WindowSums<Row>(n); },
        [&](std::int64_t q, WindowSums<Row>& sums, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            sums.run(order, windows + ranking.query_begin[q], columns, threads, out);
        });
}

}  // namespace detail

inline void sum_ranking(const Ranking& ranking, const double* scores, double margin, Method method,
                        const RowColumns& columns, int n_threads, const RowSums& out) {
    using detail::sum_ranking;
    const auto run = columns.gain ? (columns.moment ? sum_ranking<true, true> : sum_ranking<true, false>)
                                  : (columns.moment ? sum_ranking<false, true> : sum_ranking<false, false>);
    run(ranking, scores, margin, method, columns, n_threads, out);
}

// The rows of each query in score order with their margin windows, for several calls of sum_moment.
inline void find_windows(const Ranking& ranking, const double* scores, double margin, int n_threads,
                         RowSlot* windows) {
    detail::for_each_query(
        ranking, n_threads, [](std::int64_t n) { return CountScratch(n); },
        [&](std::int64_t q, CountScratch& scratch, int threads) {
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) return;
            const RowSlot* found = rows_by_score(order, scores, margin, scratch.rows(), scratch.spare(),
                                                 scratch.scores(), threads);
            std::copy_n(found, order.n, windows + ranking.query_begin[q]);
        });
}

// out_i = sum over the violated partners j of row i, better and worse, of w_ij moment_j.
inline void sum_moment(const Ranking& ranking, const RowSlot* windows, const RowColumns& columns, int n_threads,
                       double* out) {
    using detail::sum_moment;
    const auto run = columns.gain ? (columns.can_be_worse ? sum_moment<true, true> : sum_moment<true, false>)
                                  : (columns.can_be_worse ? sum_moment<false, true> : sum_moment<false, false>);
    run(ranking, windows, columns, n_threads, out);
}

}  // namespace rankwise
