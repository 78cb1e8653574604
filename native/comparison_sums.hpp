// The sums of comparisons.hpp, four entries at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "comparisons.hpp"
#include "lanes.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

// A piece of the entries that fits the first-level cache. Its arrays are padded with zeros.
class ComparisonPiece {
public:
    ComparisonPiece(const LogisticComparisons& task, std::int64_t begin)
        : task_(task), begin_(begin), n_(static_cast<int>(std::min<std::int64_t>(most, task.n_entries - begin))) {
        for (int k = 0; k < n_; ++k) {
            d_[k] = task.scores[task.first[begin + k]] - task.scores[task.second[begin + k]];
            share_[k] = task.share[begin + k];
            lead_[k] = task.lead[begin + k];
        }
        if (task.offset)
            for (int k = 0; k < n_; ++k) d_[k] += task.offset[begin + k];
    }

    static constexpr int most = 256;

    // Adds to the gradient, writes the curvature of each entry and returns the loss.
    double add() {
        Lanes value = all(0.0);
        for (int k = 0; k < n_; k += lanes) {
            const Lanes d = load(d_ + k), share = load(share_ + k), lead = load(lead_ + k);
            const Lanes size = where_less(d, all(0.0), 0.0 - d, d);
            const Lanes e = exponential(0.0 - where_less(size, all(700.0), size, all(700.0)));
            const auto [log, big] = log_of_one_plus(e);
            const Lanes half = (0.5 - 0.5 * e) * big;
            value += share * (0.5 * size + log) - lead * d;
            store(slope_ + k, share * where_less(d, all(0.0), 0.0 - half, half) - lead);
            store(curvature_ + k, share * (e * big * big));
        }
        for (int k = 0; k < n_; ++k) {
            task_.gradient[task_.first[begin_ + k]] += slope_[k];
            task_.gradient[task_.second[begin_ + k]] -= slope_[k];
            task_.curvature[begin_ + k] = curvature_[k];
        }
        if (task_.slope) std::copy(slope_, slope_ + n_, task_.slope + begin_);
        return sum_of(value);
    }

private:
    const LogisticComparisons& task_;
    std::int64_t begin_;
    int n_;
    double d_[most] = {}, share_[most] = {}, lead_[most] = {}, slope_[most], curvature_[most];
};

inline double sum_comparisons(const LogisticComparisons& task) {
    double value = 0;
    for (std::int64_t begin = 0; begin < task.n_entries; begin += ComparisonPiece::most)
        value += ComparisonPiece(task, begin).add();
    return value;
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
