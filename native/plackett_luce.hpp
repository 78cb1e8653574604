// The Plackett-Luce loss of the lists of a ranking, one per query, which of censored times is Cox's: value, gradient,
// diagonal of the Hessian, and its product with a direction.
//
// Each event, a row that is chosen from its risk set, costs log(sum of w_j exp(z_j) over the risk set) - z_i. Rows are
// visited in an order in which risk sets are prefixes: from the lowest label up if the best remaining row is chosen
// (z = s; the lowest label is not chosen), and from the longest time down if the worst one leaves (z = -s). All sums
// are relative to a reference that moves with their size, so that no prefix underflows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ranking.hpp"

namespace rankwise {

// `event` is null if the best remaining row is chosen. Arguments without use are null.
struct ListColumns {
    const double *scores, *weight, *event, *query_factor;
    const double* direction;  // of the product
    double log_unit;          // subtracted from the logs of weights
    bool efron;               // how events that are tied are treated; otherwise as by Breslow
};

struct ListSums {
    double* value;     // by query
    double* gradient;  // by row, like all that follow
    double* diagonal;
    double* product;  // of the Hessian and the direction
    double* chosen;   // weight of the choice of the row, times its direction less the mean in its risk set
};

namespace detail {

// A number times exp(reference), which moves so that the number is neither too large nor too small.
class Scaled {
public:
    // Makes terms of size exp(level) representable.
    void reach(double level) {
        if (std::abs(level - reference_) <= room) return;
        for (double* number : {&sum, &moment, &square}) *number *= *number == 0 ? 1.0 : std::exp(reference_ - level);
        square *= square == 0 ? 1.0 : std::exp(reference_ - level);
        reference_ = level;
    }
    double reference() const { return reference_; }

    double sum = 0, moment = 0;  // times exp(reference)
    double square = 0;           // times exp(2 reference)

private:
    static constexpr double room = 50;
    double reference_ = 0;
};

// The rows of a query in an order in which risk sets are prefixes, column by column; reused for all queries of a task.
struct ListScratch {
    std::vector<double> score, size, event;  // size: w exp(z - reference of the group); event: its weight in the loss
    std::vector<double> direction;           // empty if there is none
    struct Group {
        std::int32_t begin, n_events;
        double reference, risk;  // the risk set weighs risk * exp(reference)
        double events;           // the sum of the weights of its events
    };
    std::vector<Group> groups;
    std::vector<double> moment;  // the mean of the direction in the risk set of each group
    // Of a group with several events, for Efron's terms: what they weigh, and their moment, relative to the risk set.
    struct Tied {
        std::int32_t group;
        double size, moment;
    };
    std::vector<Tied> tied;
};

class ListOfQuery {
public:
    ListOfQuery(const LabelOrder& order, const ListColumns& columns, double factor, ListScratch& scratch)
        : order_(order), columns_(columns), factor_(factor), list_(scratch) {
        read();
        sum_risk_sets();
    }

    double value() const {
        double total = 0;
        auto tied = list_.tied.begin();
        for (std::size_t g = 0; g < list_.groups.size(); ++g) {
            const auto& group = list_.groups[g];
            if (group.n_events == 0) continue;
            double risk = std::log(group.risk) + group.reference;
            if (tied != list_.tied.end() && tied->group == static_cast<std::int32_t>(g))
                risk += mean_log_share(group, *tied++);
            for (std::int64_t k = group.begin; k < end_of(g); ++k) total += list_.event[k] * (risk - list_.score[k]);
        }
        return total;
    }

    // Writes what is asked for of each row.
    void write(const ListSums& out) const {
        const double sign = is_reversed() ? -1.0 : 1.0;
        double apart = 0, factor = 1;  // factor is exp(-apart); references seldom move
        Scaled later;                  // sums over groups: see `terms`
        auto tied = list_.tied.rbegin();
        for (std::int64_t g = static_cast<std::int64_t>(list_.groups.size()) - 1; g >= 0; --g) {
            const auto& group = list_.groups[g];
            later.reach(-group.reference);
            const double now = group.reference + later.reference();
            if (now != apart) apart = now, factor = std::exp(-now);
            Terms of_all{later.sum, later.moment, later.square}, of_tied = of_all;
            double mean = 0;  // of the direction in the risk sets of the events
            if (group.n_events > 0) {
                const double moment = list_.moment.empty() ? 0 : list_.moment[g], unit = factor / group.risk;
                const bool is_tied = tied != list_.tied.rend() && tied->group == g;
                mean = is_tied ? mean_of(group, *tied, moment) : moment;
                if (is_tied) {
                    of_tied.add(efron(group, *tied, moment, true), unit);
                    of_all.add(efron(group, *tied++, moment, false), unit);
                } else {
                    of_all.add({group.events, group.events * moment, group.events}, unit);
                    of_tied = of_all;
                }
            }
            for (std::int64_t k = group.begin; k < end_of(g); ++k) {
                const Terms& of = list_.event[k] > 0 ? of_tied : of_all;
                const double size = list_.size[k] / factor;
                const std::int32_t at = row_at(k);
                if (out.gradient) out.gradient[at] = sign * (size * of.sum - list_.event[k]);
                if (out.diagonal) out.diagonal[at] = std::max(0.0, size * (of.sum - size * of.square));
                if (out.product) out.product[at] = size * (list_.direction[k] * of.sum - of.moment);
                if (out.chosen) out.chosen[at] = list_.event[k] * (list_.direction[k] - mean);
            }
            later.sum = of_all.sum, later.moment = of_all.moment, later.square = of_all.square;
        }
    }

private:
    // Sums over events of weight / risk, of that times the mean direction, and of weight / risk^2.
    struct Terms {
        double sum = 0, moment = 0, square = 0;

