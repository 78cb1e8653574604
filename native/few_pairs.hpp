// The sums of score_bins.hpp for a few rows, pair by pair, four rows at a time.
//
// Rows are numbered by label; row p is the better one of a pair with every row q < begin[p].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "score_bins.hpp"
#include "smooth_kernels.hpp"

namespace rankwise::RANKWISE_INSTRUCTIONS {

// A vector padded with zeros, so that four entries may be read and written from any index.
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

// The logarithm of a product of many positive numbers, each of which has a logarithm of absolute value at most
// `largest`.
class LogProduct {
public:
    explicit LogProduct(double largest) : period_(std::max(1, static_cast<int>(700 / largest))), left_(period_) {}
    RANKWISE_INLINE void multiply(Lanes factor) {
        product_ *= factor;
        if (--left_ == 0) flush();
    }
    double log() {
        flush();
        return sum_of(exponents_) * 0.6931471805599453 +
               std::log((product_[0] * product_[1]) * (product_[2] * product_[3]));
    }

private:
    int period_, left_;
    Lanes product_ = all(1.0), exponents_ = all(0.0);

    void flush() {
        exponents_ += take_exponents(product_);
        left_ = period_;
    }
};

// Pairs of scores within `narrow_range` of each other are summed by e^s, with one division for four pairs and no
// logarithm.
constexpr double narrow_range = 40.0;

// The sums at row i: the derivatives of the losses of its pairs (pushes, u = 1), the sum of u_j curvature(s_i - s_j),
// or both with u = 1.
enum class Asked { pushes, curvature, both };
template <Kernel kernel>
constexpr Asked asked_of = kernel == curvature_kernel ? Asked::curvature : Asked::pushes;

class NarrowPairs {
public:
    Padded amount, sum, curved;  // u; the sums; the sums of the curvature if both are asked for

    // Takes scores relative to the middle of their range. A row with can_be_worse 0 (null pointer: all have 1) has a
    // score of minus infinity as the worse one of a pair.
    void set(const double* score, const double* can_be_worse, std::int64_t n, double middle) {
        n_ = static_cast<std::int32_t>(n);
        for (Padded* column : {&grown_, &shrunk_, &worse_, &amount, &sum, &curved}) column->resize(n);
        for (std::int64_t i = 0; i < n; ++i) grown_[i] = score[i] - middle;
        for (std::int64_t i = 0; i < n + lanes; i += lanes) {
            const Lanes grown = exponential(load(grown_.data() + i));
            store(grown_.data() + i, grown);
            store(shrunk_.data() + i, 1.0 / grown);
            store(sum.data() + i, all(0.0));
            store(curved.data() + i, all(0.0));
        }
        for (std::int64_t i = 0; i < n; ++i) worse_[i] = can_be_worse ? can_be_worse[i] * grown_[i] : grown_[i];
    }

    // Row p makes a pair with every row q < begin[p] - offset. Returns the loss if pushes are asked for.
    template <Asked asked>
    double run(const std::int32_t* begin, std::int32_t offset, double range) {
        LogProduct product(lanes * (range + 1));
        for_blocks<asked>(begin, offset, product);
        return product.log();
    }

private:
    Padded grown_, shrunk_, worse_;  // e^s and e^-s, and e^s as the worse one of a pair
    std::int32_t n_ = 0;

    // Four rows p against all q. Rows q that make a pair with all four need no masks.
    template <Asked asked>
    void for_blocks(const std::int32_t* begin, std::int32_t offset, LogProduct& product) {
        for (std::int32_t p = 0; p < n_; p += lanes) {
            std::int32_t ends[lanes], least = n_, most = 0;
            for (int k = 0; k < lanes; ++k) {
                ends[k] = p + k < n_ ? std::max(0, begin[p + k] - offset) : 0;
                least = std::min(least, ends[k]);
                most = std::max(most, ends[k]);
            }
            if (most > 0) block<asked>(p, ends, least / lanes * lanes, most, product);
        }
    }

