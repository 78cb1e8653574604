// The sums of logistic_ranking.hpp, query by query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "few_pairs.hpp"
#include "lanes.hpp"
#include "level_groups.hpp"
#include "logistic_ranking.hpp"
#include "ordered_sums.hpp"
#include "parallel.hpp"
#include "score_bins.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

// One of the functions of logistic_ranking.hpp. Arguments that it does not have are null pointers.
struct LogisticTask {
    LogisticPairs pairs;
    const double* balance;               // of the gradient
    const double *diagonal, *direction;  // of the product
    double* out;
    double* curvature;  // for the diagonal beside the gradient
};

// The rows of a query in consecutive memory: in place, or copied in label order. A null pointer stands for ones
// (weight, direction), or for sums in which each pair has its sign already (balance).
struct LineOfRows {
    std::int64_t n;
    const double *score, *weight, *direction, *balance, *diagonal;
    const std::uint16_t* group;
    double* out;

    // The weight of row i, or of four rows from i on.
    template <class Number>
    Number weight_of(std::int64_t i) const {
        return weight ? get<Number>(weight + i) : Number{} + 1.0;
    }
    template <class Number>
    Number amount_of(std::int64_t i) const {
        return direction ? weight_of<Number>(i) * get<Number>(direction + i) : weight_of<Number>(i);
    }
};

// Turns the sum at a row into its result: gradient, diagonal or product.
template <Kernel kernel>
struct Finish {
    LineOfRows rows;
    double factor, reference;
    Lanes lines = all(0.0);

    double linear() const { return sum_of(lines); }

    template <class Number>
    RANKWISE_INLINE void operator()(std::int64_t i, Number sum) {
        if constexpr (kernel == slope_kernel) {
            if (!rows.balance) return put(rows.out + i, factor * sum);
            const Number base = factor * get<Number>(rows.balance + i);
            add_line(base * (get<Number>(rows.score + i) - reference));
            put(rows.out + i, base + factor * sum);
        } else if (rows.diagonal) {
            put(rows.out + i, get<Number>(rows.diagonal + i) * get<Number>(rows.direction + i) - factor * sum);
        } else {
            put(rows.out + i, factor * sum);
        }
    }
    RANKWISE_INLINE void add_line(Lanes line) { lines += line; }
    RANKWISE_INLINE void add_line(double line) { lines += Lanes{line, 0, 0, 0}; }
    void take_off(std::int64_t i, double sum) const {
        rows.out[i] -= kernel == slope_kernel || !rows.diagonal ? factor * sum : -factor * sum;
    }
};

// Memory of one thread's task, reused for all of its queries.
struct LogisticScratch {
    NarrowPairs narrow;
    AnyPairs any;
    Padded score, better, worse, gain, direction, out;
    std::vector<double> balance, diagonal;
    std::vector<std::uint16_t> group;
    std::vector<std::int32_t> before;  // 0, 1, 2, ...: each row makes a pair with all rows before it
};

inline bool are_narrow(std::int64_t n, double range) { return n > 2 * lanes && range < narrow_range; }

// The sum over partners at each row of scratch (score, better = worse = weight, direction), pair by pair, into
// scratch.out; returns the loss.
template <Kernel kernel>
double sum_few_rows(LogisticScratch& scratch, const std::int32_t* begin, std::int64_t n, bool unit_weights) {
    constexpr bool curved = kernel == curvature_kernel;
    const double *score = scratch.score.data(), *weight = scratch.better.data();
    const auto [low, high] = ScoreBins::range(score, n, 1);
    const bool narrow = are_narrow(n, high - low) && (curved || unit_weights);
    double loss = 0;
    if (narrow) {
        NarrowPairs& pairs = scratch.narrow;
        pairs.set(score, nullptr, n, 0.5 * (low + high));
        for (std::int64_t i = 0; curved && i < n; ++i) pairs.amount[i] = weight[i] * scratch.direction[i];
        loss = pairs.run<asked_of<kernel>>(begin, 0, high - low);
    } else {
        loss = scratch.any.run<kernel>({score, weight, weight, nullptr, scratch.direction.data()}, begin, 0, n);
    }
    scratch.out.resize(n);
    for (std::int64_t i = 0; i < n; ++i)
        scratch.out[i] = narrow ? weight[i] * scratch.narrow.sum[i] : scratch.any.sum[i];
    return loss;
}

// All pairs of different labels, by bins.
template <Kernel kernel>
class LevelSums {
public:
    LevelSums(const LineOfRows& rows, std::int64_t n_groups, const Rest& rest, ScoreBins& bins)
        : rows_(rows), bins_(bins), n_groups_(n_groups), rest_(rest) {}

