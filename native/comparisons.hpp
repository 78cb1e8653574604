// Comparisons of items by number: how often each pair met and who won, and the logistic loss of their scores.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rankwise {

enum Outcome : std::int8_t { loss, tie, win };

// Counts equal pairs. Matches are sorted by the second and then, stably, by the first item, each time by counting: this
// costs O(matches + items) and keeps matches of one pair in the order given, so that sums of weights are always the same.
class ComparisonCounter {
public:
    // Without outcomes the first item won every match; without weights each counts as one. Unless the order matters, the
    // item with the lower number is the first of a pair.
    ComparisonCounter(const std::int32_t* first, const std::int32_t* second, const std::int8_t* outcome,
                      std::int64_t n_matches, std::int32_t n_items, bool ordered)
        : n_(n_matches), matches_(new Match[n_matches]) {
        for (std::int64_t row = 0; row < n_; ++row) {
            Match match{first[row], second[row], outcome ? outcome[row] : std::int8_t{win}, row};
            if (!ordered && match.first > match.second) {
                std::swap(match.first, match.second);
                match.outcome = win - match.outcome;
            }
            matches_[row] = match;
        }
        std::unique_ptr<Match[]> sorted(new Match[n_matches]);
        sort(&Match::second, n_items, matches_.get(), sorted.get());
        sort(&Match::first, n_items, sorted.get(), matches_.get());
    }

    std::int64_t n_entries() const {
        std::int64_t n = 0;
        for (std::int64_t k = 0; k < n_; ++k) n += is_new(k);
        return n;
    }

    // `sums` has a row for each outcome.
    void write(const double* weight, std::int32_t* first, std::int32_t* second, double* const (&sums)[3]) const {
        std::int64_t entry = -1;
        for (std::int64_t k = 0; k < n_; ++k) {
            const Match& match = matches_[k];
            if (is_new(k)) {
                ++entry;
                first[entry] = match.first;
                second[entry] = match.second;
                for (double* sum : sums) sum[entry] = 0;
            }
            sums[match.outcome][entry] += weight ? weight[match.row] : 1.0;
        }
    }

private:
    struct Match {
        std::int32_t first, second, outcome;
        std::int64_t row;
    };
    std::int64_t n_;
    std::unique_ptr<Match[]> matches_;

    bool is_new(std::int64_t k) const {
        return k == 0 || matches_[k].first != matches_[k - 1].first || matches_[k].second != matches_[k - 1].second;
    }

    void sort(std::int32_t Match::*item, std::int32_t n_items, const Match* from, Match* to) const {
        std::vector<std::int64_t> begin(n_items + 1);
        for (std::int64_t k = 0; k < n_; ++k) ++begin[from[k].*item + 1];
        for (std::int32_t i = 0; i < n_items; ++i) begin[i + 1] += begin[i];
        for (std::int64_t k = 0; k < n_; ++k) to[begin[from[k].*item]++] = from[k];
    }
};

// What is asked of counted pairs, and where it goes.
struct LogisticComparisons {
    const std::int32_t *first, *second;
    const double *share, *lead, *scores;
    double order_effect;
    std::int64_t n_items, n_entries;
    double *gradient, *curvature;
};

// The loss of counted pairs is the sum over entries of share log(2 cosh(d / 2)) - lead d, d = s_first - s_second + order
// effect; share is an entry's part of all weight, lead half of what its first item won more than lost, as such a part.
// Returns it, adds its gradient by the scores and, as one entry more, by the order effect, and writes p q share for each
// entry, the second derivative by d. The same bits for either instruction set.
double logistic_comparisons(const LogisticComparisons& task, bool widest = true);

}  // namespace rankwise
