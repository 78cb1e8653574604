// Rows of one query sorted by score, and for each row the ends of its margin window in that order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "parallel.hpp"

namespace rankwise {

// The only test of whether a pair is violated. It is monotone in both scores, so all counting methods agree on every
// pair, rounding included, in whatever order they apply it.
inline bool violated(double better, double worse, double margin) { return better - worse < margin; }

struct KeyedRow {
    std::uint64_t key;
    std::int32_t position;
    std::int32_t unused;
};

// The ends of a row's windows in score order: `high` rows lie below its score plus the margin, and the rows from `low`
// on lie above its score minus the margin. If windows are in score order, `place` is the position of the row by label;
// if they are in label order, it is its rank by score.
struct Window {
    std::int32_t high, low, place, unused;
};
static_assert(sizeof(KeyedRow) == sizeof(Window));

// A slot of scratch: a KeyedRow until the rows are sorted, then a Window.
union RowSlot {
    KeyedRow keyed;
    Window window;
};

// Doubles as unsigned integers in the same order.
inline std::uint64_t score_key(double score) {
    const auto bits = std::bit_cast<std::uint64_t>(score);
    return bits ^ (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) | 0x8000000000000000ull);
}

inline double key_score(std::uint64_t key) {
    const std::uint64_t mask = (key >> 63) ? 0x8000000000000000ull : ~0ull;
    return std::bit_cast<double>(key ^ mask);
}

namespace detail {

constexpr int radix_bits = 11;
constexpr std::size_t radix_size = std::size_t{1} << radix_bits;
constexpr std::int64_t radix_threshold = 512;
constexpr std::int64_t most_even = 4096;  // the most rows that are distributed in even steps
constexpr std::int64_t parallel_rows = 1 << 16;

using Histogram = std::array<std::int32_t, radix_size>;

inline std::size_t digit(std::uint64_t key, int shift) { return (key >> shift) & (radix_size - 1); }

inline bool by_key(const RowSlot& a, const RowSlot& b) { return a.keyed.key < b.keyed.key; }

// Sorts runs of rows with equal bits from `shift` on upwards, by comparison.
inline void sort_runs(RowSlot* rows, std::int64_t n, int shift) {
    for (std::int64_t i = 0; i < n;) {
        std::int64_t j = i + 1;
        while (j < n && rows[j].keyed.key >> shift == rows[i].keyed.key >> shift) ++j;
        if (j - i > 1 && !std::is_sorted(rows + i, rows + j, by_key)) std::stable_sort(rows + i, rows + j, by_key);
        i = j;
    }
}

// Turns the counts of digits into their first places.
inline void to_places(Histogram& counts) {
    std::int32_t place = 0;
    for (auto& count : counts) {
        const std::int32_t here = count;
        count = place;
        place += here;
    }
}

// Sorts rows with equal bits from `shift` on upwards, in place, by the next two digits and then by comparison.
inline void sort_bucket(RowSlot* rows, RowSlot* spare, std::int64_t n, int shift) {
    if (n < radix_threshold || shift == 0) {
        if (n > 1 && !std::is_sorted(rows, rows + n, by_key)) std::sort(rows, rows + n, by_key);
        return;
    }
    const int upper = std::max(0, shift - radix_bits), lower = std::max(0, upper - radix_bits);
    Histogram low{}, high{};
    for (std::int64_t i = 0; i < n; ++i) {
        ++low[digit(rows[i].keyed.key, lower)];
        ++high[digit(rows[i].keyed.key, upper)];
    }
    to_places(low);
    to_places(high);
    for (std::int64_t i = 0; i < n; ++i) spare[low[digit(rows[i].keyed.key, lower)]++] = rows[i];
    for (std::int64_t i = 0; i < n; ++i) rows[high[digit(spare[i].keyed.key, upper)]++] = spare[i];
    sort_runs(rows, n, lower);
}

// The step of a score among even steps from the lowest score on: a monotone function.
struct EvenSteps {
    double low, scale;
    std::int64_t operator()(const RowSlot& slot) const {
        return static_cast<std::int64_t>((key_score(slot.keyed.key) - low) * scale);
    }
};

// Sorts some thousand rows: distributes them by score in even steps and finishes by insertion sort. If many rows share
// a step, sorts by comparison.
inline RowSlot* sort_few(RowSlot* rows, RowSlot* spare, std::int64_t n) {
    constexpr std::int64_t fewest = 24, most_in_step = 16;
    std::array<std::int32_t, most_even + 1> place{};
    const auto [low, high] = std::minmax_element(rows, rows + n, by_key);
    const double lowest = key_score(low->keyed.key), range = key_score(high->keyed.key) - lowest;
    const EvenSteps step{lowest, static_cast<double>(n - 1) / range};
    bool even = n >= fewest && range > 0 && std::isfinite(range) && std::isfinite(step.scale);
    for (std::int64_t i = 0; even && i < n; ++i) even = ++place[step(rows[i]) + 1] <= most_in_step;
    if (!even) {
        std::sort(rows, rows + n, by_key);
        return rows;
    }
    for (std::int64_t k = 1; k < n; ++k) place[k] += place[k - 1];
    for (std::int64_t i = 0; i < n; ++i) spare[place[step(rows[i])]++] = rows[i];
    for (std::int64_t i = 1; i < n; ++i) {
        const RowSlot slot = spare[i];
        std::int64_t k = i;
        for (; k > 0 && by_key(slot, spare[k - 1]); --k) spare[k] = spare[k - 1];
        spare[k] = slot;
    }
    return spare;
}

struct Blocks {
    std::int64_t n;
    std::int64_t count;
    std::int64_t begin(std::int64_t block) const { return n * block / count; }
    static Blocks of(std::int64_t n, int n_threads) { return {n, n < parallel_rows ? 1 : std::max(1, n_threads)}; }
};

// Calls body(i) for 0 <= i < n, on several threads if rows are many.
template <class Body>
void over_rows(std::int64_t n, int n_threads, Body&& body) {
    const Blocks blocks = Blocks::of(n, n_threads);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i) body(i);
    });
}

