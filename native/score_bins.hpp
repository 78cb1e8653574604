// Sums over all rows j of u_j kernel(s_i - s_j) at every row i, without visiting a pair.
//
// The derivative of the loss of a pair with respect to s_i, its push on row i, is 1 / (1 + e^(s_j - s_i)) = 1/2 +
// slope(s_i - s_j) if row j is the better one, and -1 / (1 + e^(s_i - s_j)) = -1/2 + slope if it is the worse one. Near
// pairs are summed by the slope. The push of a distant pair is 1 in size in the wrong order and decays like e^-|u| in
// the right order, u being the difference of scores; it is summed without the 1/2, so nothing cancels.
//
// Rows fall into bins of scores. The effect of a bin's rows on others depends on sixteen moments alone: the sums of u
// x^k over its rows, x being the position of the row in the bin from -1 to 1. The effect of all bins on a bin is a
// polynomial in x: by a matrix from near bins, and by sixteen exponentials and a linear function, carried from bin to
// bin, from distant ones. Each row evaluates the polynomial of its bin. O(16 n) for the rows and O(bins) between bins.
//
// A table holds `terms` numbers for each bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lanes.hpp"
#include "parallel.hpp"
#include "smooth_kernels.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

// The bins of four rows, and the positions of the rows in them.
struct FourPlaces {
    std::int32_t bin[lanes];
    Lanes x;
};

// Computed from the score. `low` is a multiple of the width, so neither the ends of bins nor x are rounded.
struct EvenPlaces {
    const double* score;
    double low;
    RANKWISE_INLINE FourPlaces operator()(std::int64_t i) const {
        FourPlaces places;
        const Lanes s = load(score + i), bin = whole_parts((s - low) * (1 / bin_width), places.bin);
        places.x = (s - (low + bin * bin_width)) * (2 / bin_width) - 1.0;
        return places;
    }
};

struct ListedPlaces {
    const std::int32_t* bin;
    const double* x;
    RANKWISE_INLINE FourPlaces operator()(std::int64_t i) const {
        return {{bin[i], bin[i + 1], bin[i + 2], bin[i + 3]}, load(x + i)};
    }
};

// Some of the rows before line_end, of which there are at least four.
struct RowRange {
    std::int64_t begin, end, line_end;
};

// Calls four(i, from, to) for blocks of four rows i to i + 3; the rows of the range are i + from to i + to - 1.
template <class Four>
RANKWISE_INLINE void by_fours(RowRange rows, Four&& four) {
    std::int64_t i = rows.begin;
    for (; i + lanes <= rows.end; i += lanes) four(i, 0, lanes);
    if (i == rows.end) return;
    const std::int64_t start = std::min(i, rows.line_end - lanes);
    four(start, static_cast<int>(i - start), static_cast<int>(rows.end - start));
}

// The offset of a row's bin in the tables, one table per group; a null pointer stands for a single table.
struct TableOf {
    const std::uint16_t* group;
    std::int64_t table;
    RANKWISE_INLINE std::int64_t operator()(std::int64_t i, std::int32_t bin) const {
        return (group ? group[i] * table : 0) + std::int64_t{bin} * terms;
    }
};

// Adds amount(i) x^k of the rows to their tables. With a stride, consecutive rows alternate between four copies of the
// tables at this distance, because the next row of the same bin would wait for a sum in memory.
template <class Places, class Amount>
void add_moments(RowRange rows, Places place, const Amount& amount, TableOf of, std::int64_t stride, double* tables) {
    by_fours(rows, [&](std::int64_t i, int from, int to) {
        const FourPlaces p = place(i);
        const Lanes u = amount(i), x2 = p.x * p.x, ux = u * p.x, x4 = x2 * x2;
        Lanes power[lanes] = {u, ux, u * x2, ux * x2};
        transpose(power);
        for (int r = from; r < to; ++r) {
            double* sum = tables + r * stride + of(i + r, p.bin[r]);
            const Lanes step = all(x4[r]);
            for (int k = 0; k < terms; k += lanes) {
                store(sum + k, load(sum + k) + power[r]);
                power[r] *= step;
            }
        }
    });
}

