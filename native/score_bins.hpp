// Sums over all rows j of u_j kernel(s_i - s_j) at every row i, without visiting a pair.
//
// Rows fall into bins of scores. What a bin's rows do to others depends on sixteen moments alone, the sums of
// u x^k over its rows, x being the row's place in the bin from -1 to 1. Bins act on bins, which makes in each bin a
// polynomial in x (by a matrix where they are near, and otherwise through sixteen exponentials and a straight line,
// carried from bin to bin), and each row reads the polynomial of its bin: O(16 n) for the rows, O(bins) between.
//
// A table holds `terms` numbers for each bin. No include guard, as for lanes.hpp.

namespace rankwise::RANKWISE_INSTRUCTIONS {

// Bins of four rows, and their places in them.
struct FourPlaces {
    std::int32_t bin[lanes];
    Lanes x;
};

// From the score. `low` is a multiple of the width, so that neither the end of a bin nor x rounds.
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

struct Grouped {
    const std::uint16_t* group;
    std::int64_t operator()(std::int64_t i) const { return group[i]; }
};

struct Ungrouped {
    std::int64_t operator()(std::int64_t) const { return 0; }
};

// Some of the rows of a line, which has at least four.
struct RowRange {
    std::int64_t begin, end, line_end;
};

// Calls four(i, from, to) for each four rows i to i + 3, of which those from `from` to before `to` are meant.
template <class Four>
RANKWISE_INLINE void by_fours(RowRange rows, Four&& four) {
    std::int64_t i = rows.begin;
    for (; i + lanes <= rows.end; i += lanes) four(i, 0, lanes);
    if (i == rows.end) return;
    const std::int64_t start = std::min(i, rows.line_end - lanes);
    four(start, static_cast<int>(i - start), static_cast<int>(rows.end - start));
}

// Adds amount(i) x^k of the rows to tables[group(i)]. Consecutive rows take turns with `copies` copies of the tables,
// `stride` apart, since a sum in memory is not at once ready for the next row of the same bin.
template <int copies, class Places, class Amount, class Group>
void add_moments(RowRange rows, Places place, const Amount& amount, Group group,
                 std::int64_t table, std::int64_t stride, double* tables) {
    by_fours(rows, [&](std::int64_t i, int from, int to) {
        const FourPlaces p = place(i);
        const Lanes u = amount(i), x2 = p.x * p.x, ux = u * p.x, x4 = x2 * x2;
        Lanes power[lanes] = {u, ux, u * x2, ux * x2};
        transpose(power);
        for (int r = from; r < to; ++r) {
            double* sum = tables + (r % copies) * stride + group(i + r) * table + std::int64_t{p.bin[r]} * terms;
            const Lanes step = all(x4[r]);
            for (int k = 0; k < terms; k += lanes) {
                store(sum + k, load(sum + k) + power[r]);
                power[r] *= step;
            }
        }
    });
}

// Calls finish(i, polynomial of its bin in tables[group(i)]) for the rows, for four at a time where it can, and returns
// it. It is a copy, so that what it adds up can stay in registers.
template <class Places, class Group, class Finish>
Finish read_rows(RowRange rows, Places place, Group group, std::int64_t table, const double* tables,
                 Finish finish) {
    by_fours(rows, [&](std::int64_t i, int from, int to) {
        const FourPlaces p = place(i);
        const Lanes x2 = p.x * p.x, x4 = x2 * x2;
        Lanes sum[lanes];
        for (int r = 0; r < lanes; ++r) {
            const double* c = tables + group(i + r) * table + std::int64_t{p.bin[r]} * terms;
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
    // += numbers times matrix. Even and odd rows are summed apart: an addition takes some cycles.
    RANKWISE_INLINE void add_product(const SmoothKernels::Matrix& matrix, const double* numbers) {
        BinLanes odd = zero();
        for (int l = 0; l < terms; l += 2)
            for (int r = 0; r < terms / lanes; ++r) {
                part[r] += load(matrix[l].data() + r * lanes) * all(numbers[l]);
                odd.part[r] += load(matrix[l + 1].data() + r * lanes) * all(numbers[l + 1]);
            }
        add(odd);
    }
};

// Which bins there are, and how they act on each other.
class BinChain {
public:
    void set_numbers(std::vector<double> numbers) {
        numbers_ = std::move(numbers);
        mirrored_.resize(numbers_.size() * terms);
        used_.resize(numbers_.size());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }

    // result = table of the sums that the rows behind `moments` make.
    void act(Kernel kernel, const double* moments, double* result) {
        for (std::int64_t b = 0; b < size(); ++b) {
            bool any = false;
            for (int k = 0; k < terms; ++k) {
                const double m = moments[b * terms + k];
                mirrored_[b * terms + k] = k % 2 ? -m : m;
                any |= m != 0;
            }
            used_[b] = any;
        }
        std::fill_n(result, size() * terms, 0.0);
        sweep<false>(kernel, moments, result);
        sweep<true>(kernel, mirrored_.data(), result);
    }

private:
    std::vector<double> numbers_;  // ascending; not a whole-number type, as scores may be 1e300 apart
    std::vector<double> mirrored_;
    std::vector<std::uint8_t> used_;

    // Each bin with those below it (and itself), from the lowest to the highest bin; mirrored, with those above it,
    // from the highest to the lowest, which is the same in a mirror: odd powers change their sign.
    template <bool mirror>
    void sweep(Kernel kernel, const double* moments, double* result) const {
        const SmoothKernels& t = SmoothKernels::tables();
        BinLanes waves = BinLanes::zero();  // of the distant bins passed: e^(k ...) seen from bin b
        double weight = 0, lag = 0;         // their weight; weight times distance in half bins
        const std::int64_t n = size();
        auto at = [&](std::int64_t b) { return mirror ? n - 1 - b : b; };
        for (std::int64_t b = 0, passed = 0; b < n; ++b) {
            const double here = numbers_[at(b)];
            if (b > 0) {
                const double step = std::fabs(here - numbers_[at(b - 1)]);
                waves.scale(decay(step));
                lag += 2 * step * weight;
            }
            for (double apart; (apart = std::fabs(here - numbers_[at(passed)])) > near_bins; ++passed)
                if (used_[at(passed)]) pass(t, moments + at(passed) * terms, apart, waves, weight, lag);
            BinLanes sum = BinLanes::zero();
            for (std::int64_t c = passed; c < b + !mirror; ++c)
                if (used_[at(c)])
                    sum.add_product(t.near[kernel][static_cast<int>(std::fabs(here - numbers_[at(c)]))],
                                    moments + at(c) * terms);
            if (passed > 0) add_distant(t, kernel, waves, weight, lag, sum);
            add_to(result + at(b) * terms, sum, mirror, kernel == slope_kernel ? -1.0 : 1.0);
        }
    }

    static const double* decay(double bins) {
        return SmoothKernels::tables().decay[static_cast<int>(std::min<double>(bins, decay_bins))].data();
    }

    static void pass(const SmoothKernels& t, const double* moments, double apart, BinLanes& waves, double& weight,
                     double& lag) {
        BinLanes own = BinLanes::zero();
        own.add_product(t.rising, moments);
        own.scale(decay(apart));
        waves.add(own);
        weight += moments[0];
        lag += 2 * apart * moments[0] - moments[1];
    }

    static void add_distant(const SmoothKernels& t, Kernel kernel, BinLanes waves, double weight, double lag,
                            BinLanes& sum) {
        double amplitude[terms];
        waves.scale(t.series[kernel].data());
        waves.store_to(amplitude);
        sum.add_product(t.falling, amplitude);
        if (kernel == slope_kernel) sum.part[0] += Lanes{weight / 2, 0, 0, 0};
        if (kernel == even_kernel) sum.part[0] += Lanes{bin_width / 4 * lag, bin_width / 4 * weight, 0, 0};
    }

    static void add_to(double* result, const BinLanes& sum, bool mirror, double parity) {
        const Lanes sign = mirror ? Lanes{parity, -parity, parity, -parity} : all(1.0);
        for (int r = 0; r < terms / lanes; ++r)
            store(result + r * lanes, load(result + r * lanes) + sign * sum.part[r]);
    }
};

// The bins of n rows that lie in a line.
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
        for (const auto& [low, high] : ends)
            ends[0] = {std::min(ends[0].first, low), std::max(ends[0].second, high)};
        return ends[0];
    }

    std::int64_t table() const { return chain_.size() * terms; }
    void act(Kernel kernel, const double* moments, double* result) { chain_.act(kernel, moments, result); }

    // The moments of the rows from `begin` to `end` as one table.
    template <class Amount>
    void gather(std::int64_t begin, std::int64_t end, Amount&& amount, double* table_out) const {
        std::fill_n(table_out, table(), 0.0);
        with_places([&](auto place) {
            add_moments<1>({begin, end, n_}, place, amount, Ungrouped{}, table(), 0, table_out);
        });
    }
    template <class Finish>
    void read(std::int64_t begin, std::int64_t end, const double* table_in, Finish&& finish) const {
        with_places([&](auto place) { read_rows({begin, end, n_}, place, Ungrouped{}, table(), table_in, finish); });
    }

    // The moments of all rows as a table for each group (a null pointer: one group). Chunks of rows are added up in
    // order, whichever thread took them.
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

    // Calls finish(row, sum) for all rows; returns what finish.linear() has come to.
    template <class Finish>
    double read_groups(const std::vector<double>& tables, const std::uint16_t* group,
                       const Finish& finish) const {
        const std::int64_t chunks = std::max<std::int64_t>(1, n_ / chunk_rows);
        std::vector<double> linear(chunks);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            with_places([&](auto place) {
                const RowRange rows{static_cast<std::int64_t>(n_ * c / chunks),
                                    static_cast<std::int64_t>(n_ * (c + 1) / chunks), n_};
                auto read = [&](auto of) {
                    return read_rows(rows, place, of, table(), tables.data(), finish).linear();
                };
                linear[c] = group ? read(Grouped{group}) : read(Ungrouped{});
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
    std::vector<std::int32_t> bin_;  // where they are listed
    std::vector<double> x_;

    template <class Run>
    void with_places(Run&& run) const {
        if (bin_.empty()) run(EvenPlaces{score_, low_});
        else run(ListedPlaces{bin_.data(), x_.data()});
    }

    template <class Amount>
    void gather_chunk(std::int64_t begin, std::int64_t end, Amount&& amount, const std::uint16_t* group,
                      std::int64_t size, double* tables) const {
        constexpr int copies = 4;
        auto run = [&](auto number, double* to) {
            with_places([&](auto place) {
                auto add = [&](auto of) {
                    add_moments<decltype(number)::value>({begin, end, n_}, place, amount, of, table(), size, to);
                };
                group ? add(Grouped{group}) : add(Ungrouped{});
            });
        };
        if (size > 1024 || end - begin < 8 * size) return run(std::integral_constant<int, 1>{}, tables);
        std::vector<double> own(copies * size);
        run(std::integral_constant<int, copies>{}, own.data());
        for (std::int64_t k = 0; k < size; ++k)
            tables[k] = (own[k] + own[size + k]) + (own[2 * size + k] + own[3 * size + k]);
    }

    // Scores so far apart that most bins would be empty: only those with rows are kept.
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

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