// The sum of term(i) over 0 <= i < n, in chunks of fixed size.
template <class Term>
double sum_over_rows(std::int64_t n, int n_threads, Term&& term) {
    constexpr std::int64_t chunk = 1 << 13;
    std::vector<double> partial((n + chunk - 1) / chunk);
    parallel_for(partial.size(), n < parallel_rows ? 1 : n_threads, [&](std::size_t c) {
        const std::int64_t begin = c * chunk, end = std::min(n, begin + chunk);
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) sum += term(i);
        partial[c] = sum;
    });
    double total = 0;
    for (const double sum : partial) total += sum;
    return total;
}

}  // namespace detail

// Sorts `rows` by key, with `spare` of the same size; returns the one of the two that holds the sorted rows. One pass
// distributes the rows to buckets by the first digit in which keys differ. Each bucket is then sorted within a cache.
inline RowSlot* sort_by_key(RowSlot* rows, RowSlot* spare, std::int64_t n, int n_threads) {
    using namespace detail;
    if (n < most_even) return sort_few(rows, spare, n);
    const Blocks blocks = Blocks::of(n, n_threads);
    std::vector<std::uint64_t> differing(blocks.count, 0);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        std::uint64_t differ = 0;
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i)
            differ |= rows[i].keyed.key ^ rows[0].keyed.key;
        differing[b] = differ;
    });
    std::uint64_t differ = 0;
    for (const std::uint64_t part : differing) differ |= part;
    if (differ == 0) return rows;
    const int shift = std::max(0, static_cast<int>(std::bit_width(differ)) - radix_bits);

    std::vector<Histogram> places(blocks.count);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        places[b].fill(0);
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i)
            ++places[b][digit(rows[i].keyed.key, shift)];
    });
    std::vector<std::int32_t> bucket(radix_size + 1);
    std::int32_t place = 0;
    for (std::size_t d = 0; d < radix_size; ++d) {
        bucket[d] = place;
        for (auto& block : places) {
            const std::int32_t here = block[d];
            block[d] = place;
            place += here;
        }
    }
    bucket[radix_size] = place;
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i)
            spare[places[b][digit(rows[i].keyed.key, shift)]++] = rows[i];
    });
    parallel_for(radix_size, blocks.count > 1 ? n_threads : 1, [&](std::size_t d) {
        if (bucket[d] < bucket[d + 1])
            sort_bucket(spare + bucket[d], rows + bucket[d], bucket[d + 1] - bucket[d], shift);
    });
    return spare;
}