// Calls finish(i, value of the polynomial of its bin) for the rows, four at a time if possible, and returns `finish`.
// It is a copy, so that its sums can stay in registers.
template <class Places, class Finish>
Finish read_rows(RowRange rows, Places place, TableOf of, const double* tables, Finish finish) {
    by_fours(rows, [&](std::int64_t i, int from, int to) {
        const FourPlaces p = place(i);
        const Lanes x2 = p.x * p.x, x4 = x2 * x2;
        Lanes sum[lanes];
        for (int r = 0; r < lanes; ++r) {
            const double* c = tables + of(i + r, p.bin[r]);
            const Lanes step = all(x4[r]);
            sum[r] = load(c + terms - lanes);
            for (int k = terms - 2 * lanes; k >= 0; k -= lanes) sum[r] = sum[r] * step + load(c + k);
        }
        transpose(sum);
        const Lanes value = (sum[0] + p.x * sum[1]) + x2 * (sum[2] + p.x * sum[3]);
        if (to - from == lanes) return finish(i, value);
        for (int r = from; r < to; ++r) finish(i + r, double{value[r]});
    });
    return finish;
}

// The numbers of one bin, in registers.
struct BinLanes {
    Lanes part[terms / lanes];

    static BinLanes zero() { return {all(0.0), all(0.0), all(0.0), all(0.0)}; }
    void add(const BinLanes& other) {
        for (int r = 0; r < terms / lanes; ++r) part[r] += other.part[r];
    }
    void scale(const double* by) {
        for (int r = 0; r < terms / lanes; ++r) part[r] *= load(by + r * lanes);
    }
    void store_to(double* p) const {
        for (int r = 0; r < terms / lanes; ++r) store(p + r * lanes, part[r]);
    }
    // += numbers times matrix. Separate sums of even and odd rows shorten the chain of dependent additions.
    RANKWISE_INLINE void add_product(const SmoothKernels::Matrix& matrix, const double* numbers) {
        BinLanes odd = zero();
        for (int l = 0; l < terms; l += 2)
            for (int r = 0; r < terms / lanes; ++r) {
                part[r] += load(matrix[l].data() + r * lanes) * all(numbers[l]);
                odd.part[r] += load(matrix[l + 1].data() + r * lanes) * all(numbers[l + 1]);
            }
        add(odd);
    }
    // Adds to the first number.
    void add_constant(double number) { part[0] += Lanes{number, 0, 0, 0}; }
};

RANKWISE_INLINE double dot(const double* a, const double* b) {
    Lanes sum = load(a) * load(b);
    for (int k = lanes; k < terms; k += lanes) sum += load(a + k) * load(b + k);
    return sum_of(sum);
}

// Moments of better and of worse rows, and their factors.
struct Sources {
    const double *better, *worse;
    double better_sign, worse_sign;
};

// The bins and their effects on each other.
class BinChain {
public:
    void set_numbers(std::vector<double> numbers) {
        numbers_ = std::move(numbers);
        bins_.resize(numbers_.size());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }

    // result = the table of the effects of the sources: their pushes, or the sums of the curvature.
    void act(Kernel kernel, const Sources& sources, double* result) {
        for (std::int64_t b = 0; b < size(); ++b) bins_[b].set(sources, b * terms);
        std::fill_n(result, size() * terms, 0.0);
        sweep<false>(kernel, result);
        sweep<true>(kernel, result);
    }

    // The loss of all pairs of the rows with moments `own` and the sources, times the factor: the integral of the
    // pushes.
    double loss(const double* own, const double* push, double factor) const {
        const SmoothKernels& t = SmoothKernels::tables();
        double total = 0, next[terms], of_next[terms];
        for (std::int64_t b = 0; b < size(); ++b, own += terms, push += terms) {
            for (int k = 1; k < terms; ++k) next[k - 1] = factor * own[k];
            next[terms - 1] = factor * dot(t.last_power.data(), own);
            for (int k = 0; k < terms; ++k) of_next[k] = push[k] * t.integral[k];
            total += factor * own[0] * bins_[b].loss + dot(next, of_next);
        }
        return total;
    }

private:
    struct Bin {
        SmoothKernels::Row moments[2];  // plain; mirrored, with odd powers negated
        double side[2][2];              // [better, worse]: their weight and first moment
        double loss;                    // of a row at the center
        bool used;

