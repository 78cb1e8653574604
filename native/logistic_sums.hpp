// The sums of logistic_ranking.hpp, query by query. No include guard, as for lanes.hpp.

namespace rankwise::RANKWISE_INSTRUCTIONS {

// The rows of a query in a line: where they lie, or copied in label order. Null pointers: ones (weight, direction).
struct LineOfRows {
    std::int64_t n;
    const double *score, *weight, *direction, *balance, *diagonal;
    const std::uint16_t* group;
    double* out;

    // Of row i, or of four rows from i on.
    template <class Number>
    Number weight_of(std::int64_t i) const {
        return weight ? get<Number>(weight + i) : Number{} + 1.0;
    }
    template <class Number>
    Number amount_of(std::int64_t i) const {
        return direction ? weight_of<Number>(i) * get<Number>(direction + i) : weight_of<Number>(i);
    }
};

// Turns the sum at a row into what is asked for.
template <Kernel kernel>
struct Finish {
    LineOfRows rows;
    double factor, reference;
    Lanes lines = all(0.0);

    double linear() const { return sum_of(lines); }

    template <class Number>
    RANKWISE_INLINE void operator()(std::int64_t i, Number sum) {
        if constexpr (kernel == slope_kernel) {
            const Number base = factor * get<Number>(rows.balance + i);
            add_line(base * (get<Number>(rows.score + i) - reference));
            put(rows.out + i, base + factor * sum);
        } else if (rows.diagonal) {
            put(rows.out + i, get<Number>(rows.diagonal + i) * get<Number>(rows.direction + i) - factor * sum);
        } else {
            put(rows.out + i, factor * sum);
        }
    }
    RANKWISE_INLINE void add_line(Lanes line) { lines += line; }
    RANKWISE_INLINE void add_line(double line) { lines[0] += line; }
    void take_off(std::int64_t i, double sum) const {
        rows.out[i] -= kernel == slope_kernel || !rows.diagonal ? factor * sum : -factor * sum;
    }
};

// Memory of one task, reused from query to query.
struct LogisticScratch {
    NarrowPairs narrow;
    Padded score, better, worse, gain, direction, sum;
    std::vector<double> balance, diagonal, out;
    std::vector<std::uint16_t> group;
    std::vector<std::int32_t> before;  // 0, 1, 2, ...: every row with all before it
};

// The sum over partners at each row of scratch (score, better = worse = weight, direction), pair by pair, into
// scratch.sum; returns the sum of the even kernel.
template <Kernel kernel>
double sum_few_rows(LogisticScratch& scratch, const std::int32_t* begin, std::int64_t n, bool unit_weights) {
    constexpr bool curved = kernel == curvature_kernel;
    const auto [low, high] = ScoreBins::range(scratch.score.data(), n, 1);
    scratch.sum.resize(n);
    if (n > 2 * lanes && high - low < narrow_range && (curved || unit_weights)) {
        NarrowPairs& pairs = scratch.narrow;
        pairs.set(scratch.score.data(), n, 0.5 * (low + high));
        double even = 0;
        if constexpr (curved) {
            for (std::int64_t i = 0; i < n; ++i) pairs.amount[i] = scratch.better[i] * scratch.direction[i];
            pairs.curvatures(begin);
        } else {
            even = pairs.slopes(begin, high - low);
        }
        for (std::int64_t i = 0; i < n; ++i) scratch.sum[i] = scratch.better[i] * pairs.sum[i];
        return even;
    }
    std::fill_n(scratch.sum.data(), n, 0.0);
    const double* weight = scratch.better.data();
    return sum_any_pairs<kernel, false>(
        {scratch.score.data(), weight, weight, nullptr, scratch.direction.data()}, begin, n, scratch.sum.data());
}

// All pairs of different labels, by bins.
template <Kernel kernel>
class LevelSums {
public:
    LevelSums(const LineOfRows& rows, const LevelGroupsView& groups, std::int64_t q, ScoreBins& bins)
        : rows_(rows), bins_(bins), table_(bins.table()), n_groups_(groups.n_groups[q]),
          rest_square_(groups.rest_square[q]) {}