    template <Asked asked>
    void block(std::int32_t p, const std::int32_t* ends, std::int32_t full, std::int32_t most, LogProduct& product) {
        Four rows;
        for (int k = 0; k < lanes; ++k) {
            rows.grown[k] = all(grown_[p + k]);
            rows.inverse[k] = all(shrunk_[p + k]);
            rows.given[k] = all(amount[p + k]);
            rows.received[k] = rows.curved[k] = all(0.0);
        }
        const Lanes inverses = (rows.inverse[0] * rows.inverse[1]) * (rows.inverse[2] * rows.inverse[3]);
        std::int32_t q = 0;
        for (; q < full; q += lanes) {
            Lanes total[lanes], value[lanes];
            const Lanes totals = kernels<asked>(rows.grown, load(worse_.data() + q), total, value);
            add<asked>(q, value, rows);
            if constexpr (asked != Asked::curvature) product.multiply(totals * inverses);
        }
        for (; q < most; q += lanes) {
            Lanes total[lanes], value[lanes], factor = all(1.0);
            kernels<asked>(rows.grown, load(worse_.data() + q), total, value);
            const Lanes number{q + 0.0, q + 1.0, q + 2.0, q + 3.0};
            for (int k = 0; k < lanes; ++k) {
                const Lanes end = all(ends[k]);
                value[k] = where_less(number, end, value[k], all(0.0));
                factor *= where_less(number, end, total[k] * rows.inverse[k], all(1.0));
            }
            add<asked>(q, value, rows);
            if constexpr (asked != Asked::curvature) product.multiply(factor);
        }
        for (int k = 0; k < lanes; ++k) {
            const double received = sum_of(rows.received[k]);
            sum[p + k] += asked == Asked::curvature ? received : -received;
            if constexpr (asked == Asked::both) curved[p + k] += sum_of(rows.curved[k]);
        }
    }

    // Four better rows: e^s, e^-s, u and their sums.
    struct Four {
        Lanes grown[lanes], inverse[lanes], given[lanes], received[lanes], curved[lanes];
    };

    // total = e^s_p + e^s_q; value = e^s_q / total, the push of the pair, or the curvature. Returns the product of the
    // totals.
    template <Asked asked>
    static RANKWISE_INLINE Lanes kernels(const Lanes* p, Lanes q, Lanes* total, Lanes* value) {
        for (int k = 0; k < lanes; ++k) total[k] = p[k] + q;
        const Lanes first = total[0] * total[1], second = total[2] * total[3], product = first * second;
        const Lanes inverse = (asked == Asked::curvature ? all(1.0) : q) / product;
        const Lanes of_first = inverse * second, of_second = inverse * first;
        value[0] = of_first * total[1];
        value[1] = of_first * total[0];
        value[2] = of_second * total[3];
        value[3] = of_second * total[2];
        for (int k = 0; asked == Asked::curvature && k < lanes; ++k) value[k] = value[k] * value[k] * (p[k] * q);
        return product;
    }

    template <Asked asked>
    RANKWISE_INLINE void add(std::int32_t q, const Lanes* value, Four& rows) {
        Lanes back = load(sum.data() + q);
        const Lanes q_amount = load(amount.data() + q);
        for (int k = 0; k < lanes; ++k) {
            rows.received[k] += asked == Asked::curvature ? value[k] * q_amount : value[k];
            back += asked == Asked::curvature ? value[k] * rows.given[k] : value[k];
        }
        store(sum.data() + q, back);
        if constexpr (asked == Asked::both) {
            Lanes curved_back = load(curved.data() + q);
            const Lanes q_inverse = load(shrunk_.data() + q);
            for (int k = 0; k < lanes; ++k) {
                const Lanes curvature = value[k] * value[k] * (rows.grown[k] * q_inverse);
                rows.curved[k] += curvature;
                curved_back += curvature;
            }
            store(curved.data() + q, curved_back);
        }
    }
};

// Pairs of any scores and weights: the weight of a pair is better[p] worse[q], times the difference of their gains if
// `gain` is not null. Columns are read up to three entries past the last row.
struct PairColumns {
    const double *score, *better, *worse, *gain, *direction;