    // Sums over all rows of other groups and, for rows of the rest, over the rest too. Returns the loss, ties included.
    double run(Finish<kernel> finish) {
        const std::uint16_t* group = n_groups_ > 1 ? rows_.group : nullptr;
        std::vector<double> tables =
            bins_.gather_groups([rows = rows_](std::int64_t i) { return rows.amount_of<Lanes>(i); }, group, n_groups_);
        const double others = act_by_label<kernel>(bins_.chain(), alike, n_groups_, rest_.any(), finish.factor, tables);
        const double themselves = 0.5 * std::log(2.0) * finish.factor * std::max(0.0, rest_.square);
        const double met = kernel == curvature_kernel && rest_.any() ? 0.25 : 0.0;
        return bins_.read_groups(tables, group, GroupFinish{finish, group, met}) + (others - themselves);
    }

private:
    LineOfRows rows_;
    ScoreBins& bins_;
    std::int64_t n_groups_;
    Rest rest_;

    struct GroupFinish {
        Finish<kernel> finish;
        const std::uint16_t* group;
        double met;  // curvature at 0 if there is a rest: the pair of a row of the rest with itself is subtracted

        double linear() const { return finish.linear(); }

        template <class Number>
        RANKWISE_INLINE void operator()(std::int64_t i, Number sum) {
            const LineOfRows& rows = finish.rows;
            if (met != 0) sum -= met_by<Number>(i) * rows.amount_of<Number>(i);
            finish(i, rows.weight_of<Number>(i) * sum);
        }
        template <class Number>
        Number met_by(std::int64_t i) const {
            auto of = [&](std::int64_t k) { return !group || group[k] == 0 ? met : 0.0; };
            if constexpr (std::is_same_v<Number, double>)
                return of(i);
            else
                return Lanes{of(i), of(i + 1), of(i + 2), of(i + 3)};
        }
    };
};

template <Kernel kernel>
class LogisticQuery {
public:
    LogisticQuery(const LogisticTask& task, std::int64_t q, LogisticScratch& scratch, int n_threads)
        : task_(task), q_(q), order_(task.pairs.ranking.query(q)), rest_(task.pairs.groups.rest_of(q)),
          factor_(task.pairs.query_factor[q]), scratch_(scratch), n_threads_(n_threads) {}

    double run() {
        if (order_.n == 0) return 0;
        if (one_sided()) return in_segments();
        const std::int64_t first = task_.pairs.groups.first_row[q_];
        if (order_.n >= line_rows && first >= 0) {
            rows_ = lying(first);
            return by_bins([&](std::int64_t p) { return order_.row[p] - first; });
        }
        return in_label_order([this] { return few() ? by_pairs() : by_bins([](std::int64_t p) { return p; }); });
    }

    bool has_curvature() const { return has_curvature_; }

private:
    static constexpr std::int64_t line_rows = 1 << 11;  // from this size on, consecutive rows are not copied
    static constexpr std::int64_t most_few = 512;

    const LogisticTask& task_;
    std::int64_t q_;
    LabelOrder order_;
    Rest rest_;
    double factor_;
    LogisticScratch& scratch_;
    int n_threads_;
    LineOfRows rows_{};
    bool has_curvature_ = false;

    bool one_sided() const { return task_.pairs.gain || task_.pairs.can_be_worse; }

    LineOfRows lying(std::int64_t first) const {
        auto at = [&](const double* column) { return column ? column + first : nullptr; };
        const double* balance = rest_.any() ? task_.balance : nullptr;
        return {order_.n,    at(task_.pairs.scores), at(task_.pairs.weight),           at(task_.direction),
                at(balance), at(task_.diagonal),     task_.pairs.groups.group + first, task_.out + first};
    }

    // A column in label order.
    template <class To>
    auto* copy(To& to, const double* column, double otherwise = 0.0) const {
        to.resize(order_.n);
        over_rows([&](std::int64_t p) { to[p] = column ? column[order_.row[p]] : otherwise; });
        return to.data();
    }