    // Sums over all rows of other groups, and in the rest over all rows; returns the loss without the ties'.
    double run(Finish<kernel> finish) {
        const std::uint16_t* group = n_groups_ > 1 ? rows_.group : nullptr;
        std::vector<double> tables = bins_.gather_groups(
            [rows = rows_](std::int64_t i) { return rows.amount_of<Lanes>(i); }, group, n_groups_);
        const double even = act(tables, finish.factor);
        const double met = kernel == curvature_kernel && has_rest() ? 0.25 : 0.0;
        return bins_.read_groups(tables, group, GroupFinish{finish, group, met}) + even;
    }

private:
    LineOfRows rows_;
    ScoreBins& bins_;
    std::int64_t table_, n_groups_;
    double rest_square_;

    struct GroupFinish {
        Finish<kernel> finish;
        const std::uint16_t* group;
        double met;  // curvature at 0 where there is a rest, whose rows met themselves

        double linear() const { return finish.linear(); }

        template <class Number>
        RANKWISE_INLINE void operator()(std::int64_t i, Number sum) {
            const LineOfRows& rows = finish.rows;
            if (met != 0) sum -= met_by<Number>(i) * rows.amount_of<Number>(i);
            finish(i, rows.weight_of<Number>(i) * sum);
        }
        template <class Number>
        Number met_by(std::int64_t i) const {
            auto of = [&](std::int64_t k) { return !group || group[k] == 0 ? met : 0.0; };
            if constexpr (std::is_same_v<Number, double>) return of(i);
            else return Lanes{of(i), of(i + 1), of(i + 2), of(i + 3)};
        }
    };

    bool has_rest() const { return rest_square_ >= 0; }

    // Puts in place of each group's moments the polynomials of what acts on it; returns the even sum.
    double act(std::vector<double>& tables, double factor) {
        std::vector<double> after(tables), before(table_), others(table_), even(table_);
        for (std::int64_t k = static_cast<std::int64_t>(tables.size()) - table_ - 1; k >= 0; --k)
            after[k] += after[k + table_];
        double value = 0;
        for (std::int64_t g = 0; g < n_groups_; ++g) {
            double* own = tables.data() + g * table_;
            const double* above = after.data() + (g + 1) * table_;
            for (std::int64_t k = 0; k < table_; ++k) {
                others[k] = before[k] + (g + 1 < n_groups_ ? above[k] : 0.0) + (g == 0 && has_rest() ? own[k] : 0.0);
                before[k] += own[k];
            }
            if constexpr (kernel == slope_kernel) {
                bins_.act(even_kernel, others.data(), even.data());
                for (std::int64_t k = 0; k < table_; ++k) value += factor * own[k] * even[k];
            }
            bins_.act(kernel, others.data(), own);
        }
        return 0.5 * (value - factor * std::log(2.0) * std::max(0.0, rest_square_));
    }
};

template <Kernel kernel>
class LogisticQuery {
public:
    LogisticQuery(const LogisticTask& task, std::int64_t q, LogisticScratch& scratch, int n_threads)
        : task_(task), q_(q), order_(task.ranking.query(q)), factor_(task.query_factor[q]), scratch_(scratch),
          n_threads_(n_threads) {}

    double run() {
        if (order_.n == 0) return 0;
        if (one_sided()) return in_label_order([this] { return by_order(); });
        const std::int64_t first = task_.groups.first_row[q_];
        if (order_.n >= line_rows && first >= 0) {
            rows_ = lying(first);
            return by_bins([&](std::int64_t p) { return order_.row[p] - first; });
        }
        return in_label_order([this] {
            return few() ? by_pairs() : by_bins([](std::int64_t p) { return p; });
        });
    }

private:
    static constexpr std::int64_t line_rows = 1 << 11;  // from here on rows are not copied where they lie together
    static constexpr std::int64_t most_few = 512;

