// Comparisons of numbered items: the outcomes of each pair, and the logistic loss of the items' scores.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rankwise {

enum Outcome : std::int8_t { loss, tie, win };

// Counts the outcomes of each pair. Two counting sorts, by the second and then by the first item, take
// O(matches + items). They are stable: the matches of a pair stay in the order given, which fixes the rounding of the
// sums of weights.
class ComparisonCounter {
public:
    // Without outcomes the first item won every match. Unless `ordered`, the item with the lower number becomes the
    // first of a pair.
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

    // `sums` has an array for each outcome. Without weights each match counts 1.
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

    void sort(std::int32_t Match::* item, std::int32_t n_items, const Match* from, Match* to) const {
        std::vector<std::int64_t> begin(n_items + 1);
        for (std::int64_t k = 0; k < n_; ++k) ++begin[from[k].*item + 1];
        for (std::int32_t i = 0; i < n_items; ++i) begin[i + 1] += begin[i];
        for (std::int64_t k = 0; k < n_; ++k) to[begin[from[k].*item]++] = from[k];
    }
};

// Counted pairs and the scores of the items, and the arrays for the results. `offset` and `slope` may be null.
struct LogisticComparisons {
    const std::int32_t *first, *second;
    const double *share, *lead, *scores, *offset;
    std::int64_t n_entries;
    double *gradient, *slope, *curvature;
};

// The loss is the sum over entries of share log(2 cosh(d / 2)) - lead d, with d = s_first - s_second + offset. `share`
// is the weight of an entry as a fraction of the total, `lead` half of its wins less its losses, as such a fraction.
// Returns the loss, adds its gradient with respect to the scores, and writes the first and second derivatives with
// respect to the d of each entry. The same bits for any instruction set.
double logistic_comparisons(const LogisticComparisons& task, bool widest = true);

}  // namespace rankwise