    PairColumns from(std::int64_t row) const {
        return {score + row, better + row, worse + row, gain ? gain + row : gain,
                direction ? direction + row : direction};
    }
};

class AnyPairs {
public:
    Padded sum;  // at row i, the pushes of its pairs or the sum of w_ij direction_j curvature(s_i - s_j)

    // Row p makes a pair with every row q < begin[p] - offset. Returns the loss with the slope kernel.
    template <Kernel kernel>
    double run(const PairColumns& rows, const std::int32_t* begin, std::int32_t offset, std::int64_t n) {
        sum.resize(n);
        std::fill_n(sum.data(), n, 0.0);
        grow(rows.score, n);
        Lanes loss = all(0.0);
        for (std::int64_t p = 0; p < n; ++p) {
            const std::int32_t end = begin[p] - offset;
            Lanes received = all(0.0);
            for (std::int32_t q = 0; q < end; q += lanes) {
                const Lanes d = rows.score[p] - load(rows.score + q), number{q + 0.0, q + 1.0, q + 2.0, q + 3.0};
                Lanes weight = rows.better[p] * load(rows.worse + q);
                if (rows.gain) weight *= rows.gain[p] - load(rows.gain + q);
                weight = where_less(number, all(end), weight, all(0.0));
                if constexpr (kernel == slope_kernel)
                    push(q, d, fading(p, q, d), weight, received, loss);
                else
                    curve(rows.direction, p, q, fading(p, q, d), weight, received);
            }
            sum[p] += sum_of(received);
        }
        return sum_of(loss);
    }

private:
    Padded grown_, shrunk_;  // e^s and e^-s relative to the middle of the range, if it is narrow
    bool narrow_ = false;

    void grow(const double* score, std::int64_t n) {
        const auto [low, high] = ScoreBins::range(score, n, 1);
        narrow_ = high - low < narrow_range;
        if (!narrow_) return;
        grown_.resize(n);
        shrunk_.resize(n);
        for (std::int64_t i = 0; i < n; ++i) grown_[i] = score[i] - 0.5 * (low + high);
        for (std::int64_t i = 0; i < n; i += lanes) {
            const Lanes grown = exponential(load(grown_.data() + i));
            store(grown_.data() + i, grown);
            store(shrunk_.data() + i, 1.0 / grown);
        }
    }

    // e^-|d|
    RANKWISE_INLINE Lanes fading(std::int64_t p, std::int64_t q, Lanes d) {
        const Lanes zero = all(0.0);
        if (narrow_)
            return where_less(d, zero, grown_[p] * load(shrunk_.data() + q), shrunk_[p] * load(grown_.data() + q));
        const Lanes size = where_less(d, zero, zero - d, d), most = all(700.0);
        return exponential(zero - where_less(size, most, size, most));
    }

    RANKWISE_INLINE void push(std::int64_t q, Lanes d, Lanes e, Lanes weight, Lanes& received, Lanes& loss) {
        const Lanes zero = all(0.0);
        const LogAndInverse of = log_of_one_plus(e);
        const Lanes push = weight * where_less(d, zero, of.inverse, e * of.inverse);
        loss += weight * (where_less(d, zero, zero - d, zero) + of.log);
        received -= push;
        store(sum.data() + q, load(sum.data() + q) + push);
    }

    RANKWISE_INLINE void curve(const double* direction, std::int64_t p, std::int64_t q, Lanes e, Lanes weight,
                               Lanes& received) {
        const Lanes share = 1.0 / (1.0 + e), curvature = weight * (e * share * share);
        received += curvature * load(direction + q);
        store(sum.data() + q, load(sum.data() + q) + curvature * direction[p]);
    }
};

}  // namespace rankwise::RANKWISE_INSTRUCTIONS