    const LogisticTask& task_;
    std::int64_t q_;
    LabelOrder order_;
    double factor_;
    LogisticScratch& scratch_;
    int n_threads_;
    LineOfRows rows_{};

    bool one_sided() const { return task_.columns.gain || task_.columns.can_be_worse; }

    LineOfRows lying(std::int64_t first) const {
        auto at = [&](const double* column) { return column ? column + first : nullptr; };
        return {order_.n,          at(task_.scores),   at(task_.columns.weight), at(task_.columns.moment),
                at(task_.balance), at(task_.diagonal), task_.groups.group + first, task_.out + first};
    }

    // Copies the columns in label order and brings the result back.
    template <class Work>
    double in_label_order(Work&& work) {
        auto copy = [&](auto& to, const double* column, double otherwise) {
            to.resize(order_.n);
            over_rows([&](std::int64_t p) { to[p] = column ? column[order_.row[p]] : otherwise; });
            return to.data();
        };
        const double* weight = copy(scratch_.better, task_.columns.weight, 1.0);
        const double* direction =
            kernel == curvature_kernel ? copy(scratch_.direction, task_.columns.moment, 1.0) : nullptr;
        rows_ = {order_.n,
                 copy(scratch_.score, task_.scores, 0.0),
                 task_.columns.weight ? weight : nullptr,
                 task_.columns.moment ? direction : nullptr,
                 task_.balance ? copy(scratch_.balance, task_.balance, 0.0) : nullptr,
                 task_.diagonal ? copy(scratch_.diagonal, task_.diagonal, 0.0) : nullptr,
                 nullptr,
                 nullptr};
        scratch_.out.resize(order_.n);
        rows_.out = scratch_.out.data();
        const double value = work();
        over_rows([&](std::int64_t p) { task_.out[order_.row[p]] = rows_.out[p]; });
        return value;
    }

