// The sums of score_bins.hpp for a few rows, pair by pair, four rows at a time.
//
// Rows are numbered by label; row p makes a pair with every row q < begin[p]. No include guard, as for lanes.hpp.

namespace rankwise::RANKWISE_INSTRUCTIONS {

// A vector with room to read and write past its end, where the numbers are zero.
class Padded {
public:
    void resize(std::int64_t n) {
        numbers_.resize(n + 2 * lanes);
        std::fill(numbers_.begin() + n, numbers_.end(), 0.0);
    }
    double* data() { return numbers_.data(); }
    double& operator[](std::int64_t i) { return numbers_[i]; }

private:
    std::vector<double> numbers_;
};

// log of a product of many positive numbers; each number's logarithm is at most `largest` in size.
class LogProduct {
public:
    explicit LogProduct(double largest)
        : period_(std::max(1, static_cast<int>(650 / (lanes * largest)))), left_(period_) {}
    RANKWISE_INLINE void multiply(Lanes factor) {
        product_ *= factor;
        if (--left_ == 0) flush();
    }
    double log() {
        flush();
        return sum_;
    }

private:
    int period_, left_;
    Lanes product_ = all(1.0);
    double sum_ = 0;

    void flush() {
        sum_ += std::log((product_[0] * product_[1]) * (product_[2] * product_[3]));
        product_ = all(1.0);
        left_ = period_;
    }
};

// Pairs by way of e^s, one division for four pairs and no logarithm: scores within `narrow_range` of each other.
constexpr double narrow_range = 40.0;

class NarrowPairs {
public:
    Padded amount, sum;  // u_i, and the sum over partners j of u_j kernel(s_i - s_j)

    // Scores, about the middle of their range.
    void set(const double* score, std::int64_t n, double middle) {
        n_ = static_cast<std::int32_t>(n);
        for (Padded* column : {&grown_, &root_, &amount, &sum}) column->resize(n);
        for (std::int64_t i = 0; i < n; ++i) grown_[i] = score[i] - middle;
        for (std::int64_t i = 0; i < n + lanes; i += lanes) {
            const Lanes root = exponential(load(grown_.data() + i) * -0.5);
            store(root_.data() + i, root);
            store(grown_.data() + i, 1.0 / (root * root));
            store(sum.data() + i, all(0.0));
        }
    }

    // Slopes, with u_i = 1; returns the sum of the even kernel over the pairs.
    double slopes(const std::int32_t* begin, double range) {
        LogProduct product(lanes * (range / 2 + 1));
        for_blocks<false>(begin, &product);
        return product.log();
    }
    void curvatures(const std::int32_t* begin) { for_blocks<true>(begin, nullptr); }

private:
    Padded grown_, root_;  // e^s, e^(-s/2)
    std::int32_t n_ = 0;

    // Four rows p against all q; those q that make a pair with all four need no masks.
    template <bool curved>
    void for_blocks(const std::int32_t* begin, LogProduct* product) {
        for (std::int32_t p = 0; p < n_; p += lanes) {
            std::int32_t ends[lanes], least = n_, most = 0;
            for (int k = 0; k < lanes; ++k) {
                ends[k] = p + k < n_ ? begin[p + k] : 0;
                least = std::min(least, ends[k]);
                most = std::max(most, ends[k]);
            }
            if (most > 0) block<curved>(p, ends, least / lanes * lanes, most, product);
        }
    }