        void add(const Terms& other, double unit) {
            sum += other.sum * unit;
            moment += other.moment * unit;
            square += other.square * unit * unit;
        }
    };

    const LabelOrder& order_;
    const ListColumns& columns_;
    double factor_;
    ListScratch& list_;

    bool is_reversed() const { return columns_.event != nullptr; }
    std::int64_t position(std::int64_t k) const { return is_reversed() ? order_.n - 1 - k : k; }
    std::int32_t row_at(std::int64_t k) const { return order_.row[position(k)]; }
    std::int64_t end_of(std::size_t g) const {
        return g + 1 < list_.groups.size() ? list_.groups[g + 1].begin : order_.n;
    }

    void read() {
        for (auto* column : {&list_.score, &list_.size, &list_.event}) column->resize(order_.n);
        list_.direction.resize(columns_.direction ? order_.n : 0);
        list_.groups.clear();
        std::int32_t level = -1;
        for (std::int64_t k = 0; k < order_.n; ++k) {
            const std::int64_t p = position(k);
            const std::int32_t i = order_.row[p];
            const double weight = columns_.weight ? columns_.weight[i] : 1.0;
            const bool is_event = is_reversed() ? columns_.event[i] > 0 : order_.level_begin[p] > 0;
            list_.score[k] = is_reversed() ? -columns_.scores[i] : columns_.scores[i];
            list_.size[k] = list_.score[k] + (columns_.weight ? std::log(weight) - columns_.log_unit : 0.0);
            list_.event[k] = is_event ? factor_ * weight : 0.0;
            if (columns_.direction) list_.direction[k] = columns_.direction[i];
            if (order_.level_begin[p] != level) {
                level = order_.level_begin[p];
                list_.groups.push_back({static_cast<std::int32_t>(k), 0, 0, 0, 0});
            }
        }
        list_.moment.resize(columns_.direction ? list_.groups.size() : 0);
    }

    // Turns the logs of sizes into sizes, and sums them.
    void sum_risk_sets() {
        list_.tied.clear();
        Scaled risk;
        double highest = -std::numeric_limits<double>::infinity();
        for (std::size_t g = 0; g < list_.groups.size(); ++g) {
            auto& group = list_.groups[g];
            const std::int64_t end = end_of(g);
            for (std::int64_t k = group.begin; k < end; ++k) highest = std::max(highest, list_.size[k]);
            risk.reach(highest);
            double tied = 0, tied_moment = 0;
            for (std::int64_t k = group.begin; k < end; ++k) {
                const double size = list_.size[k] = std::exp(list_.size[k] - risk.reference());
                const double moment = columns_.direction ? size * list_.direction[k] : 0.0;
                risk.sum += size;
                risk.moment += moment;
                if (list_.event[k] > 0) {
                    tied += size;
                    tied_moment += moment;
                    group.events += list_.event[k];
                    ++group.n_events;
                }
            }
            group.reference = risk.reference();
            group.risk = risk.sum;
            if (columns_.direction) list_.moment[g] = risk.moment / risk.sum;
            if (columns_.efron && group.n_events > 1)
                list_.tied.push_back({static_cast<std::int32_t>(g), tied / risk.sum, tied_moment / risk.sum});
        }
    }

    // By Efron, the k-th of d tied events has a risk set without k / d of the tied ones.
    static double share(const ListScratch::Group& group, std::int32_t k) {
        return static_cast<double>(k) / static_cast<double>(group.n_events);
    }

    static double mean_log_share(const ListScratch::Group& group, const ListScratch::Tied& tied) {
        double total = 0;
        for (std::int32_t k = 1; k < group.n_events; ++k) total += std::log1p(-share(group, k) * tied.size);
        return total / static_cast<double>(group.n_events);
    }

    static double mean_of(const ListScratch::Group& group, const ListScratch::Tied& tied, double moment) {
        double total = 0;
        for (std::int32_t k = 0; k < group.n_events; ++k) {
            const double gone = share(group, k);
            total += (moment - gone * tied.moment) / (1.0 - gone * tied.size);
        }
        return total / static_cast<double>(group.n_events);
    }

    // The terms of tied events relative to their risk set, for one of them or for another row of the risk set.
    static Terms efron(const ListScratch::Group& group, const ListScratch::Tied& tied, double moment, bool is_tied) {
        Terms found;
        const double weight = group.events / static_cast<double>(group.n_events);
        for (std::int32_t k = 0; k < group.n_events; ++k) {
            const double gone = share(group, k), rest = 1.0 - gone * tied.size, part = is_tied ? 1.0 - gone : 1.0;
            found.sum += weight * part / rest;
            found.moment += weight * part * (moment - gone * tied.moment) / (rest * rest);
            found.square += weight * part * part / (rest * rest);
        }
        return found;
    }
};

}  // namespace detail

// Fills what `out` asks for: the loss of each query, and sums by row.
inline void plackett_luce(const Ranking& ranking, const ListColumns& columns, int n_threads, const ListSums& out) {
    const auto tasks = detail::small_query_tasks(ranking, false);
    parallel_for(tasks.size(), n_threads, [&](std::size_t t) {
        detail::ListScratch scratch;
        for (std::int64_t q = tasks[t].begin; q < tasks[t].end; ++q) {
            if (out.value) out.value[q] = 0;
            const LabelOrder order = ranking.query(q);
            if (order.n == 0) continue;
            const detail::ListOfQuery list(order, columns, columns.query_factor[q], scratch);
            if (out.value) out.value[q] = list.value();
            list.write(out);
        }
    });
}

}  // namespace rankwise
