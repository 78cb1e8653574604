// One-sided sums, whose pairs are not symmetric: by difference of gains, or with rows that cannot be worse. Also for
// any pairs of which nearly all are in the right order by a wide margin, because nothing cancels here.
//
// Rows in label order are cut into segments. The bins of all rows below a segment, its worse partners, act on it, and
// so do those of all rows above it. Then each segment is cut in turn, and short ones are summed pair by pair: O(n log
// n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "few_pairs.hpp"
#include "lanes.hpp"
#include "pair_count.hpp"
#include "parallel.hpp"
#include "score_bins.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

template <Kernel kernel>
class OrderedSums {
public:
    // unit_weights: every pair weighs 1, and the columns better and worse hold ones and zeros.
    OrderedSums(const PairColumns& rows, bool unit_weights, const std::int32_t* level_begin, double factor, double* sum)
        : rows_(rows), channels_(channels_of(rows)), unit_weights_(unit_weights), leaf_rows_(unit_weights ? 128 : 64),
          level_begin_(level_begin), factor_(factor), sum_(sum) {}

    // Adds to the rows' sums; returns the loss times the factor.
    double run(std::int64_t n, int n_threads) {
        std::vector<Segment> segments{{0, n}};
        double total = 0;
        while (!segments.empty()) {
            std::vector<double> values(segments.size());
            std::vector<std::vector<Segment>> parts(segments.size());
            parallel_for(segments.size(), n_threads, [&](std::size_t k) { values[k] = work(segments[k], parts[k]); });
            segments.clear();
            for (const auto& list : parts) segments.insert(segments.end(), list.begin(), list.end());
            for (const double value : values) total += value;
        }
        return total;
    }

private:
    struct Segment {
        std::int64_t begin, end;
        std::int64_t size() const { return end - begin; }
    };
    static constexpr std::int64_t most_parts = 128;

    static Channels channels_of(const PairColumns& rows) {
        if (rows.gain) return by_gain;
        return rows.worse == rows.better ? alike : censored;
    }

    PairColumns rows_;
    Channels channels_;
    bool unit_weights_;
    std::int64_t leaf_rows_;
    const std::int32_t* level_begin_;
    double factor_;
    double* sum_;

    struct Pairs {
        NarrowPairs narrow;
        AnyPairs any;
    };

    // Sums all pairs of the segment except those within the parts added to `left`.
    double work(Segment whole, std::vector<Segment>& left) {
        Pairs pairs;
        if (whole.size() <= leaf_rows_) return pair_by_pair(whole, pairs);
        if (middle(whole) == whole.end) return 0;  // one label
        ScoreBins bins(rows_.score + whole.begin, whole.size(), 1);
        const std::int64_t most = std::min(2 * whole.size() / bins.table(), whole.size() / leaf_rows_);
        const std::vector<Segment> parts = cut(whole, std::clamp<std::int64_t>(most, 2, most_parts));
        double value = act(whole, parts, bins);
        for (const Segment part : parts) {
            if (part.size() <= leaf_rows_)
                value += pair_by_pair(part, pairs);
            else
                left.push_back(part);
        }
        return value;
    }

    std::int64_t middle(Segment whole) const {
        return split_position(level_begin_, static_cast<std::int32_t>(whole.begin),
                              static_cast<std::int32_t>(whole.end));
    }

    std::vector<Segment> cut(Segment whole, std::int64_t n_parts) const {
        std::vector<std::int64_t> ends{middle(whole), whole.end};
        for (std::int64_t k = 1; k < n_parts; ++k) {
            const std::int64_t at = level_begin_[whole.begin + (whole.end - whole.begin) * k / n_parts];
            if (at > whole.begin) ends.push_back(at);
        }
        std::sort(ends.begin(), ends.end());
        std::vector<Segment> parts;
        std::int64_t begin = whole.begin;
        for (const std::int64_t end : ends) {
            if (end > begin) parts.push_back({begin, end});
            begin = end;
        }
        return parts;
    }

    // The amount that row p (or four rows from p on) gives in a channel.
    template <class Number>
    RANKWISE_INLINE Number given(int channel, std::int64_t p) const {
        if (channel == 0) return get<Number>(rows_.worse + p);
        const Number weight = get<Number>(rows_.better + p);
        return rows_.gain ? weight * get<Number>(rows_.gain + p) : weight;
    }

    double act(Segment whole, const std::vector<Segment>& parts, ScoreBins& bins) const {
        const std::int64_t table = bins.table(), n_parts = static_cast<std::int64_t>(parts.size());
        std::vector<double> tables(n_parts * channels_.n * table);
        auto for_tables = [&](auto&& body) {
            for (std::int64_t k = 0; k < n_parts; ++k)
                for (int c = 0; c < channels_.n; ++c)
                    body(parts[k].begin - whole.begin, parts[k].end - whole.begin, c,
                         tables.data() + (k * channels_.n + c) * table);
        };
        for_tables([&](std::int64_t begin, std::int64_t end, int c, double* moments) {
            bins.gather(
                begin, end,
                [&](std::int64_t i) {
                    const Lanes amount = given<Lanes>(c, whole.begin + i);
                    return kernel == curvature_kernel ? amount * load(rows_.direction + whole.begin + i) : amount;
                },
                moments);
        });
        const double value = act_by_label<kernel>(bins.chain(), channels_, n_parts, false, factor_, tables);
        for_tables([&](std::int64_t begin, std::int64_t end, int c, const double* polynomials) {
            bins.read(begin, end, polynomials, [&](std::int64_t i, auto read) {
                using Number = decltype(read);
                double* sum = sum_ + whole.begin + i;
                put(sum, get<Number>(sum) + given<Number>(channels_.n - 1 - c, whole.begin + i) * read);
            });
        });
        return value;
    }

    double pair_by_pair(Segment whole, Pairs& pairs) const {
        const PairColumns rows = rows_.from(whole.begin);
        const auto* begin = level_begin_ + whole.begin;
        const auto offset = static_cast<std::int32_t>(whole.begin);
        const std::int64_t n = whole.size();
        const auto [low, high] = ScoreBins::range(rows.score, n, 1);
        double loss;
        if (unit_weights_ && high - low < narrow_range) {
            pairs.narrow.set(rows.score, rows.worse, n, 0.5 * (low + high));
            if (kernel == curvature_kernel) std::copy_n(rows.direction, n, pairs.narrow.amount.data());
            loss = pairs.narrow.template run<asked_of<kernel>>(begin, offset, high - low);
            add(whole, pairs.narrow.sum);
        } else {
            loss = pairs.any.template run<kernel>(rows, begin, offset, n);
            add(whole, pairs.any.sum);
        }
        return factor_ * loss;
    }

    void add(Segment whole, Padded& sum) const {
        for (std::int64_t i = 0; i < whole.size(); ++i) sum_[whole.begin + i] += sum[i];
    }
};

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