    template <bool curved>
    void block(std::int32_t p, const std::int32_t* ends, std::int32_t full, std::int32_t most, LogProduct* product) {
        Lanes grown[lanes], root[lanes], given[lanes], received[lanes];
        for (int k = 0; k < lanes; ++k) {
            grown[k] = all(grown_[p + k]);
            root[k] = all(root_[p + k]);
            given[k] = all(amount[p + k]);
            received[k] = all(0.0);
        }
        const Lanes roots = (root[0] * root[1]) * (root[2] * root[3]);
        std::int32_t q = 0;
        for (; q < full; q += lanes) {
            Lanes total[lanes], value[lanes];
            const Lanes q_grown = load(grown_.data() + q);
            const Lanes product_of_totals = kernels<curved>(grown, q_grown, total, value);
            add<curved>(q, value, given, received);
            if constexpr (!curved) {
                const Lanes q_root = load(root_.data() + q), square = q_root * q_root;
                product->multiply(product_of_totals * roots * (square * square));
            }
        }
        for (; q < most; q += lanes) {
            Lanes total[lanes], value[lanes], factor = all(1.0);
            const Lanes q_grown = load(grown_.data() + q), q_root = load(root_.data() + q);
            kernels<curved>(grown, q_grown, total, value);
            const Lanes number{q + 0.0, q + 1.0, q + 2.0, q + 3.0};
            for (int k = 0; k < lanes; ++k) {
                const Lanes end = all(ends[k]);
                value[k] = where_less(number, end, value[k], all(0.0));
                factor *= where_less(number, end, total[k] * root[k] * q_root, all(1.0));
            }
            add<curved>(q, value, given, received);
            if constexpr (!curved) product->multiply(factor);
        }
        for (int k = 0; k < lanes; ++k) sum[p + k] += sum_of(received[k]);
    }

    // total = e^s_p + e^s_q, value = the kernel; returns the product of the totals.
    template <bool curved>
    static RANKWISE_INLINE Lanes kernels(const Lanes* p, Lanes q, Lanes* total, Lanes* value) {
        for (int k = 0; k < lanes; ++k) total[k] = p[k] + q;
        const Lanes first = total[0] * total[1], second = total[2] * total[3], product = first * second;
        const Lanes inverse = (curved ? all(1.0) : q) / product;
        const Lanes of_first = inverse * second, of_second = inverse * first;
        value[0] = of_first * total[1];
        value[1] = of_first * total[0];
        value[2] = of_second * total[3];
        value[3] = of_second * total[2];
        for (int k = 0; k < lanes; ++k) value[k] = curved ? value[k] * value[k] * (p[k] * q) : 0.5 - value[k];
        return product;
    }

    template <bool curved>
    RANKWISE_INLINE void add(std::int32_t q, const Lanes* value, const Lanes* given, Lanes* received) {
        Lanes back = load(sum.data() + q);
        const Lanes q_amount = load(amount.data() + q);
        for (int k = 0; k < lanes; ++k) {
            received[k] += curved ? value[k] * q_amount : value[k];
            back = curved ? back + value[k] * given[k] : back - value[k];
        }
        store(sum.data() + q, back);
    }
};

// Pairs of any scores and any weights: row p as the better one of a pair weighs better[p], row q as the worse one
// worse[q], and with gains the pair weighs their difference too. Null pointers stand for ones.
struct PairColumns {
    const double *score, *better, *worse, *gain, *direction;
};

// Adds to sum_i the sum over partners j of w_ij direction_j kernel(s_i - s_j); returns the sum of w_ij times the even
// kernel for slopes. Columns are read, and `sum` written, up to three entries past row n - 1.
template <Kernel kernel, bool with_gain>
double sum_any_pairs(const PairColumns& rows, const std::int32_t* begin, std::int64_t n, double* sum) {
    Lanes value = all(0.0);
    for (std::int64_t p = 0; p < n; ++p) {
        const std::int32_t end = begin[p];
        Lanes received = all(0.0);
        for (std::int32_t q = 0; q < end; q += lanes) {
            const Lanes d = rows.score[p] - load(rows.score + q), size = where_less(d, all(0.0), 0.0 - d, d);
            const Lanes e = exponential(0.0 - where_less(size, all(700.0), size, all(700.0))), share = 1.0 / (1.0 + e);
            Lanes weight = rows.better[p] * load(rows.worse + q);
            if constexpr (with_gain) weight *= rows.gain[p] - load(rows.gain + q);
            const Lanes number{q + 0.0, q + 1.0, q + 2.0, q + 3.0};
            weight = where_less(number, all(end), weight, all(0.0));
            if constexpr (kernel == slope_kernel) {
                const Lanes half = (0.5 - 0.5 * e) * share * weight, slope = where_less(d, all(0.0), 0.0 - half, half);
                value += weight * (0.5 * size + log_of_one_plus(e));
                received += slope;
                store(sum + q, load(sum + q) - slope);
            } else {
                const Lanes curvature = weight * (e * share * share);
                received += curvature * load(rows.direction + q);
                store(sum + q, load(sum + q) + curvature * rows.direction[p]);
            }
        }
        sum[p] += sum_of(received);
    }
    return sum_of(value);
}

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
