// Maximize  D(z) = b'z - 1/2 z'Qz  over the simplex  z >= 0, sum z = 1,  for a dense symmetric PSD matrix Q.
//
// With the gradient g = b - Qz the duality gap is  max_i g_i - z'g, which the solver certifies. Each iteration (1)
// climbs to the maximum of D on the current face, the z of the same support, by Newton steps that drop every coordinate
// that reaches zero, (2) prices all coordinates and stops if the gap is small, (3) moves weight to the coordinate of
// largest gradient by the best two-coordinate step. Step (3) is an ascent even if the linear algebra fails, so bad
// conditioning costs time, never validity.
//
// The error of a gradient in double precision is about 1e-16 max|Q|. If that exceeds the tolerance, the same code
// continues in double-double precision (Extended), for z and for the factor.
//
// An iteration with s of t planes in the support costs O(s^2 + t s), a warm start O(s^3 + t s).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "extended.hpp"

namespace rankwise {

// The top-left n x n block of a row-major matrix with `stride` numbers per row. Q_low, if given, has the same
// layout and holds the low parts of the entries of Q.
struct SimplexProgram {
    const double* Q;
    const double* Q_low;
    std::size_t stride;
    const double* b;
    std::size_t n;

    template <class Real>
    Real at(std::size_t i, std::size_t j) const {
        const std::size_t place = i * stride + j;
        if constexpr (std::is_same_v<Real, double>)
            return Q[place];
        else
            return Q_low ? Real(Q[place], Q_low[place]) : Real(Q[place]);
    }
    double diagonal(std::size_t i) const { return Q[i * stride + i]; }
};

// z_low holds the low parts of the entries of z.
struct SimplexSolution {
    std::vector<double> z, z_low;
    double gap;
    std::int64_t n_iter;
};

// term(0) + ... + term(n - 1) in four partial sums, which avoid a chain of dependent additions.
template <class Real, class Term>
Real sum_of(std::size_t n, Term&& term) {
    Real sums[4] = {0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += term(i + lane);
    for (; i < n; ++i) sums[0] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Real>
Real dot(const Real* x, const Real* y, std::size_t n) {
    return sum_of<Real>(n, [&](std::size_t i) { return x[i] * y[i]; });
}

template <class Real>
void add_multiple(Real factor, const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <class Real>
constexpr double unit_roundoff() {
    constexpr double half_digits = std::numeric_limits<double>::epsilon();
    return std::is_same_v<Real, double> ? half_digits : half_digits * half_digits;
}

// Cholesky factor R'R of the Hessian on a face. Moves that keep sum z = 1 are spanned by e_i - e_base, so
//     H_ij = Q_ij - Q_i,base - Q_base,j + Q_base,base       for the members i, j (the face without its base).
// The base is the plane of smallest norm: subtracting a large plane would cancel the digits of small ones. Invariant: R
// is upper triangular with a positive diagonal; R'R = H + a nonnegative diagonal matrix that is zero except at members
// that depend on earlier ones.
template <class Real>
class FaceFactor {
public:
    explicit FaceFactor(const SimplexProgram& program) : program_(program) {}

    std::size_t base() const { return base_; }
    const std::vector<std::size_t>& members() const { return members_; }
    bool updated() const { return updated_; }

    // The face must not be empty.
    void reset(std::vector<std::size_t> face) {
        std::sort(face.begin(), face.end(), [&](std::size_t i, std::size_t j) {
            const double one = program_.diagonal(i), other = program_.diagonal(j);
            return one != other ? one < other : i < j;
        });
        base_ = face.front();
        members_.clear();
        reserve(face.size() + 8);
        for (std::size_t k = 1; k < face.size(); ++k) append(face[k]);
        updated_ = false;
    }

    void insert(std::size_t plane) {
        updated_ = true;
        if (program_.diagonal(plane) < base_shrinks_by * program_.diagonal(base_)) {
            auto face = members_;
            face.push_back(base_);
            face.push_back(plane);
            reset(std::move(face));
        } else {
            append(plane);
        }
    }

    // The last plane stays: a face is never empty.
    void remove(std::size_t plane) {
        if (members_.empty()) return;
        updated_ = true;
        if (plane == base_) {
            swap_base_with_first_member();
            remove_member(0);
        } else {
            remove_member(std::find(members_.begin(), members_.end(), plane) - members_.begin());
        }
    }

    // x := (R'R)^-1 x, one number per member.
    void solve(Real* x) const {
        const std::size_t size = members_.size();
        forward(x);
        for (std::size_t k = size; k-- > 0;) x[k] = (x[k] - dot(&R(k, k) + 1, x + k + 1, size - k - 1)) / R(k, k);
    }

private:
    static constexpr double base_shrinks_by = 0.01;
    static constexpr double dependent_below = 32 * unit_roundoff<Real>();
    static constexpr double smallest_pivot = 1e-300;

    Real& R(std::size_t i, std::size_t j) { return factor_[i * capacity_ + j]; }
    const Real& R(std::size_t i, std::size_t j) const { return factor_[i * capacity_ + j]; }
    Real q(std::size_t i, std::size_t j) const { return program_.at<Real>(i, j); }

    Real hessian(std::size_t i, std::size_t j) const {
        return (q(i, j) - q(i, base_)) - (q(base_, j) - q(base_, base_));
    }

    void forward(Real* x) const {
        const std::size_t size = members_.size();
        for (std::size_t k = 0; k < size; ++k) {
            x[k] /= R(k, k);
            add_multiple(-x[k], &R(k, k) + 1, x + k + 1, size - k - 1);
        }
    }

    void reserve(std::size_t size) {
        if (size <= capacity_) return;
        std::vector<Real> grown(size * size);
        for (std::size_t k = 0; k < members_.size(); ++k)
            std::copy(&R(k, k), &R(k, k) + (members_.size() - k), &grown[k * size + k]);
        factor_.swap(grown);
        capacity_ = size;
    }

    // A dependent plane gets the smallest pivot that rounding can distinguish from zero: the Newton step then goes far
    // along the flat direction, up to a bound.
    void append(std::size_t plane) {
        const std::size_t size = members_.size();
        if (size == capacity_) reserve(2 * size + 8);
        column_.resize(size);
        for (std::size_t k = 0; k < size; ++k) column_[k] = hessian(members_[k], plane);
        forward(column_.data());
        for (std::size_t k = 0; k < size; ++k) R(k, size) = column_[k];
        const Real diagonal = hessian(plane, plane);
        const Real pivot = diagonal - dot(column_.data(), column_.data(), size);
        const double scale = std::max(double(diagonal), dependent_below * program_.diagonal(plane));
        const Real least = std::max(dependent_below * scale, smallest_pivot);
        using std::sqrt;
        R(size, size) = sqrt(pivot > least ? pivot : least);
        members_.push_back(plane);
    }

    // With q the first member, e_i - e_q = (e_i - e_base) - (e_q - e_base): column q, which has one nonzero, is
    // subtracted from the others, so only the first row changes.
    void swap_base_with_first_member() {
        const Real corner = R(0, 0);
        for (std::size_t j = 1; j < members_.size(); ++j) R(0, j) = corner - R(0, j);
        std::swap(base_, members_.front());
    }

    // Without a column R has a subdiagonal from there on; Givens rotations of neighboring rows remove it.
    void remove_member(std::size_t position) {
        const std::size_t size = members_.size() - 1;
        members_.erase(members_.begin() + position);
        for (std::size_t i = 0; i < size + 1; ++i) {
            const std::size_t first = std::max(position, i == 0 ? 0 : i - 1);
            for (std::size_t j = first; j < size; ++j) R(i, j) = R(i, j + 1);
        }
        for (std::size_t k = position; k < size; ++k) rotate_rows(k, size);
    }

    void rotate_rows(std::size_t k, std::size_t size) {
        using std::sqrt;
        const Real length = sqrt(R(k, k) * R(k, k) + R(k + 1, k) * R(k + 1, k));
        const Real cosine = R(k, k) / length, sine = R(k + 1, k) / length;
        Real* upper = &R(k, 0);
        Real* lower = &R(k + 1, 0);
        upper[k] = length;
        for (std::size_t j = k + 1; j < size; ++j) {
            const Real above = upper[j], below = lower[j];
            upper[j] = cosine * above + sine * below;
            lower[j] = cosine * below - sine * above;
        }
    }

    const SimplexProgram& program_;
    std::size_t base_ = 0;
    std::vector<std::size_t> members_;
    std::vector<Real> factor_, column_;
    std::size_t capacity_ = 0;
    bool updated_ = false;
};

// g = b - Qz.
template <class Real>
std::vector<Real> simplex_gradient(const SimplexProgram& program, const std::vector<Real>& z) {
    std::vector<Real> gradient(program.b, program.b + program.n);
    for (std::size_t i = 0; i < program.n; ++i) {
        if (!(z[i] > Real(0))) continue;
        const Real step = -z[i];
        for (std::size_t j = 0; j < program.n; ++j) gradient[j] += step * program.at<Real>(i, j);
    }
    return gradient;
}

// Summed as z'(max g - g): no term is negative, so nothing cancels.
template <class Real>
double simplex_gap(const std::vector<Real>& z, const std::vector<Real>& gradient) {
    const Real top = *std::max_element(gradient.begin(), gradient.end());
    double gap = 0;
    for (std::size_t i = 0; i < z.size(); ++i)
        if (z[i] > Real(0)) gap += double(z[i]) * double(top - gradient[i]);
    return gap;
}

// A bound on the rounding error of an entry of the gradient computed in type Real.
template <class Real>
double gradient_error(const SimplexProgram& program, const std::vector<Real>& z) {
    std::vector<double> size(program.n);
    for (std::size_t j = 0; j < program.n; ++j) size[j] = std::abs(program.b[j]);
    for (std::size_t i = 0; i < program.n; ++i) {
        const double weight = double(z[i]);
        if (!(weight > 0)) continue;
        for (std::size_t j = 0; j < program.n; ++j) size[j] += weight * std::abs(program.at<double>(i, j));
    }
    return 16 * unit_roundoff<Real>() * *std::max_element(size.begin(), size.end());
}

// Decisions (steps, bounds, gains) are in double; z, gradients and directions are of type Real.
template <class Real>
class SimplexSolver {
public:
    struct Point {
        std::vector<Real> z;
        double gap;
        std::int64_t n_iter;
    };

    SimplexSolver(const SimplexProgram& program, const std::vector<double>& start)
        : program_(program), factor_(program), z_(start.begin(), start.end()) {
        make_feasible();
        factor_.reset(support());
    }

    Point solve(double tol, std::int64_t max_iter) {
        Point best{z_, infinity, 0};
        std::int64_t stalled = 0;
        for (std::int64_t iteration = 0;; ++iteration) {
            climb_face(tol);
            rescale();
            gradient_ = simplex_gradient(program_, z_);
            const double gap = simplex_gap(z_, gradient_);
            stalled = gap < enough_progress * best.gap ? 0 : stalled + 1;
            if (gap < best.gap) best.z = z_, best.gap = gap;
            best.n_iter = iteration;
            if (best.gap <= tol || iteration >= max_iter || hopeless(stalled, best.gap)) break;
            if (!move_pair()) break;
        }
        return best;
    }

private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double enough_progress = 0.9;
    static constexpr std::int64_t patience = 10;

    // The gap need not decrease in every iteration, but only rounding keeps it from decreasing for long.
    bool hopeless(std::int64_t stalled, double gap) const {
        if (stalled < patience || stalled % patience != 0) return false;
        const std::int64_t limit = patience * patience + 2 * std::int64_t(factor_.members().size());
        return stalled > limit || gap <= gradient_error(program_, z_);
    }

    // An infeasible start (all zero, or not finite) becomes the best vertex.
    void make_feasible() {
        double total = 0;
        for (Real& weight : z_) {
            if (!(weight > Real(0))) weight = 0;
            total += double(weight);
        }
        if (total > 0 && total < infinity)
            rescale();
        else
            start_at_best_vertex();
    }

    void start_at_best_vertex() {
        std::size_t best = 0;
        auto value = [&](std::size_t i) { return program_.b[i] - 0.5 * program_.diagonal(i); };
        for (std::size_t i = 1; i < program_.n; ++i)
            if (value(i) > value(best)) best = i;
        std::fill(z_.begin(), z_.end(), Real(0));
        z_[best] = 1;
    }

    void rescale() {
        const Real total = std::accumulate(z_.begin(), z_.end(), Real(0));
        for (Real& weight : z_)
            if (weight > Real(0)) weight /= total;
    }

    std::vector<std::size_t> support() const {
        std::vector<std::size_t> planes;
        for (std::size_t i = 0; i < z_.size(); ++i)
            if (z_[i] > Real(0)) planes.push_back(i);
        return planes;
    }

    // Newton steps until no bound stops a step and the spread of the gradient on the face no longer halves. Each step
    // recomputes the gradient, so the steps after the first are iterative refinement.
    void climb_face(double tol) {
        double previous = infinity;
        while (!factor_.members().empty()) {
            face_ = factor_.members();
            face_.push_back(factor_.base());
            const double spread = face_gradient();
            if (!(spread > 0.1 * tol) || !(spread < 0.5 * previous) || !newton_direction()) return;
            previous = step_along_direction() ? infinity : spread;
        }
    }

    // Fills slope_ with the gradient on the face; returns its largest less its smallest entry.
    double face_gradient() {
        slope_.clear();
        for (std::size_t i : face_) {
            auto term = [&](std::size_t k) { return program_.at<Real>(i, face_[k]) * z_[face_[k]]; };
            slope_.push_back(program_.b[i] - sum_of<Real>(face_.size(), term));
        }
        const auto [least, most] = std::minmax_element(slope_.begin(), slope_.end());
        return double(*most - *least);
    }

    // Scaled to unit length, so that the curvature along a short direction does not underflow.
    bool newton_direction() {
        const std::size_t size = factor_.members().size();
        direction_.resize(size + 1);
        for (std::size_t k = 0; k < size; ++k) direction_[k] = slope_[k] - slope_[size];
        factor_.solve(direction_.data());
        direction_[size] = -std::accumulate(direction_.begin(), direction_.end() - 1, Real(0));
        double length = 0;
        for (const Real& entry : direction_) length += std::abs(double(entry));
        if (!(length > 0) || !std::isfinite(length)) return false;
        for (Real& entry : direction_) entry /= Real(length);
        return true;
    }

    // Exact line search up to the first bound. Returns whether a coordinate became zero.
    bool step_along_direction() {
        const double rise = double(dot(slope_.data(), direction_.data(), face_.size()));
        const double curvature = curvature_along_direction();
        const double wanted = curvature > 0 ? rise / curvature : infinity;
        const auto [bound, blocking] = first_bound();
        const double step = std::min(wanted, bound);
        if (!(step > 0) || step == infinity) return false;
        for (std::size_t k = 0; k < face_.size(); ++k) z_[face_[k]] += Real(step) * direction_[k];
        if (bound <= wanted) z_[blocking] = 0;
        return drop_empty();
    }

    std::pair<double, std::size_t> first_bound() const {
        std::pair<double, std::size_t> first{infinity, face_.front()};
        for (std::size_t k = 0; k < face_.size(); ++k) {
            const double rate = -double(direction_[k]), weight = double(z_[face_[k]]);
            if (rate > 0 && weight / rate < first.first) first = {weight / rate, face_[k]};
        }
        return first;
    }

    bool drop_empty() {
        bool dropped = false;
        for (std::size_t plane : face_) {
            if (z_[plane] > Real(0)) continue;
            z_[plane] = 0;
            factor_.remove(plane);
            dropped = true;
        }
        return dropped;
    }

    // Subtracts the row of the base: a common part of all rows has no effect, but may be large.
    double curvature_along_direction() const {
        const std::size_t base = factor_.base();
        auto row_times_direction = [&](std::size_t k) {
            return sum_of<Real>(face_.size(), [&, i = face_[k]](std::size_t l) {
                const std::size_t j = face_[l];
                return (program_.at<Real>(i, j) - program_.at<Real>(base, j)) * direction_[l];
            });
        };
        auto term = [&](std::size_t k) { return row_times_direction(k) * direction_[k]; };
        return double(sum_of<Real>(face_.size(), term));
    }

    // Moves weight to the plane of largest gradient from the plane that gives the largest gain.
    bool move_pair() {
        const std::size_t to = std::max_element(gradient_.begin(), gradient_.end()) - gradient_.begin();
        std::size_t from = to;
        double best_gain = -1, best_step = 0;
        for (std::size_t i = 0; i < program_.n; ++i) {
            const double rise = double(gradient_[to] - gradient_[i]), weight = double(z_[i]);
            if (!(weight > 0) || !(rise > 0)) continue;
            const double curvature = pair_curvature(to, i);
            const double step = curvature * weight > rise ? rise / curvature : weight;
            const double gain = step * (rise - 0.5 * step * curvature);
            if (gain > best_gain) best_gain = gain, best_step = step, from = i;
        }
        if (from == to || !(best_step > 0)) return false;
        transfer(from, to, best_step);
        return true;
    }

    double pair_curvature(std::size_t i, std::size_t j) const {
        auto q = [&](std::size_t row, std::size_t column) { return program_.at<Real>(row, column); };
        return double((q(i, i) - q(i, j)) - (q(j, i) - q(j, j)));
    }

    // If the plane of largest gradient is in the support, the gradient on the face is not constant: the factor has lost
    // accuracy by updates.
    void transfer(std::size_t from, std::size_t to, double step) {
        const bool entering = !(z_[to] > Real(0));
        if (entering) factor_.insert(to);
        const bool emptied = !(Real(step) < z_[from]);
        z_[to] += emptied ? z_[from] : Real(step);
        z_[from] = emptied ? Real(0) : z_[from] - Real(step);
        if (emptied) factor_.remove(from);
        if (!entering && factor_.updated()) factor_.reset(support());
    }

    const SimplexProgram& program_;
    FaceFactor<Real> factor_;
    std::vector<Real> z_, gradient_;
    std::vector<std::size_t> face_;
    std::vector<Real> slope_, direction_;
};

inline double extended_gap(const SimplexProgram& program, const std::vector<double>& z) {
    const std::vector<Extended> exact(z.begin(), z.end());
    return simplex_gap(exact, simplex_gradient(program, exact));
}

using RoughPoint = SimplexSolver<double>::Point;

// A gap below the error of the gradient certifies nothing: it is recomputed in double-double precision.
inline RoughPoint solve_in_double(const SimplexProgram& program, const double* start, double tol,
                                  std::int64_t max_iter) {
    auto point = SimplexSolver<double>(program, {start, start + program.n}).solve(tol, max_iter);
    if (!(gradient_error(program, point.z) <= tol)) point.gap = extended_gap(program, point.z);
    return point;
}

inline SimplexSolution extend(const SimplexProgram& program, const RoughPoint& rough, double tol,
                              std::int64_t max_iter) {
    const auto fine = SimplexSolver<Extended>(program, rough.z).solve(tol, max_iter - rough.n_iter);
    SimplexSolution solution{{}, {}, fine.gap, rough.n_iter + fine.n_iter};
    for (const Extended& weight : fine.z) {
        solution.z.push_back(weight.high);
        solution.z_low.push_back(weight.low);
    }
    return solution;
}

// Double precision as far as rounding permits, then double-double precision from there. The gap is that of z + z_low.
inline SimplexSolution simplex_qp_extended(const SimplexProgram& program, const double* start, double tol,
                                           std::int64_t max_iter) {
    const auto rough = solve_in_double(program, start, tol, max_iter);
    if (rough.gap <= tol || rough.n_iter >= max_iter)
        return {rough.z, std::vector<double>(program.n), rough.gap, rough.n_iter};
    return extend(program, rough, tol, max_iter);
}

// For a caller that keeps z in double precision. Rounding z + z_low to z costs about 1e-16 max|Q| of gap, so
// the point found in double precision may be the better one. The gap is that of z, and z_low is empty.
inline SimplexSolution simplex_qp(const SimplexProgram& program, const double* start, double tol,
                                  std::int64_t max_iter) {
    const auto rough = solve_in_double(program, start, tol, max_iter);
    if (rough.gap <= tol || rough.n_iter >= max_iter) return {rough.z, {}, rough.gap, rough.n_iter};
    auto solution = extend(program, rough, tol, max_iter);
    solution.gap = extended_gap(program, solution.z);
    if (rough.gap < solution.gap) solution.z = rough.z, solution.gap = rough.gap;
    solution.z_low.clear();
    return solution;
}

}  // namespace rankwise
