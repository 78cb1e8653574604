// Sums over pairs that are not alike in both directions: by difference of gains, or with rows that are never the worse
// one of a pair.
//
// Rows in label order are cut into segments. The bins of all rows below a segment, which are its worse partners, act on
// it, and those of all rows above it; then each segment is cut in turn, and a short one is done pair by pair:
// O(n log n). No include guard, as for lanes.hpp.

namespace rankwise::RANKWISE_INSTRUCTIONS {

template <Kernel kernel, bool with_gain>
class OrderedSums {
public:
    OrderedSums(const PairColumns& rows, const std::int32_t* level_begin, double factor, double* sum)
        : rows_(rows), level_begin_(level_begin), factor_(factor), sum_(sum) {}

    // Adds to the rows' sums; returns the even sum times the factor.
    double run(std::int64_t n, int n_threads) {
        std::vector<Segment> segments{{0, n}};
        double total = 0;
        while (!segments.empty()) {
            std::vector<double> values(segments.size());
            std::vector<std::vector<Segment>> parts(segments.size());
            parallel_for(segments.size(), n_threads,
                         [&](std::size_t k) { values[k] = work(segments[k], parts[k]); });
            segments.clear();
            for (const auto& list : parts) segments.insert(segments.end(), list.begin(), list.end());
            for (const double value : values) total += value;
        }
        return total;
    }

private:
    struct Segment {
        std::int64_t begin, end;
    };
    static constexpr std::int64_t leaf_rows = 128, most_parts = 16;
    static constexpr int channels = with_gain ? 2 : 1;
    PairColumns rows_;
    const std::int32_t* level_begin_;
    double factor_;
    double* sum_;

    double work(Segment whole, std::vector<Segment>& parts) {
        const std::int64_t n = whole.end - whole.begin;
        if (n <= leaf_rows) return pair_by_pair(whole);
        ScoreBins bins(rows_.score + whole.begin, n, 1);
        parts = cut(whole, std::clamp<std::int64_t>(n / bins.table(), 2, most_parts));
        if (parts.size() == 1) {
            parts.clear();  // one label
            return 0;
        }
        return act(whole, parts, bins);
    }

    std::vector<Segment> cut(Segment whole, std::int64_t n_parts) const {
        std::vector<std::int64_t> ends{split_position(level_begin_, static_cast<std::int32_t>(whole.begin),
                                                      static_cast<std::int32_t>(whole.end)),
                                       whole.end};
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

    // Moments of the rows, and with gains also those times the gain.
    void gather(const ScoreBins& bins, Segment whole, Segment part, const double* weight, double* tables) const {
        for (int c = 0; c < channels; ++c)
            bins.gather(
                part.begin - whole.begin, part.end - whole.begin,
                [&](std::int64_t i) {
                    const std::int64_t p = whole.begin + i;
                    Lanes amount = load(weight + p);
                    if constexpr (kernel == curvature_kernel) amount *= load(rows_.direction + p);
                    return c ? amount * load(rows_.gain + p) : amount;
                },
                tables + c * bins.table());
    }

    // Row i receives weight_i sign (gain_i first - second), or weight_i first without gains.
    void receive(const ScoreBins& bins, Segment whole, Segment part, const double* weight, double sign,
                 const double* tables) const {
        for (int c = 0; c < channels; ++c)
            bins.read(part.begin - whole.begin, part.end - whole.begin, tables + c * bins.table(),
                      [&](std::int64_t i, auto read) {
                          using Number = decltype(read);
                          const std::int64_t p = whole.begin + i;
                          if constexpr (with_gain) read *= c ? Number{} - sign : sign * get<Number>(rows_.gain + p);
                          put(sum_ + p, get<Number>(sum_ + p) + get<Number>(weight + p) * read);
                      });
    }

    double act(Segment whole, const std::vector<Segment>& parts, ScoreBins& bins) const {
        const std::int64_t table = bins.table(), size = channels * table;
        const auto n_parts = static_cast<std::int64_t>(parts.size());
        std::vector<double> better(n_parts * size), worse(n_parts * size), sources(size), local(size);
        for (std::int64_t k = 0; k < n_parts; ++k) {
            gather(bins, whole, parts[k], rows_.better, better.data() + k * size);
            gather(bins, whole, parts[k], rows_.worse, worse.data() + k * size);
        }
        auto add_and_act = [&](Kernel which, const double* more) {
            for (std::int64_t i = 0; more && i < size; ++i) sources[i] += more[i];
            for (int c = 0; c < channels; ++c) bins.act(which, sources.data() + c * table, local.data() + c * table);
        };
        double value = 0;
        for (std::int64_t k = 1; k < n_parts; ++k) {
            add_and_act(kernel, worse.data() + (k - 1) * size);
            receive(bins, whole, parts[k], rows_.better, 1.0, local.data());
            if constexpr (kernel != slope_kernel) continue;
            add_and_act(even_kernel, nullptr);
            value += even_sum(better.data() + k * size, local.data(), table);
        }
        std::fill(sources.begin(), sources.end(), 0.0);
        for (std::int64_t k = n_parts - 2; k >= 0; --k) {
            add_and_act(kernel, better.data() + (k + 1) * size);
            receive(bins, whole, parts[k], rows_.worse, -1.0, local.data());
        }
        return value;
    }

    double even_sum(const double* own, const double* local, std::int64_t table) const {
        double value = 0;
        for (std::int64_t k = 0; k < table; ++k) {
            if constexpr (with_gain)
                value += factor_ * own[table + k] * local[k] - factor_ * own[k] * local[table + k];
            else
                value += factor_ * own[k] * local[k];
        }
        return value;
    }

    double pair_by_pair(Segment whole) const {
        const std::int64_t n = whole.end - whole.begin;
        Padded score, better, worse, gain, direction, sum;
        std::int32_t begin[leaf_rows];
        auto copy = [&](Padded& column, const double* from) {
            column.resize(n);
            if (from) std::copy_n(from + whole.begin, n, column.data());
            return column.data();
        };
        const PairColumns rows{copy(score, rows_.score), copy(better, rows_.better), copy(worse, rows_.worse),
                               copy(gain, rows_.gain), copy(direction, rows_.direction)};
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t level = level_begin_[whole.begin + i] - whole.begin;
            begin[i] = static_cast<std::int32_t>(std::max<std::int64_t>(0, level));
        }
        copy(sum, sum_);
        const double even = sum_any_pairs<kernel, with_gain>(rows, begin, n, sum.data());
        std::copy_n(sum.data(), n, sum_ + whole.begin);
        return factor_ * even;
    }
};

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
