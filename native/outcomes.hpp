// Hierarchies of outcomes: a pair of rows is decided by the first outcome that can order it. Wins and losses are
// counted by row and by outcome without comparing the pairs one by one.
//
// Among points sorted by an outcome, the points that beat a row or lose to it are ranges, of all or of those with an
// event; so are the points that the outcome leaves undecided. A range is the union of O(log n) nodes of a binary tree
// over the points. Each node counts the next outcome for the rows whose ranges have it: O(n log^k n) for k outcomes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "parallel.hpp"

namespace rankwise {

// A null event stands for ones. A value that is not a number orders no pair.
struct OutcomeColumn {
    const double* value;
    const double* event;
    double margin;
    bool higher_is_better;

    bool observed(std::int32_t row) const { return !event || event[row] > 0; }

    // 1 if the first row is better, -1 if the second is, 0 if the outcome cannot tell.
    int order(std::int32_t first, std::int32_t second) const {
        const double difference = value[first] - value[second];
        if (!(std::abs(difference) > margin) || !observed(difference < 0 ? first : second)) return 0;
        return (difference > 0) == higher_is_better ? 1 : -1;
    }
};

struct Hierarchy {
    std::vector<OutcomeColumn> outcomes;

    // The outcome from `from` on that decides the pair, and which row is better; sign 0 if none does.
    struct Decision {
        std::size_t outcome;
        int sign;
    };
    Decision decide(std::int32_t first, std::int32_t second, std::size_t from = 0) const {
        for (std::size_t k = from; k < outcomes.size(); ++k)
            if (const int sign = outcomes[k].order(first, second)) return {k, sign};
        return {outcomes.size(), 0};
    }
};

// Rows by stratum: those of stratum s are row[begin[s]] to row[begin[s + 1] - 1].
struct StratifiedRows {
    const std::int32_t* row;
    const std::int64_t* begin;
};

namespace detail {

class WinCounter {
public:
    WinCounter(const Hierarchy& hierarchy, const double* weight, double* wins, double* losses)
        : hierarchy_(hierarchy), n_outcomes_(hierarchy.outcomes.size()), weight_(weight), wins_(wins), losses_(losses) {
    }

    struct Rows {
        const std::int32_t* row;
        std::int64_t n;
    };

    // Adds the weights of the points that the outcomes from k on decide, to the sums of each row.
    void count(Rows rows, Rows points, std::size_t k) {
        if (k == n_outcomes_) return;
        if (rows.n * points.n <= few * (rows.n + points.n)) return compare(rows, points, k);
        const OutcomeColumn& outcome = hierarchy_.outcomes[k];
        const Sorted sorted(outcome, points, weight_);
        std::vector<Range> undecided, censored;
        for (std::int64_t i = 0; i < rows.n; ++i) {
            const std::int32_t row = rows.row[i];
            const double value = outcome.value[row];
            if (std::isnan(value)) {
                undecided.push_back({0, sorted.size(), row});
                continue;
            }
            const std::int64_t low = sorted.first([&](double other) { return !(value - other > outcome.margin); });
            const std::int64_t high = sorted.first([&](double other) { return other - value > outcome.margin; });
            const bool observed = outcome.observed(row);
            const double above = sorted.events_before[low], below = observed ? sorted.weight_from[high] : 0;
            add(row, k, outcome.higher_is_better ? above : below, outcome.higher_is_better ? below : above);
            undecided.push_back({low, observed ? high : sorted.size(), row});
            censored.push_back({0, sorted.n_censored_before[low], row});
        }
        if (k + 1 == n_outcomes_) return;
        count(rows, view(sorted.missing), k + 1);
        descend(sorted.row, undecided, k + 1);
        descend(sorted.censored, censored, k + 1);
    }

private:
    static constexpr std::int64_t few = 24;

    // Points by value. Before and from a place: the weight of the events, the number of the censored, all weight.
    struct Sorted {
        std::vector<double> value, events_before, weight_from;
        std::vector<std::int64_t> n_censored_before;
        std::vector<std::int32_t> row, censored, missing;

        Sorted(const OutcomeColumn& outcome, Rows points, const double* weight) {
            std::vector<std::pair<double, std::int32_t>> known;
            known.reserve(points.n);
            for (std::int64_t i = 0; i < points.n; ++i) {
                const double value_of = outcome.value[points.row[i]];
                if (std::isnan(value_of))
                    missing.push_back(points.row[i]);
                else
                    known.emplace_back(value_of, points.row[i]);
            }
            std::sort(known.begin(), known.end());
            const std::size_t n = known.size();
            events_before.assign(n + 1, 0);
            weight_from.assign(n + 1, 0);
            n_censored_before.assign(n + 1, 0);
            for (std::size_t i = 0; i < n; ++i) {
                const std::int32_t point = known[i].second;
                const bool observed = outcome.observed(point);
                value.push_back(known[i].first);
                row.push_back(point);
                if (!observed) censored.push_back(point);
                events_before[i + 1] = events_before[i] + (observed ? weight_of(weight, point) : 0);
                n_censored_before[i + 1] = static_cast<std::int64_t>(censored.size());
            }
            for (std::size_t i = n; i-- > 0;) weight_from[i] = weight_from[i + 1] + weight_of(weight, row[i]);
        }
        std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }

