// Products with rows, sums over two rows, pairs left out, the programs on the simplex, and coordinate descent, for
// Python.
#include <type_traits>

#include "column_range.hpp"
#include "dense_product.hpp"
#include "elastic_net.hpp"
#include "pairs_left_out.hpp"
#include "python_arrays.hpp"
#include "row_sums.hpp"
#include "simplex_qp.hpp"

namespace rankwise::python {
namespace {

template <class Value, class Index>
OutputVector csr_matvec(InputVector<Index> indptr, InputVector<Index> indices, InputVector<Value> data,
                        InputVector<double> w, int n_threads) {
    const auto X = csr_view<Value, Index>(indptr, indices, data, w.size());
    OutputVector scores = new_vector(X.n_rows);
    nb::gil_scoped_release unlocked;
    rankwise::csr_matvec(X, w.data(), scores.data(), n_threads);
    return scores;
}

template <class Value, class Index>
OutputVector csr_rmatvec(InputVector<Index> indptr, InputVector<Index> indices, InputVector<Value> data,
                         InputVector<double> c, std::size_t n_features, int n_threads, bool squared) {
    const auto X = csr_view<Value, Index>(indptr, indices, data, n_features);
    check_length(c.size(), X.n_rows, "c needs one entry for each row of the matrix");
    OutputVector gradient = new_vector(n_features);
    nb::gil_scoped_release unlocked;
    if (squared)
        rankwise::csr_rmatvec<true>(X, c.data(), gradient.data(), n_threads);
    else
        rankwise::csr_rmatvec<false>(X, c.data(), gradient.data(), n_threads);
    return gradient;
}

template <class Value, class Index>
nb::tuple csr_scale(InputVector<Index> indptr, InputVector<Index> indices, InputVector<Value> data,
                    std::size_t n_features) {
    const auto X = csr_view<Value, Index>(indptr, indices, data, n_features);
    OutputVector scale = new_vector(n_features);
    auto full = new_vector<bool>(n_features);
    {
        nb::gil_scoped_release unlocked;
        rankwise::csr_scale(X, scale.data());
        rankwise::csr_full_columns(X, full.data());
    }
    return nb::make_tuple(scale, full);
}

template <class Value, class Order>
nb::tuple column_range(DenseArray<Value, Order> X) {
    OutputVector lowest = new_vector(X.shape(1)), highest = new_vector(X.shape(1));
    {
        nb::gil_scoped_release unlocked;
        constexpr bool by_row = std::is_same_v<Order, nb::c_contig>;
        const auto run = by_row ? rankwise::row_major_range<Value> : rankwise::column_major_range<Value>;
        run(X.data(), X.shape(0), X.shape(1), lowest.data(), highest.data());
    }
    return nb::make_tuple(lowest, highest);
}

// X w, or X' c if Transposed, for each of several vectors, one after the other; with the squares of the entries of X if
// Squared. An array in memory order F is the transpose of one in order C.
template <bool Transposed, bool Squared, class Value, class Order>
OutputVector dense_product(DenseArray<Value, Order> X, InputMatrix vectors, int n_threads) {
    check_length(vectors.shape(1), X.shape(Transposed ? 0 : 1), "the vectors do not fit the array");
    const rankwise::detail::Vectors given{vectors.data(), vectors.shape(0), vectors.shape(1)};
    constexpr bool by_row = std::is_same_v<Order, nb::c_contig>;
    const rankwise::DenseView<Value> view{X.data(), X.shape(by_row ? 0 : 1), X.shape(by_row ? 1 : 0)};
    OutputVector product = new_vector(given.count * X.shape(Transposed ? 1 : 0));
    nb::gil_scoped_release unlocked;
    if constexpr (by_row == Transposed)
        rankwise::dense_rmatvec<Squared>(view, given, product.data(), n_threads);
    else
        rankwise::dense_matvec<Squared>(view, given, product.data(), n_threads);
    return product;
}

rankwise::SimplexProgram simplex_program(const InputMatrix& Q, const double* Q_low, const InputVector<double>& b,
                                         const InputVector<double>& z0) {
    const std::size_t n = b.size();
    if (n == 0) throw nb::value_error("b is empty; the simplex needs at least one plane");
    check_length(z0.size(), n, "z0 must have the length of b");
    if (Q.shape(0) < n || Q.shape(1) < n) throw nb::value_error("Q must have at least len(b) rows and len(b) columns");
    return {Q.data(), Q_low, Q.shape(1), b.data(), n};
}

nb::tuple simplex_qp(InputMatrix Q, InputVector<double> b, InputVector<double> z0, double tol, std::int64_t max_iter) {
    const auto program = simplex_program(Q, nullptr, b, z0);
    rankwise::SimplexSolution solution;
    {
        nb::gil_scoped_release unlocked;
        solution = rankwise::simplex_qp(program, z0.data(), tol, max_iter);
    }
    return nb::make_tuple(to_array(solution.z), solution.gap, solution.n_iter);
}

nb::tuple simplex_qp_extended(InputMatrix Q, InputMatrix Q_low, InputVector<double> b, InputVector<double> z0,
                              double tol, std::int64_t max_iter) {
    if (Q_low.shape(0) != Q.shape(0) || Q_low.shape(1) != Q.shape(1))
        throw nb::value_error("Q_low must have the shape of Q");
    const auto program = simplex_program(Q, Q_low.data(), b, z0);
    rankwise::SimplexSolution solution;
    {
        nb::gil_scoped_release unlocked;
        solution = rankwise::simplex_qp_extended(program, z0.data(), tol, max_iter);
    }
    return nb::make_tuple(to_array(solution.z), to_array(solution.z_low), solution.gap, solution.n_iter);
}

nb::tuple coordinate_descent(InputMatrix H, InputVector<double> slopes, InputVector<double> w,
                             InputVector<double> absolute, InputVector<double> square, std::size_t max_sweeps,
                             double tol) {
    const std::size_t n = w.size();
    check_length(H.shape(0), n, "H needs one row for each weight");
    check_length(H.shape(1), n, "H needs one column for each weight");
    for (const auto& vector : {slopes, absolute, square})
        check_length(vector.size(), n, "slopes and penalties need one entry for each weight");
    OutputVector v = new_vector(n), moved = new_vector(n);
    double decrease;
    {
        nb::gil_scoped_release unlocked;
        std::copy_n(w.data(), n, v.data());
        std::copy_n(slopes.data(), n, moved.data());
        decrease = rankwise::coordinate_descent(H.data(), n, moved.data(), v.data(), {absolute.data(), square.data()},
                                                max_sweeps, tol);
    }
    return nb::make_tuple(v, moved, decrease);
}

nb::tuple extended_products(InputMatrix A, InputVector<double> x) {
    const std::size_t rows = A.shape(0), columns = A.shape(1);
    check_length(x.size(), columns, "x needs one entry for each column of A");
    OutputVector high = new_vector(rows), low = new_vector(rows);
    {
        nb::gil_scoped_release unlocked;
        for (std::size_t i = 0; i < rows; ++i) {
            const auto product = rankwise::extended_dot(A.data() + i * columns, x.data(), columns);
            high.data()[i] = product.high;
            low.data()[i] = product.low;
        }
    }
    return nb::make_tuple(high, low);
}

OutputVector extended_combination(InputMatrix A, InputVector<double> z, InputVector<double> z_low) {
    const std::size_t rows = A.shape(0), columns = A.shape(1);
    check_length(z.size(), rows, "z needs one entry for each row of A");
    check_length(z_low.size(), rows, "z_low needs one entry for each row of A");
    std::vector<double> sum;
    {
        nb::gil_scoped_release unlocked;
        sum = rankwise::extended_combination(A.data(), z.data(), z_low.data(), rows, columns);
    }
    return to_array(sum);
}

using OutputMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

OutputMatrix new_matrix(std::size_t n_rows, std::size_t n_columns) {
    double* entries = new double[n_rows * n_columns];
    nb::capsule owner(entries, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return OutputMatrix(entries, {n_rows, n_columns}, owner);
}

rankwise::Rows rows_view(const InputMatrix& X) { return {X.data(), X.shape(0), X.shape(1)}; }

template <auto sums>
OutputMatrix pair_sums(InputMatrix X, InputMatrix Z, int n_threads) {
    check_length(Z.shape(1), X.shape(1), "X and Z need the same number of columns");
    OutputMatrix out = new_matrix(X.shape(0), Z.shape(0));
    nb::gil_scoped_release unlocked;
    sums(rows_view(X), rows_view(Z), out.data(), n_threads);
    return out;
}

template <auto sums>
void bind_pair_sums(nb::module_& m, const char* name, const char* text) {
    m.def(name, &pair_sums<sums>, nb::arg("X").noconvert(), nb::arg("Z").noconvert(), nb::arg("n_threads") = 1, text);
}

std::int64_t twice_wrong_smoothed(InputMatrix P, std::size_t first, std::size_t second, InputVector<double> labels,
                                  InputVector<double> diagonal, InputVector<double> left, InputVector<double> own,
                                  double tie, double rounding) {
    const std::size_t m = labels.size();
    for (const auto& column : {diagonal, left, own})
        check_length(column.size(), m, "a column needs one entry for each label");
    if (first + P.shape(0) > m || second + P.shape(1) > m) throw nb::value_error("the tile has more rows than labels");
    const rankwise::PairTile tile{P.data(), first, P.shape(0), second, P.shape(1)};
    nb::gil_scoped_release unlocked;
    return rankwise::twice_wrong_smoothed(tile,
                                          {labels.data(), diagonal.data(), left.data(), own.data(), m, tie, rounding});
}

rankwise::ClassRows class_rows(const InputMatrix& columns) {
    check_length(columns.shape(0), 4, "rows of a class need scores, (G L)_ii, J_ii and (J y)_i");
    const std::size_t n = columns.shape(1);
    const double* data = columns.data();
    return {data, data + n, data + 2 * n, data + 3 * n, n};
}

std::int64_t twice_wrong_classes(InputMatrix J, InputMatrix above, InputMatrix below, InputMatrix positive,
                                 InputMatrix negative, double smallest) {
    const auto upper = class_rows(positive), lower = class_rows(negative);
    for (const auto& tile : {J, above, below}) {
        check_length(tile.shape(0), upper.n, "a tile needs one row for each positive row");
        check_length(tile.shape(1), lower.n, "a tile needs one column for each negative row");
    }
    nb::gil_scoped_release unlocked;
    return rankwise::twice_wrong_classes(upper, lower, J.data(), above.data(), below.data(), smallest);
}

template <class Value, class Order>
void bind_dense(nb::module_& m) {
    m.def("dense_matvec", &dense_product<false, false, Value, Order>, nb::arg("X").noconvert(),
          nb::arg("w").noconvert(), nb::arg("n_threads") = 1,
          "X w for each row w of a matrix, one after the other, for an array X of float32 or float64 in memory order C "
          "or F; the same bits for any number of threads and of vectors.");
    m.def("dense_rmatvec", &dense_product<true, false, Value, Order>, nb::arg("X").noconvert(),
          nb::arg("c").noconvert(), nb::arg("n_threads") = 1, "X' c for each row c of a matrix, as dense_matvec.");
    m.def("dense_weighted_squares", &dense_product<true, true, Value, Order>, nb::arg("X").noconvert(),
          nb::arg("c").noconvert(), nb::arg("n_threads") = 1, "X' c of the squared entries of X, as dense_rmatvec.");
    m.def("column_range", &column_range<Value, Order>, nb::arg("X").noconvert(),
          "(lowest, highest) value of each column of an array of float32 or float64 in memory order C or F.");
}

// noconvert: an array of another type raises a TypeError instead of being copied.
template <class Value, class Index>
void bind_sparse(nb::module_& m) {
    m.def("csr_matvec", &csr_matvec<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("w").noconvert(), nb::arg("n_threads") = 1,
          "X w for a CSR matrix X of float32 or float64; the same bits for any number of threads.");
    m.def("csr_rmatvec", &csr_rmatvec<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("c").noconvert(), nb::arg("n_features"), nb::arg("n_threads") = 1,
          nb::arg("squared") = false,
          "X' c for a CSR matrix X of float32 or float64, of its squared entries if `squared`; the same bits for any "
          "number of threads.");
    m.def("csr_scale", &csr_scale<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("n_features"),
          "(scale, full): the largest absolute value of each column, and whether every row stores an entry in it.");
}

}  // namespace

void bind_products(nb::module_& m) {
    m.def("simplex_qp", &simplex_qp, nb::arg("Q"), nb::arg("b"), nb::arg("z0"), nb::arg("tol"), nb::arg("max_iter"),
          "Maximise b'z - z'Qz/2 over the simplex from z0; Q may be larger than len(b). Returns (z, gap, n_iter).");
    m.def("simplex_qp_extended", &simplex_qp_extended, nb::arg("Q"), nb::arg("Q_low"), nb::arg("b"), nb::arg("z0"),
          nb::arg("tol"), nb::arg("max_iter"),
          "simplex_qp for Q + Q_low in double-double precision, solved by z + z_low. Returns (z, z_low, gap, n_iter).");
    m.def(
        "coordinate_descent", &coordinate_descent, nb::arg("H"), nb::arg("slopes"), nb::arg("w"), nb::arg("absolute"),
        nb::arg("square"), nb::arg("max_sweeps"), nb::arg("tol"),
        "Lower slopes'(v - w) + (v - w)'H(v - w)/2 + absolute'|v| + square'v^2 from v = w, until a sweep lowers it by "
        "at most tol. Returns (v, slopes of the quadratic at v, decrease of the last sweep).");
    m.def("extended_products", &extended_products, nb::arg("A"), nb::arg("x"),
          "A @ x in double-double precision, as (high, low).");
    m.def("extended_combination", &extended_combination, nb::arg("A"), nb::arg("z"), nb::arg("z_low"),
          "(z + z_low) @ A, summed in double-double precision.");
    m.def(
        "twice_wrong_smoothed", &twice_wrong_smoothed, nb::arg("P").noconvert(), nb::arg("first"), nb::arg("second"),
        nb::arg("labels").noconvert(), nb::arg("diagonal").noconvert(), nb::arg("left").noconvert(),
        nb::arg("own").noconvert(), nb::arg("tie"), nb::arg("rounding"),
        "Twice the number of pairs in the wrong order by the model without them, a tie counting one half, of the rows "
        "of a tile and the earlier ones of its columns: see AllPairs.");
    m.def("twice_wrong_classes", &twice_wrong_classes, nb::arg("J").noconvert(), nb::arg("above").noconvert(),
          nb::arg("below").noconvert(), nb::arg("positive").noconvert(), nb::arg("negative").noconvert(),
          nb::arg("smallest"), "As twice_wrong_smoothed, of positive rows and all negative ones: see TwoClasses.");
    bind_pair_sums<&rankwise::score_rows>(m, "row_scores",
                                          "x_i' z_j for all rows of X and Z; the fastest way for few rows of Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::Product>>(m, "row_products", "x_i' z_j for all rows of X and Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::SquaredDifference>>(
        m, "squared_distances", "The sum over k of (x_ik - z_jk)^2 for all rows of X and Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::AbsoluteDifference>>(
        m, "absolute_distances", "The sum over k of |x_ik - z_jk| for all rows of X and Z.");
    bind_sparse<double, std::int32_t>(m);
    bind_sparse<double, std::int64_t>(m);
    bind_sparse<float, std::int32_t>(m);
    bind_sparse<float, std::int64_t>(m);
    bind_dense<double, nb::c_contig>(m);
    bind_dense<double, nb::f_contig>(m);
    bind_dense<float, nb::c_contig>(m);
    bind_dense<float, nb::f_contig>(m);
}

}  // namespace rankwise::python