    // Copies the columns in label order and copies the result back.
    template <class Work>
    double in_label_order(Work&& work) {
        const double* weight = copy(scratch_.better, task_.pairs.weight, 1.0);
        const double* direction = kernel == curvature_kernel ? copy(scratch_.direction, task_.direction, 1.0) : nullptr;
        scratch_.out.resize(order_.n);
        rows_ = {order_.n,
                 copy(scratch_.score, task_.pairs.scores),
                 task_.pairs.weight ? weight : nullptr,
                 task_.direction ? direction : nullptr,
                 nullptr,
                 task_.diagonal ? copy(scratch_.diagonal, task_.diagonal) : nullptr,
                 nullptr,
                 scratch_.out.data()};
        const double value = work();
        over_rows([&](std::int64_t p) { task_.out[order_.row[p]] = rows_.out[p]; });
        return value;
    }

    template <class Body>
    void over_rows(Body&& body) const {
        const std::int64_t chunks = std::max<std::int64_t>(1, order_.n >> 16);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            const std::int64_t begin = order_.n * c / chunks, end = order_.n * (c + 1) / chunks;
            for (std::int64_t p = begin; p < end; ++p) body(p);
        });
    }

    Finish<kernel> finisher() const { return {rows_, factor_, rows_.score[0]}; }

    // Whether pairs cost less than bins; the constants are about nanoseconds.
    bool few() const {
        if (order_.n > most_few) return false;
        const bool narrow = !task_.pairs.weight || kernel == curvature_kernel;
        const auto [low, high] = ScoreBins::range(rows_.score, order_.n, 1);
        const double n = static_cast<double>(order_.n), n_bins = std::min(n, (high - low) / bin_width + 1);
        double pairs = 0;
        for (std::int64_t p = 0; p < order_.n; ++p) pairs += order_.level_begin[p];
        const double by_pair = narrow && high - low < narrow_range ? 0.4 : 2.0;
        return by_pair * pairs < 300 + static_cast<double>(task_.pairs.groups.n_groups[q_]) * n_bins * 250;
    }

    void finish_all() const {
        Finish<kernel> finish = finisher();
        for (std::int64_t i = 0; i < rows_.n; ++i) finish(i, rows_.out[i]);
    }

    double by_pairs() {
        const auto [low, high] = ScoreBins::range(rows_.score, rows_.n, 1);
        if (kernel == slope_kernel && task_.curvature && !rows_.weight && are_narrow(rows_.n, high - low))
            return with_curvature(low, high);
        const double loss = sum_few_rows<kernel>(scratch_, order_.level_begin, rows_.n, !rows_.weight);
        finish_all();
        return factor_ * loss;
    }

    // Gradient and diagonal together cost little more than either.
    double with_curvature(double low, double high) {
        NarrowPairs& pairs = scratch_.narrow;
        pairs.set(rows_.score, nullptr, rows_.n, 0.5 * (low + high));
        const double loss = pairs.run<Asked::both>(order_.level_begin, 0, high - low);
        for (std::int64_t p = 0; p < rows_.n; ++p) {
            rows_.out[p] = factor_ * pairs.sum[p];
            task_.curvature[order_.row[p]] = factor_ * pairs.curved[p];
        }
        has_curvature_ = true;
        return factor_ * loss;
    }

    double by_order() {
        const double *weight = scratch_.better.data(), *event = task_.pairs.can_be_worse, *gain = task_.pairs.gain;
        if (event) {
            copy(scratch_.worse, event);
            over_rows([&](std::int64_t p) { scratch_.worse[p] *= weight[p]; });
        }
        const PairColumns rows{rows_.score, weight, event ? scratch_.worse.data() : weight,
                               gain ? copy(scratch_.gain, gain) : nullptr, scratch_.direction.data()};
        std::fill_n(rows_.out, order_.n, 0.0);
        OrderedSums<kernel> sums(rows, !rows_.weight && !gain, order_.level_begin, factor_, rows_.out);
        const double loss = sums.run(order_.n, n_threads_);
        finish_all();
        return loss;
    }

    // place(p) is the index in rows_ of the row at label position p.
    template <class Where>
    double by_bins(Where&& place) {
        ScoreBins bins(rows_.score, rows_.n, n_threads_);
        const std::int64_t n_groups = task_.pairs.groups.n_groups[q_];
        // Too many bins for a table per group: label order needs few tables at a time.
        if (n_groups > 16 && n_groups * bins.table() > 4 * rows_.n) return in_segments();
        if (!rows_.group) {
            scratch_.group.resize(rows_.n);
            over_rows([&](std::int64_t p) { scratch_.group[p] = task_.pairs.groups.group[order_.row[p]]; });
            rows_.group = scratch_.group.data();
            if (rest_.any() && task_.balance) rows_.balance = copy(scratch_.balance, task_.balance);
        }
        const double value = LevelSums<kernel>(rows_, n_groups, rest_, bins).run(finisher()) - take_ties_off(place);
        return cancelled() ? in_segments() : value;
    }

    double in_segments() {
        return in_label_order([this] { return by_order(); });
    }

    // Whether digits of the rest have canceled: the linear term against the slopes, if nearly all pairs are in the
    // right order by a wide margin; or the curvature against that of ties and of each row with itself, if no other
    // scores are near.
    bool cancelled() const {
        if (!rest_.any()) return false;
        const double* left = rows_.diagonal ? rows_.diagonal : rows_.out;
        const double least = factor_ * (kernel == slope_kernel ? rest_.partners / 256 : rest_.ties / 32);
        return std::none_of(left, left + rows_.n, [least](double size) { return std::fabs(size) >= least; });
    }

    template <class Where>
    double take_ties_off(Where&& place) const {
        const std::int64_t begin = task_.pairs.groups.tie_begin[q_], end = task_.pairs.groups.tie_begin[q_ + 1];
        constexpr std::int64_t chunk = 256;
        const std::int64_t chunks = (end - begin + chunk - 1) / chunk;
        std::vector<double> values(chunks);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            LogisticScratch scratch;
            for (std::int64_t t = begin + c * chunk; t < std::min<std::int64_t>(end, begin + (c + 1) * chunk); ++t)
                values[c] +=
                    take_tie_off(place, task_.pairs.groups.ties[2 * t], task_.pairs.groups.ties[2 * t + 1], scratch);
        });
        return std::accumulate(values.begin(), values.end(), 0.0);
    }

    template <class Where>
    double take_tie_off(Where&& place, std::int64_t first, std::int64_t n, LogisticScratch& scratch) const {
        for (Padded* column : {&scratch.score, &scratch.better, &scratch.direction}) column->resize(n);
        while (static_cast<std::int64_t>(scratch.before.size()) < n)
            scratch.before.push_back(static_cast<std::int32_t>(scratch.before.size()));
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t i = place(first + k);
            scratch.score[k] = rows_.score[i];
            scratch.better[k] = rows_.weight_of<double>(i);
            scratch.direction[k] = rows_.direction ? rows_.direction[i] : 1.0;
        }
        double even = sum_few_rows<kernel>(scratch, scratch.before.data(), n, !rows_.weight);
        if constexpr (kernel == slope_kernel) even -= straighten(scratch, n);
        const Finish<kernel> finish = finisher();
        for (std::int64_t k = 0; k < n; ++k) finish.take_off(place(first + k), scratch.out[k]);
        return factor_ * even;
    }

    // For pairs summed as if each row were better than those before it, subtracts the linear term from the pushes and
    // returns it.
    static double straighten(LogisticScratch& scratch, std::int64_t n) {
        double before = 0, after = 0, line = 0;
        for (std::int64_t k = 0; k < n; ++k) after += scratch.better[k];
        for (std::int64_t k = 0; k < n; ++k) {
            const double weight = scratch.better[k];
            after -= weight;
            const double lever = 0.5 * weight * (after - before);
            scratch.out[k] -= lever;
            line += lever * (scratch.score[k] - scratch.score[0]);
            before += weight;
        }
        return line;
    }
};

