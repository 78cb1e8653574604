// The rows of a query grouped by label, for sums over every pair of different labels.
//
// An even function of s_i - s_j does not depend on which row is the better one. Its sum over the pairs of a ranking is
// the sum over all pairs of rows less that over the pairs of equal labels. So large levels (the rows of one label)
// become groups that act on all others but not on themselves. The small levels together are one more group, the rest,
// that also acts on itself; the pairs within small levels, their ties, are then subtracted pair by pair.
#pragma once

#include <cstdint>
#include <vector>

#include "ranking.hpp"

namespace rankwise {

// The group of the small levels of a query. If its sums are small relative to these magnitudes, digits have canceled.
struct Rest {
    double square = -1;   // sum of the rows' squared weights, -1 if there is no rest
    double partners = 0;  // the largest weight times the total weight
    double ties = 0;      // the largest weight times the weight of the heaviest level of the rest
    bool any() const { return square >= 0; }
};

struct LevelGroups {
    std::vector<std::uint16_t> group;     // by row
    std::vector<std::int64_t> n_groups;   // by query
    std::vector<std::int64_t> first_row;  // by query: its first row if its rows are consecutive, else -1
    std::vector<std::int64_t> tie_begin;  // by query: its first tie; the last entry is the number of ties
    std::vector<std::int32_t> ties;       // of each tied level: first position in the query, number of rows
    std::vector<double> rest;             // by query: the numbers of its Rest
};

struct LevelGroupsView {
    const std::uint16_t* group;
    const std::int64_t *n_groups, *first_row, *tie_begin;
    const std::int32_t* ties;
    const double* rest;

    Rest rest_of(std::int64_t q) const { return {rest[3 * q], rest[3 * q + 1], rest[3 * q + 2]}; }
};

namespace detail {

constexpr std::int64_t few_levels = 6;
constexpr std::int64_t group_rows = 128;  // from this size on, a group costs less than pairs
constexpr std::int64_t most_groups = 60000;
// A level with this fraction of the weight gets a group of its own: subtracting it from a sum would cancel digits.
constexpr double group_weight = 1.0 / 16;

class LevelGrouper {
public:
    LevelGrouper(const Ranking& ranking, const double* weight, std::int64_t n_rows) : weight_(weight) {
        groups_.group.resize(n_rows);
        for (std::int64_t q = 0; q < ranking.n_queries; ++q) add_query(ranking.query(q));
        groups_.tie_begin.push_back(n_ties());
    }
    LevelGroups take() { return std::move(groups_); }

private:
    const double* weight_;
    LevelGroups groups_;
    std::vector<std::int64_t> level_end_;

    std::int64_t n_ties() const { return static_cast<std::int64_t>(groups_.ties.size()) / 2; }

    void add_query(const LabelOrder& order) {
        groups_.tie_begin.push_back(n_ties());
        groups_.first_row.push_back(first_row(order));
        level_end_.clear();
        double total = 0, largest = 0;
        for (std::int64_t p = 0; p < order.n; ++p) {
            total += or_one(weight_, order.row[p]);
            largest = std::max(largest, or_one(weight_, order.row[p]));
            if (p + 1 == order.n || order.level_begin[p + 1] != order.level_begin[p]) level_end_.push_back(p + 1);
        }
        number_groups(order, total, largest);
    }

    // Numbers the groups of single levels from 1 on if there is a rest, which is group 0, else from 0 on.
    void number_groups(const LabelOrder& order, double total, double largest) {
        const bool few = static_cast<std::int64_t>(level_end_.size()) <= few_levels;
        const std::int64_t large = std::max(group_rows, order.n / most_groups);
        Rest rest;
        std::vector<std::int64_t> apart;  // first position of each level with its own group
        std::int64_t begin = 0;
        for (const std::int64_t end : level_end_) {
            double own = 0, square = 0;
            for (std::int64_t p = begin; p < end; ++p) {
                const double weight = or_one(weight_, order.row[p]);
                own += weight;
                square += weight * weight;
            }
            if (few || end - begin >= large || own >= group_weight * total) {
                apart.push_back(begin);
            } else {
                rest = {std::max(rest.square, 0.0) + square, largest * total, std::max(rest.ties, largest * own)};
                if (end - begin > 1) add_tie(begin, end);
            }
            begin = end;
        }
        std::int64_t next = rest.any();
        for (const std::int64_t first : apart) {
            for (std::int64_t p = first; p < order.n && order.level_begin[p] == first; ++p)
                groups_.group[order.row[p]] = static_cast<std::uint16_t>(next);
            ++next;
        }
        groups_.rest.insert(groups_.rest.end(), {rest.square, rest.partners, rest.ties});
        groups_.n_groups.push_back(next);
    }

    void add_tie(std::int64_t begin, std::int64_t end) {
        groups_.ties.push_back(static_cast<std::int32_t>(begin));
        groups_.ties.push_back(static_cast<std::int32_t>(end - begin));
    }

    static std::int64_t first_row(const LabelOrder& order) {
        if (order.n == 0) return -1;
        const auto [low, high] = std::minmax_element(order.row, order.row + order.n);
        return std::int64_t{*high} - *low + 1 == order.n ? *low : -1;
    }
};

}  // namespace detail

// Depends on labels and weights alone: computed once for all scores.
inline LevelGroups group_levels(const Ranking& ranking, const double* weight, std::int64_t n_rows) {
    return detail::LevelGrouper(ranking, weight, n_rows).take();
}

}  // namespace rankwise