namespace detail {

// Walks the rows [begin, end) as worse partners against all rows as better partners, one step of either at a time. Row
// j violates row i if and only if j < high[i], that is i >= low[j], so one walk yields both ends: each step writes the
// ends of both rows, and the last write is the final one. The walk completes exactly the better rows that no row before
// `begin` completes and the last of its rows does.
class WindowWalk {
public:
    WindowWalk(const double* scores, RowSlot* out, std::int64_t n, std::int64_t begin, std::int64_t end, double margin)
        : scores_(scores), out_(out), margin_(margin), i_(begin), end_(end) {
        auto high_of = [&](std::int64_t row) -> std::int64_t {
            auto violates = [&](double s) { return violated(s, scores[row], margin); };
            return std::partition_point(scores, scores + n, violates) - scores;
        };
        high_ = begin > 0 ? high_of(begin - 1) : 0;
        stop_ = begin < end ? high_of(end - 1) : high_;
    }

    // An integer, so that several are combined in one branch.
    int walking() const { return (i_ < end_) & (high_ < stop_); }

    void step() {
        out_[i_].window.high = static_cast<std::int32_t>(high_);
        out_[high_].window.low = static_cast<std::int32_t>(i_);
        const bool up = violated(scores_[high_], scores_[i_], margin_);
        high_ += up;
        i_ += !up;
    }

    // Returns the first better row that the walk does not complete.
    std::int64_t finish() {
        while (walking()) step();
        for (; i_ < end_; ++i_) out_[i_].window.high = static_cast<std::int32_t>(stop_);
        return stop_;
    }

private:
    const double* scores_;
    RowSlot* out_;
    double margin_;
    std::int64_t i_, end_, high_, stop_;
};

// The steps of a walk depend on each other; four interleaved walks hide the latency.
inline void walk_windows(const double* scores, RowSlot* out, std::int64_t n, std::int64_t begin, std::int64_t end,
                         double margin) {
    const std::int64_t quarter = (end - begin) / 4;
    auto part = [&](int k) {
        return WindowWalk(scores, out, n, begin + k * quarter, k == 3 ? end : begin + (k + 1) * quarter, margin);
    };
    WindowWalk a = part(0), b = part(1), c = part(2), d = part(3);
    while (a.walking() & b.walking() & c.walking() & d.walking()) {
        a.step();
        b.step();
        c.step();
        d.step();
    }
    a.finish();
    b.finish();
    c.finish();
    std::int64_t unsettled = d.finish();
    if (end == n)
        for (; unsettled < n; ++unsettled) out[unsettled].window.low = static_cast<std::int32_t>(n);
}

}  // namespace detail

// Turns sorted keyed rows into windows, in `out`. `scores` has room for n numbers; with one block of rows it may be the
// memory of `sorted`, because the score of a row ends before the next row begins.
inline void margin_windows(const RowSlot* sorted, RowSlot* out, double* scores, std::int64_t n, double margin,
                           int n_threads) {
    using namespace detail;
    const Blocks blocks = Blocks::of(n, n_threads);
    parallel_for(blocks.count, n_threads, [&](std::size_t b) {
        for (std::int64_t i = blocks.begin(b); i < blocks.begin(b + 1); ++i) {
            const KeyedRow row = sorted[i].keyed;
            const double score = key_score(row.key);
            out[i].window.place = row.position;
            std::memcpy(scores + i, &score, sizeof score);  // which may alias `sorted`
        }
    });
    parallel_for(blocks.count, n_threads,
                 [&](std::size_t b) { walk_windows(scores, out, n, blocks.begin(b), blocks.begin(b + 1), margin); });
}

}  // namespace rankwise