        void set(const Sources& sources, std::int64_t from) {
            used = false;
            for (int k = 0; k < terms; ++k) {
                const double better = sources.better_sign * sources.better[from + k];
                const double worse = sources.worse_sign * sources.worse[from + k];
                if (k < 2) side[0][k] = better, side[1][k] = worse;
                moments[0][k] = better + worse;
                moments[1][k] = k % 2 ? -moments[0][k] : moments[0][k];
                used |= better != 0 || worse != 0;
            }
            loss = 0;
        }
        // Of the rows that make a pair in the wrong order with a row far above (mirrored: far below), or in the right
        // order.
        double weight(bool mirror, bool wrong) const { return side[mirror == wrong][0]; }
        double moment(bool mirror, bool wrong) const { return (mirror ? -1.0 : 1.0) * side[mirror == wrong][1]; }
    };

    std::vector<double> numbers_;  // ascending; not of an integer type, as scores may be 1e300 apart
    std::vector<Bin> bins_;

    // The distant bins that a sweep has passed, relative to its current bin.
    struct Passed {
        BinLanes waves = BinLanes::zero();  // e^(k ...)
        double weight = 0, lag = 0;         // of rows in the wrong order; the same times their distance in half bins

        void step(double bins) {
            waves.scale(decay(bins));
            lag += 2 * bins * weight;
        }
        void add(const SmoothKernels& t, const Bin& bin, bool mirror, double apart) {
            BinLanes own = BinLanes::zero();
            own.add_product(t.rising, bin.moments[mirror].data());
            own.scale(decay(apart));
            waves.add(own);
            weight += bin.weight(mirror, true);
            lag += 2 * apart * bin.weight(mirror, true) - bin.moment(mirror, true);
        }
        static const double* decay(double bins) {
            return SmoothKernels::tables().decay[static_cast<int>(std::min<double>(bins, decay_bins))].data();
        }
    };

    // Adds to each bin the effects of those below it and of itself, from the lowest to the highest bin; mirrored, of
    // those above it, from the highest to the lowest: the same with scores negated, so odd powers change their sign.
    template <bool mirror>
    void sweep(Kernel kernel, double* result) {
        const SmoothKernels& t = SmoothKernels::tables();
        Passed passed;
        const std::int64_t n = size();
        auto at = [&](std::int64_t b) { return mirror ? n - 1 - b : b; };
        for (std::int64_t b = 0, first_near = 0; b < n; ++b) {
            const double here = numbers_[at(b)];
            if (b > 0) passed.step(std::fabs(here - numbers_[at(b - 1)]));
            for (double apart; (apart = std::fabs(here - numbers_[at(first_near)])) > near_bins; ++first_near)
                if (bins_[at(first_near)].used) passed.add(t, bins_[at(first_near)], mirror, apart);
            BinLanes sum = BinLanes::zero();
            double& loss = bins_[at(b)].loss;
            for (std::int64_t c = first_near; c < b + !mirror; ++c)
                if (const Bin& source = bins_[at(c)]; source.used)
                    add_near(t, kernel, source, mirror, std::fabs(here - numbers_[at(c)]), sum, loss);
            if (first_near > 0) add_distant(t, kernel, passed, sum, loss);
            add_to(result + at(b) * terms, sum, mirror, kernel == slope_kernel ? -1.0 : 1.0);
        }
    }

    static RANKWISE_INLINE void add_near(const SmoothKernels& t, Kernel kernel, const Bin& source, bool mirror,
                                         double apart, BinLanes& sum, double& loss) {
        const double* moments = source.moments[mirror].data();
        const auto index = static_cast<int>(apart);
        sum.add_product(t.near[kernel][index], moments);
        if (kernel != slope_kernel) return;
        const double weight = source.weight(mirror, true) - source.weight(mirror, false);
        const double moment = source.moment(mirror, true) - source.moment(mirror, false);
        sum.add_constant(0.5 * weight);
        loss += dot(t.even_near[index].data(), moments) + bin_width / 4 * (2 * apart * weight - moment);
    }

    static RANKWISE_INLINE void add_distant(const SmoothKernels& t, Kernel kernel, const Passed& passed, BinLanes& sum,
                                            double& loss) {
        double wave[terms], amplitude[terms];
        BinLanes waves = passed.waves;
        waves.store_to(wave);
        waves.scale(t.series[kernel].data());
        waves.store_to(amplitude);
        sum.add_product(t.falling, amplitude);
        if (kernel != slope_kernel) return;
        sum.add_constant(passed.weight);
        loss += dot(t.even_series.data(), wave) + bin_width / 2 * passed.lag;
    }