    template <class Body>
    void over_rows(Body&& body) const {
        const std::int64_t chunks = std::max<std::int64_t>(1, order_.n >> 16);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            const std::int64_t begin = order_.n * c / chunks, end = order_.n * (c + 1) / chunks;
            for (std::int64_t p = begin; p < end; ++p) body(p);
        });
    }

    Finish<kernel> finisher() const { return {rows_, factor_, rows_.score[0]}; }

    // Whether pairs cost less than bins, in nanoseconds or so.
    bool few() const {
        if (order_.n > most_few) return false;
        const bool narrow = !task_.columns.weight || kernel == curvature_kernel;
        const auto [low, high] = ScoreBins::range(rows_.score, order_.n, 1);
        const double n = static_cast<double>(order_.n), n_bins = std::min(n, (high - low) / bin_width + 1);
        double pairs = 0;
        for (std::int64_t p = 0; p < order_.n; ++p) pairs += order_.level_begin[p];
        const double by_pair = narrow && high - low < narrow_range ? 0.4 : 2.0;
        return by_pair * pairs < 300 + static_cast<double>(task_.groups.n_groups[q_]) * n_bins * 250;
    }

    double finish_all(const double* sum, double even) const {
        Finish<kernel> finish = finisher();
        for (std::int64_t i = 0; i < rows_.n; ++i) finish(i, sum[i]);
        return finish.linear() + even;
    }

    double by_pairs() {
        const double even = sum_few_rows<kernel>(scratch_, order_.level_begin, rows_.n, !rows_.weight);
        return finish_all(scratch_.sum.data(), factor_ * even);
    }

    double by_order() {
        const std::int64_t n = order_.n;
        scratch_.sum.resize(n);
        std::fill_n(scratch_.sum.data(), n, 0.0);
        auto copy = [&](Padded& to, const double* column, bool times_weight) {
            to.resize(n);
            over_rows([&](std::int64_t p) {
                to[p] = (column ? column[order_.row[p]] : 1.0) * (times_weight ? scratch_.better[p] : 1.0);
            });
            return to.data();
        };
        const PairColumns rows{rows_.score, scratch_.better.data(),
                               copy(scratch_.worse, task_.columns.can_be_worse, true),
                               copy(scratch_.gain, task_.columns.gain, false), scratch_.direction.data()};
        double* sum = scratch_.sum.data();
        const double even =
            task_.columns.gain
                ? OrderedSums<kernel, true>(rows, order_.level_begin, factor_, sum).run(n, n_threads_)
                : OrderedSums<kernel, false>(rows, order_.level_begin, factor_, sum).run(n, n_threads_);
        return finish_all(sum, even);
    }

    // place(p) is where the row at label position p lies in the line.
    template <class Where>
    double by_bins(Where&& place) {
        ScoreBins bins(rows_.score, rows_.n, n_threads_);
        const std::int64_t n_groups = task_.groups.n_groups[q_];
        if (n_groups > 16 && n_groups * bins.table() > 4 * rows_.n) return many_groups();
        if (!rows_.group) {
            scratch_.group.resize(rows_.n);
            over_rows([&](std::int64_t p) { scratch_.group[p] = task_.groups.group[order_.row[p]]; });
            rows_.group = scratch_.group.data();
        }
        const double value = LevelSums<kernel>(rows_, task_.groups, q_, bins).run(finisher());
        return value - take_ties_off(place);
    }

    // Bins so many that a table for each group would not fit: label order needs few at a time.
    double many_groups() {
        return in_label_order([this] { return by_order(); });
    }

    template <class Where>
    double take_ties_off(Where&& place) const {
        const std::int64_t begin = task_.groups.tie_begin[q_], end = task_.groups.tie_begin[q_ + 1];
        constexpr std::int64_t chunk = 256;
        const std::int64_t chunks = (end - begin + chunk - 1) / chunk;
        std::vector<double> values(chunks);
        parallel_for(chunks, n_threads_, [&](std::size_t c) {
            LogisticScratch scratch;
            for (std::int64_t t = begin + c * chunk; t < std::min<std::int64_t>(end, begin + (c + 1) * chunk); ++t)
                values[c] += take_tie_off(place, task_.groups.ties[2 * t], task_.groups.ties[2 * t + 1], scratch);
        });
        return std::accumulate(values.begin(), values.end(), 0.0);
    }

    template <class Where>
    double take_tie_off(Where&& place, std::int64_t first, std::int64_t n, LogisticScratch& scratch) const {
        for (Padded* column : {&scratch.score, &scratch.better, &scratch.direction}) column->resize(n);
        while (static_cast<std::int64_t>(scratch.before.size()) < n)
            scratch.before.push_back(static_cast<std::int32_t>(scratch.before.size()));
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t i = place(first + k);
            scratch.score[k] = rows_.score[i];
            scratch.better[k] = rows_.weight_of<double>(i);
            scratch.direction[k] = rows_.direction ? rows_.direction[i] : 1.0;
        }
        const double even = sum_few_rows<kernel>(scratch, scratch.before.data(), n, !rows_.weight);
        const Finish<kernel> finish = finisher();
        for (std::int64_t k = 0; k < n; ++k) finish.take_off(place(first + k), scratch.sum[k]);
        return factor_ * even;
    }
};

template <Kernel kernel>
double run_queries(const LogisticTask& task) {
    std::vector<double> values(task.ranking.n_queries);
    detail::for_each_query(
        task.ranking, task.n_threads, [](std::int64_t) { return LogisticScratch{}; },
        [&](std::int64_t q, LogisticScratch& scratch, int n_threads) {
            values[q] = LogisticQuery<kernel>(task, q, scratch, n_threads).run();
        });
    return std::accumulate(values.begin(), values.end(), 0.0);
}

inline double run_logistic(const LogisticTask& task) {
    return task.balance ? run_queries<slope_kernel>(task) : run_queries<curvature_kernel>(task);
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