        // The place of the first value for which the condition holds; it holds for all larger values.
        template <class Condition>
        std::int64_t first(Condition condition) const {
            const auto place =
                std::partition_point(value.begin(), value.end(), [&](double x) { return !condition(x); });
            return place - value.begin();
        }
    };

    // The points from begin to end that an outcome leaves undecided for a row.
    struct Range {
        std::int64_t begin, end;
        std::int32_t row;
    };

    static double weight_of(const double* weight, std::int32_t row) { return weight ? weight[row] : 1.0; }
    static Rows view(const std::vector<std::int32_t>& rows) {
        return {rows.data(), static_cast<std::int64_t>(rows.size())};
    }

    void add(std::int32_t row, std::size_t k, double won, double lost) {
        wins_[row * n_outcomes_ + k] += won;
        losses_[row * n_outcomes_ + k] += lost;
    }

    void compare(Rows rows, Rows points, std::size_t k) {
        for (std::int64_t i = 0; i < rows.n; ++i) {
            const std::int32_t row = rows.row[i];
            for (std::int64_t j = 0; j < points.n; ++j) {
                const auto [outcome, sign] = hierarchy_.decide(row, points.row[j], k);
                if (sign == 0) continue;
                (sign > 0 ? wins_ : losses_)[row * n_outcomes_ + outcome] += weight_of(weight_, points.row[j]);
            }
        }
    }

    // Ranges of many rows, such as those of equal values, are counted as they are; others by the nodes of a tree.
    void descend(const std::vector<std::int32_t>& points, std::vector<Range>& ranges, std::size_t k) {
        std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
            return std::tie(a.begin, a.end, a.row) < std::tie(b.begin, b.end, b.row);
        });
        std::vector<Range> single;
        for (std::size_t i = 0, end; i < ranges.size(); i = end) {
            for (end = i;
                 end < ranges.size() && ranges[end].begin == ranges[i].begin && ranges[end].end == ranges[i].end;)
                ++end;
            const std::int64_t length = ranges[i].end - ranges[i].begin;
            const std::vector<Range> same(ranges.begin() + i, ranges.begin() + end);
            if (4 * static_cast<std::int64_t>(same.size()) >= length)
                count(view(rows_of(same)), {points.data() + ranges[i].begin, length}, k);
            else
                single.insert(single.end(), same.begin(), same.end());
        }
        cover(points, 0, static_cast<std::int64_t>(points.size()), single, k);
    }

    static std::vector<std::int32_t> rows_of(const std::vector<Range>& ranges) {
        std::vector<std::int32_t> rows;
        for (const Range& range : ranges) rows.push_back(range.row);
        return rows;
    }

    // The parts of the ranges within the node of the points from begin to end.
    void cover(const std::vector<std::int32_t>& points, std::int64_t begin, std::int64_t end,
               const std::vector<Range>& ranges, std::size_t k) {
        if (begin == end || ranges.empty()) return;
        const std::int64_t middle = begin + (end - begin) / 2;
        std::vector<std::int32_t> whole;
        std::vector<Range> left, right;
        for (const Range& range : ranges) {
            const std::int64_t from = std::max(range.begin, begin), to = std::min(range.end, end);
            if (from >= to) continue;
            if (from == begin && to == end) {
                whole.push_back(range.row);
            } else if (end - begin <= few) {
                compare({&range.row, 1}, {points.data() + from, to - from}, k);
            } else {
                if (from < middle) left.push_back(range);
                if (to > middle) right.push_back(range);
            }
        }
        count(view(whole), {points.data() + begin, end - begin}, k);
        cover(points, begin, middle, left, k);
        cover(points, middle, end, right, k);
    }

    const Hierarchy& hierarchy_;
    std::size_t n_outcomes_;
    const double* weight_;
    double* wins_;
    double* losses_;
};

}  // namespace detail

// Adds to `wins` and `losses`, of one number per row and outcome, the weights of the points of its stratum to which
// each row wins or loses; with `both`, also those of the rows to which each point does, if no row is a point. Null
// weights stand for ones. Each stratum and side is a task, so that the sums do not depend on the number of threads.
inline void count_wins(const Hierarchy& hierarchy, StratifiedRows rows, StratifiedRows points, std::int64_t n_strata,
                       const double* weight, bool both, int n_threads, double* wins, double* losses) {
    parallel_for(both ? 2 * n_strata : n_strata, n_threads, [&](std::size_t task) {
        const bool swapped = task >= static_cast<std::size_t>(n_strata);
        const std::size_t stratum = swapped ? task - n_strata : task;
        const auto of = [&](const StratifiedRows& side) {
            const std::int64_t begin = side.begin[stratum];
            return detail::WinCounter::Rows{side.row + begin, side.begin[stratum + 1] - begin};
        };
        detail::WinCounter counter(hierarchy, weight, wins, losses);
        counter.count(of(swapped ? points : rows), of(swapped ? rows : points), 0);
    });
}

// Calls found(better, worse) for each decided pair, by stratum and by better row.
template <class Found>
void list_wins(const Hierarchy& hierarchy, StratifiedRows rows, std::int64_t n_strata, Found found) {
    for (std::int64_t s = 0; s < n_strata; ++s)
        for (std::int64_t i = rows.begin[s]; i < rows.begin[s + 1]; ++i)
            for (std::int64_t j = rows.begin[s]; j < rows.begin[s + 1]; ++j)
                if (hierarchy.decide(rows.row[i], rows.row[j]).sign > 0) found(rows.row[i], rows.row[j]);
}

}  // namespace rankwise