    static void add_to(double* result, const BinLanes& sum, bool mirror, double parity) {
        const Lanes sign = mirror ? Lanes{parity, -parity, parity, -parity} : all(1.0);
        for (int r = 0; r < terms / lanes; ++r)
            store(result + r * lanes, load(result + r * lanes) + sign * sum.part[r]);
    }
};

// The bins of n consecutive rows.
class ScoreBins {
public:
    ScoreBins(const double* score, std::int64_t n, int n_threads) : score_(score), n_(n), n_threads_(n_threads) {
        const auto [low, high] = range(score, n, n_threads);
        low_ = std::floor(low / bin_width) * bin_width;
        const double span = (high - low_) * (1 / bin_width);
        if (span < std::max(8.0, static_cast<double>(n) / terms)) {
            std::vector<double> numbers(static_cast<std::int64_t>(span) + 1);
            std::iota(numbers.begin(), numbers.end(), 0.0);
            chain_.set_numbers(std::move(numbers));
        } else {
            list_places();
        }
    }

    static std::pair<double, double> range(const double* score, std::int64_t n, int n_threads) {
        const std::int64_t parts = std::max<std::int64_t>(1, n / chunk_rows);
        std::vector<std::pair<double, double>> ends(parts);
        parallel_for(parts, n_threads, [&](std::size_t c) {
            double low = score[0], high = score[0];
            for (std::int64_t i = n * c / parts; i < static_cast<std::int64_t>(n * (c + 1) / parts); ++i) {
                low = score[i] < low ? score[i] : low;
                high = score[i] > high ? score[i] : high;
            }
            ends[c] = {low, high};
        });
        for (const auto& [low, high] : ends) ends[0] = {std::min(ends[0].first, low), std::max(ends[0].second, high)};
        return ends[0];
    }

    std::int64_t table() const { return chain_.size() * terms; }
    BinChain& chain() { return chain_; }

    // The moments of the rows from `begin` to `end` as one table.
    template <class Amount>
    void gather(std::int64_t begin, std::int64_t end, Amount&& amount, double* table_out) const {
        std::fill_n(table_out, table(), 0.0);
        with_places([&](auto place) { add_moments({begin, end, n_}, place, amount, {nullptr, 0}, 0, table_out); });
    }
    template <class Finish>
    void read(std::int64_t begin, std::int64_t end, const double* table_in, Finish&& finish) const {
        with_places([&](auto place) { read_rows({begin, end, n_}, place, {nullptr, 0}, table_in, finish); });
    }

    // The moments of all rows, a table per group (a null pointer: one group). The sums of chunks of rows are added in
    // order, for any assignment to threads.
    template <class Amount>
    std::vector<double> gather_groups(Amount&& amount, const std::uint16_t* group, std::int64_t n_groups) const {
        const std::int64_t size = n_groups * table();
        const std::int64_t chunks = std::clamp<std::int64_t>(n_ / std::max(chunk_rows, 4 * size), 1, 64);
        std::vector<double> tables(chunks * size);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            gather_chunk(n_ * c / chunks, n_ * (c + 1) / chunks, amount, group, size, tables.data() + c * size);
        });
        for (std::int64_t c = 1; c < chunks; ++c)
            for (std::int64_t k = 0; k < size; ++k) tables[k] += tables[c * size + k];
        tables.resize(size);
        return tables;
    }

    // Calls finish(row, sum) for all rows; returns the sum of finish.linear().
    template <class Finish>
    double read_groups(const std::vector<double>& tables, const std::uint16_t* group, const Finish& finish) const {
        const std::int64_t chunks = std::max<std::int64_t>(1, n_ / chunk_rows);
        std::vector<double> linear(chunks);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            with_places([&](auto place) {
                const RowRange rows{static_cast<std::int64_t>(n_ * c / chunks),
                                    static_cast<std::int64_t>(n_ * (c + 1) / chunks), n_};
                linear[c] = read_rows(rows, place, {group, table()}, tables.data(), finish).linear();
            });
        });
        return std::accumulate(linear.begin(), linear.end(), 0.0);
    }