template <Kernel kernel>
double run_queries(const LogisticTask& task) {
    std::vector<double> values(task.pairs.ranking.n_queries);
    LogisticTask of_diagonal = task;
    of_diagonal.balance = nullptr;
    of_diagonal.out = task.curvature;
    detail::for_each_query(
        task.pairs.ranking, task.pairs.n_threads, [] { return LogisticScratch{}; },
        [&](std::int64_t q, LogisticScratch& scratch, int n_threads) {
            LogisticQuery<kernel> query(task, q, scratch, n_threads);
            values[q] = query.run();
            if (task.curvature && !query.has_curvature())
                LogisticQuery<curvature_kernel>(of_diagonal, q, scratch, n_threads).run();
        });
    return std::accumulate(values.begin(), values.end(), 0.0);
}

inline double logistic_gradient(const LogisticPairs& pairs, const double* balance, double* gradient, double* diagonal) {
    return run_queries<slope_kernel>({pairs, balance, nullptr, nullptr, gradient, diagonal});
}

inline void logistic_diagonal(const LogisticPairs& pairs, double* diagonal) {
    run_queries<curvature_kernel>({pairs, nullptr, nullptr, nullptr, diagonal, nullptr});
}

inline void logistic_product(const LogisticPairs& pairs, const double* diagonal, const double* direction,
                             double* product) {
    run_queries<curvature_kernel>({pairs, nullptr, diagonal, direction, product, nullptr});
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