private:
    static constexpr std::int64_t chunk_rows = 1 << 16;
    const double* score_;
    std::int64_t n_;
    int n_threads_;
    double low_;
    BinChain chain_;
    std::vector<std::int32_t> bin_;  // empty unless places are listed
    std::vector<double> x_;

    template <class Run>
    void with_places(Run&& run) const {
        if (bin_.empty())
            run(EvenPlaces{score_, low_});
        else
            run(ListedPlaces{bin_.data(), x_.data()});
    }

    template <class Amount>
    void gather_chunk(std::int64_t begin, std::int64_t end, Amount&& amount, const std::uint16_t* group,
                      std::int64_t size, double* tables) const {
        auto run = [&](std::int64_t stride, double* to) {
            with_places(
                [&](auto place) { add_moments({begin, end, n_}, place, amount, {group, table()}, stride, to); });
        };
        if (size > 1024 || end - begin < 8 * size) return run(0, tables);
        std::vector<double> own(lanes * size);
        run(size, own.data());
        for (std::int64_t k = 0; k < size; ++k)
            tables[k] = (own[k] + own[size + k]) + (own[2 * size + k] + own[3 * size + k]);
    }

    // For scores so far apart that most bins would be empty: lists the bins that have rows.
    void list_places() {
        std::vector<std::pair<double, std::int32_t>> order(n_);
        bin_.resize(n_);
        x_.resize(n_);
        for (std::int64_t i = 0; i < n_; ++i) {
            const double bin = std::floor((score_[i] - low_) / bin_width);
            order[i] = {bin, static_cast<std::int32_t>(i)};
            x_[i] = std::clamp((score_[i] - (low_ + bin * bin_width)) * (2 / bin_width) - 1, -1.0, 1.0);
        }
        std::sort(order.begin(), order.end());
        std::vector<double> numbers;
        for (const auto& [bin, row] : order) {
            if (numbers.empty() || bin != numbers.back()) numbers.push_back(bin);
            bin_[row] = static_cast<std::int32_t>(numbers.size()) - 1;
        }
        chain_.set_numbers(std::move(numbers));
    }
};

// The weights of pairs as one or two products of an amount of each row. A row gives in one sum the amount that it takes
// in the other:
//
//     alike     w_i w_j              gives w, takes w
//     by_gain   w_i w_j |g_i - g_j|  gives w, takes g w; gives g w, takes w; opposite signs for better and worse rows
//     censored  w_i e_j w_j          worse rows give e w, better ones take w; better rows give w, worse ones take e w
struct Channels {
    int n;
    double better[2], worse[2];
};
constexpr Channels alike{1, {1, 0}, {1, 0}}, by_gain{2, {-1, 1}, {1, -1}}, censored{2, {0, 1}, {1, 0}};

// Replaces the moments of each part of the rows, in label order, by the polynomials of the effects of the other parts;
// returns the loss of their pairs times the factor. If the first part is a rest, of several labels, it also acts on
// itself, and half of every row counts as better than all others and half as worse.
template <Kernel kernel>
double act_by_label(BinChain& chain, const Channels& channels, std::int64_t n_parts, bool has_rest, double factor,
                    std::vector<double>& tables) {
    const std::int64_t table = chain.size() * terms, size = channels.n * table;
    std::vector<double> from(tables), before(size), others(has_rest ? size : 0), received(size);
    from.resize(tables.size() + size);  // moments of part g and all parts after it
    for (std::int64_t k = static_cast<std::int64_t>(tables.size()) - size - 1; k >= 0; --k) from[k] += from[k + size];
    double value = 0;
    for (std::int64_t g = 0; g < n_parts; ++g) {
        double* own = tables.data() + g * size;
        const double* after = from.data() + (g + 1) * size;
        for (std::int64_t k = 0; has_rest && k < size; ++k) others[k] = before[k] + after[k] + (g == 0 ? own[k] : 0.0);
        for (int c = 0; c < channels.n; ++c) {
            const std::int64_t at = c * table;
            const double* rest = others.data() + at;
            chain.act(kernel,
                      has_rest ? Sources{rest, rest, 0.5, 0.5}
                               : Sources{after + at, before.data() + at, channels.better[c], channels.worse[c]},
                      received.data() + at);
            if constexpr (kernel == slope_kernel)
                value += chain.loss(own + (size - table - at), received.data() + at, factor);
        }
        for (std::int64_t k = 0; k < size; ++k) {
            before[k] += own[k];
            own[k] = received[k];
        }
    }
    return 0.5 * value;
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
