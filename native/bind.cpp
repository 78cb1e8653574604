// The only file that knows Python. Arrays come in as they are (float64, int32, contiguous): rankwise's Python
// side makes them so; what goes out is a new numpy array.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "column_range.hpp"
#include "comparisons.hpp"
#include "dense_product.hpp"
#include "file_memory.hpp"
#include "logistic_ranking.hpp"
#include "order_errors.hpp"
#include "order_graph.hpp"
#include "ranking.hpp"
#include "row_sums.hpp"
#include "simplex_qp.hpp"
#include "sparse_product.hpp"
#include "squared_hinge.hpp"
#include "svmlight.hpp"
#include "svmlight_text.hpp"

namespace nb = nanobind;

namespace {

template <class T>
using InputVector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = std::optional<InputVector<double>>;
template <class Value, class Order>
using DenseArray = nb::ndarray<const Value, nb::ndim<2>, Order, nb::device::cpu>;
using InputMatrix = DenseArray<double, nb::c_contig>;
template <class T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using OutputVector = Output<double>;

template <class T>
Output<T> own(std::unique_ptr<T[]> memory, std::size_t n) {
    T* entries = memory.get();
    nb::capsule owner(entries, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    memory.release();
    return Output<T>(entries, {n}, owner);
}

// A new numpy vector of zeros in a file.
template <class T>
Output<T> vector_in_file(std::size_t n) {
    void* entries = rankwise::file_memory::allocate(n * sizeof(T));
    if (!entries) throw std::bad_alloc();
    nb::capsule owner(entries, [](void* p) noexcept { rankwise::file_memory::release(p); });
    return Output<T>(static_cast<T*>(entries), {n}, owner);
}

// A new numpy vector whose entries are not set.
template <class T = double>
Output<T> new_vector(std::size_t n) {
    if (rankwise::file_memory::wanted(n * sizeof(T))) return vector_in_file<T>(n);
    return own(std::make_unique_for_overwrite<T[]>(n), n);
}

OutputVector zeros(std::size_t n) {
    if (rankwise::file_memory::wanted(n * sizeof(double))) return vector_in_file<double>(n);
    return own(std::make_unique<double[]>(n), n);
}

// While it is entered, large arrays that this thread makes, numpy's and ours, are in files of a folder.
class FileArrays {
public:
    FileArrays(std::string folder, std::size_t fewest_bytes, nb::object numpy_api)
        : place_{std::move(folder), fewest_bytes} {
        // PyDataMem_SetHandler has this number in numpy's table of functions, which numpy keeps to since 1.22.
        constexpr std::size_t number = 304;
        void** table = static_cast<void**>(PyCapsule_GetPointer(numpy_api.ptr(), nullptr));
        if (table == nullptr) throw nb::python_error();
        set_handler_ = reinterpret_cast<SetHandler>(table[number]);
    }

    void enter() {
        if (!rankwise::file_memory::supported) return;
        handler_ = set(nb::capsule(&rankwise::file_memory::numpy_handler, "mem_handler"));
        std::swap(rankwise::file_memory::place(), place_);
    }

    void leave() {
        if (!handler_) return;
        std::swap(rankwise::file_memory::place(), place_);
        set(handler_);
        handler_.reset();
    }

private:
    using SetHandler = PyObject* (*)(PyObject*);
    rankwise::file_memory::Place place_;
    SetHandler set_handler_;
    nb::object handler_;  // that of before

    nb::object set(nb::object handler) {
        PyObject* before = set_handler_(handler.ptr());
        if (before == nullptr) throw nb::python_error();
        return nb::steal<nb::object>(before);
    }
};

// For a result that is written for the rows of a ranking; those of weight zero, which are not in it, have 0.
OutputVector by_row(std::size_t n_rows, std::size_t n_ranked) {
    return n_ranked == n_rows ? new_vector(n_rows) : zeros(n_rows);
}

void check_length(std::size_t given, std::size_t expected, const char* sentence) {
    if (given != expected) throw nb::value_error(sentence);
}

const double* pointer(const Column& column, std::size_t n_rows) {
    if (column) check_length(column->size(), n_rows, "a column needs one entry for each score");
    return column ? column->data() : nullptr;
}

// Rows by query and label, and the scratch that belongs to them; Python keeps it, and pickles it without the scratch.
struct RankingIndex {
    using Ints = InputVector<std::int32_t>;
    Ints row, level_begin;
    InputVector<std::int64_t> query_begin;
    Ints position;
    rankwise::ScratchPool scratch;

    RankingIndex(Ints row_of, Ints begin_of, InputVector<std::int64_t> queries, Ints position_of)
        : row(std::move(row_of)), level_begin(std::move(begin_of)), query_begin(std::move(queries)),
          position(std::move(position_of)) {
        check_length(level_begin.size(), row.size(), "level_begin needs one entry for each entry of row");
        if (query_begin.size() == 0 || query_begin(query_begin.size() - 1) != static_cast<std::int64_t>(row.size()))
            throw nb::value_error("query_begin must end at the length of row");
    }
    rankwise::Ranking view(std::size_t n_scores) const {
        check_length(n_scores, position.size(), "position needs one entry for each score");
        return {row.data(), level_begin.data(), query_begin.data(), static_cast<std::int64_t>(query_begin.size()) - 1,
                position.data(), static_cast<std::int64_t>(position.size())};
    }
};

nb::tuple count_ranking(InputVector<double> scores, RankingIndex& index, double margin, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    OutputVector net = new_vector(scores.size()), losses = new_vector(ranking.n_queries);
    auto violations = new_vector<std::int64_t>(ranking.n_queries);
    {
        nb::gil_scoped_release unlocked;
        rankwise::count_ranking(ranking, scores.data(), margin, index.scratch, n_threads, violations.data(),
                                net.data(), losses.data());
    }
    return nb::make_tuple(net, violations, losses);
}

nb::tuple count_order_errors(InputVector<double> scores, RankingIndex& index, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    auto wrong = new_vector<std::int64_t>(ranking.n_queries), wrong_or_tied = new_vector<std::int64_t>(ranking.n_queries);
    {
        nb::gil_scoped_release unlocked;
        rankwise::count_order_errors(ranking, scores.data(), n_threads, wrong.data(), wrong_or_tied.data());
    }
    return nb::make_tuple(wrong, wrong_or_tied);
}

Output<std::int32_t> stable_order(InputVector<double> numbers) {
    auto order = new_vector<std::int32_t>(numbers.size());
    nb::gil_scoped_release unlocked;
    rankwise::stable_order(numbers.data(), static_cast<std::int64_t>(numbers.size()), order.data());
    return order;
}

Output<std::int64_t> count_violations(InputVector<double> scores, RankingIndex& index, double margin, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    auto violations = new_vector<std::int64_t>(ranking.n_queries);
    nb::gil_scoped_release unlocked;
    rankwise::count_ranking(ranking, scores.data(), margin, index.scratch, n_threads, violations.data(), nullptr,
                            nullptr);
    return violations;
}

// The four sums as numpy arrays; those of the moment are None where there is none.
struct NewSums {
    // Zero where not every row is written.
    NewSums(std::size_t n, std::size_t n_written, bool moment) : up(by_row(n, n_written)), down(by_row(n, n_written)) {
        if (moment) {
            moment_up = by_row(n, n_written);
            moment_down = by_row(n, n_written);
        }
    }
    rankwise::RowSums view() {
        return {{up.data(), moment_up ? moment_up->data() : nullptr},
                {down.data(), moment_down ? moment_down->data() : nullptr}};
    }
    OutputVector up, down;
    std::optional<OutputVector> moment_up, moment_down;
};

nb::tuple sum_ranking(InputVector<double> scores, RankingIndex& index, double margin, const std::string& method,
                      Column weight, Column can_be_worse, Column gain, Column moment, int n_threads) {
    const std::size_t n = scores.size();
    const rankwise::Ranking ranking = index.view(n);
    const rankwise::Method chosen = rankwise::method_named(method);
    const rankwise::RowColumns columns{pointer(weight, n), pointer(can_be_worse, n), pointer(gain, n),
                                       pointer(moment, n)};
    NewSums sums(n, n, moment.has_value());
    {
        nb::gil_scoped_release unlocked;
        rankwise::sum_ranking(ranking, scores.data(), margin, chosen, columns, index.scratch, n_threads,
                              sums.view());
    }
    return nb::make_tuple(sums.up, sums.down, sums.moment_up, sums.moment_down);
}

nb::tuple squared_hinge_ranking(InputVector<double> scores, RankingIndex& index, InputVector<double> query_factor,
                                Column weight, Column can_be_worse, Column gain, int n_threads) {
    const std::size_t n = scores.size();
    const rankwise::Ranking ranking = index.view(n);
    check_length(query_factor.size(), ranking.n_queries, "query_factor needs one entry for each query");
    const rankwise::RowColumns columns{pointer(weight, n), pointer(can_be_worse, n), pointer(gain, n), scores.data()};
    OutputVector gradient = new_vector(n), diagonal = new_vector(n);
    double value;
    {
        nb::gil_scoped_release unlocked;
        value = rankwise::squared_hinge(ranking, query_factor.data(), columns, index.scratch, n_threads,
                                        {gradient.data(), diagonal.data()});
    }
    return nb::make_tuple(value, gradient, diagonal);
}

using Windows = nb::ndarray<nb::numpy, std::int32_t, nb::shape<-1, 4>>;

Windows find_windows(InputVector<double> scores, RankingIndex& index, double margin, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    const std::size_t n = index.row.size();
    auto memory = std::make_unique_for_overwrite<rankwise::Window[]>(n);
    rankwise::Window* windows = memory.get();
    nb::capsule owner(windows, [](void* p) noexcept { delete[] static_cast<rankwise::Window*>(p); });
    memory.release();
    {
        nb::gil_scoped_release unlocked;
        rankwise::find_windows(ranking, scores.data(), margin, index.scratch, n_threads, windows);
    }
    return Windows(windows, {n, 4}, owner);
}

OutputVector sum_moment(nb::ndarray<const std::int32_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu> windows,
                        RankingIndex& index, Column weight, Column can_be_worse, Column gain,
                        InputVector<double> moment, int n_threads) {
    const std::size_t n = moment.size();
    const rankwise::Ranking ranking = index.view(n);
    check_length(windows.shape(0), index.row.size(), "windows needs one row for each entry of row");
    const rankwise::RowColumns columns{pointer(weight, n), pointer(can_be_worse, n), pointer(gain, n), moment.data()};
    OutputVector out = new_vector(n);
    nb::gil_scoped_release unlocked;
    rankwise::sum_moment(ranking, reinterpret_cast<const rankwise::Window*>(windows.data()), columns, index.scratch,
                         n_threads, out.data());
    return out;
}

nb::tuple sum_order_graph(InputVector<double> scores, InputVector<std::int32_t> row,
                          InputVector<std::int64_t> class_begin, InputVector<std::int32_t> higher,
                          InputVector<std::int32_t> lower, double margin, Column weight, Column moment,
                          int n_threads) {
    const std::size_t n = scores.size();
    check_length(lower.size(), higher.size(), "higher and lower need the same length");
    if (class_begin.size() == 0 || class_begin(class_begin.size() - 1) != static_cast<std::int64_t>(row.size()))
        throw nb::value_error("class_begin must end at the length of row");
    const rankwise::OrderGraph graph{row.data(),    class_begin.data(), static_cast<std::int64_t>(class_begin.size()) - 1,
                                     higher.data(), lower.data(),       static_cast<std::int64_t>(higher.size())};
    const rankwise::RowColumns columns{pointer(weight, n), nullptr, nullptr, pointer(moment, n)};
    NewSums sums(n, row.size(), moment.has_value());
    OutputVector violated_weight = new_vector(higher.size());
    {
        nb::gil_scoped_release unlocked;
        const auto run = moment ? rankwise::sum_order_graph<2> : rankwise::sum_order_graph<1>;
        run(graph, scores.data(), margin, columns, n_threads, sums.view(), violated_weight.data());
    }
    return nb::make_tuple(sums.up, sums.down, sums.moment_up, sums.moment_down, violated_weight);
}

template <class T>
Output<T> to_array(const std::vector<T>& values) {
    auto array = new_vector<T>(values.size());
    std::copy(values.begin(), values.end(), array.data());
    return array;
}

nb::tuple group_levels(RankingIndex& index, Column weight) {
    const std::size_t n_rows = index.position.size();
    const rankwise::Ranking ranking = index.view(n_rows);
    rankwise::LevelGroups groups;
    {
        nb::gil_scoped_release unlocked;
        groups = rankwise::group_levels(ranking, pointer(weight, n_rows), static_cast<std::int64_t>(n_rows));
    }
    return nb::make_tuple(to_array(groups.group), to_array(groups.n_groups), to_array(groups.first_row),
                          to_array(groups.tie_begin), to_array(groups.ties), to_array(groups.rest));
}

using GroupArrays = std::tuple<InputVector<std::uint16_t>, InputVector<std::int64_t>, InputVector<std::int64_t>,
                               InputVector<std::int64_t>, InputVector<std::int32_t>, InputVector<double>>;

rankwise::LevelGroupsView groups_view(const GroupArrays& arrays) {
    const auto& [group, n_groups, first_row, tie_begin, ties, rest] = arrays;
    return {group.data(), n_groups.data(), first_row.data(), tie_begin.data(), ties.data(), rest.data()};
}

nb::tuple logistic_ranking(InputVector<double> scores, RankingIndex& index, const GroupArrays& groups, InputVector<double> query_factor, Column weight,
                           Column can_be_worse, Column gain, Column balance, Column direction, Column diagonal,
                           bool with_diagonal, int n_threads, bool widest) {
    const std::size_t n = scores.size();
    const rankwise::Ranking ranking = index.view(n);
    check_length(query_factor.size(), ranking.n_queries, "query_factor needs one entry for each query");
    OutputVector out = by_row(n, index.row.size());
    std::optional<OutputVector> curvature;
    if (with_diagonal) curvature = by_row(n, index.row.size());
    const rankwise::LogisticTask task{
        ranking,
        {pointer(weight, n), pointer(can_be_worse, n), pointer(gain, n), pointer(direction, n)},
        groups_view(groups),
        scores.data(),
        query_factor.data(),
        pointer(balance, n),
        pointer(diagonal, n),
        out.data(),
        curvature ? curvature->data() : nullptr,
        n_threads};
    double value;
    {
        nb::gil_scoped_release unlocked;
        value = rankwise::logistic_ranking(task, widest);
    }
    return nb::make_tuple(value, out, curvature);
}

// The number of each name in the dict, where new names are entered with the next number.
Output<std::int32_t> number_names(nb::list names, nb::dict number_of) {
    auto numbers = new_vector<std::int32_t>(names.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const nb::object name = names[k];  // held, since comparing names may run code that changes the list
        PyObject* found = PyDict_GetItemWithError(number_of.ptr(), name.ptr());
        if (found == nullptr) {
            if (PyErr_Occurred()) throw nb::python_error();
            const std::size_t next = number_of.size();
            number_of[name] = next;
            numbers(k) = static_cast<std::int32_t>(next);
        } else {
            numbers(k) = static_cast<std::int32_t>(PyLong_AsLong(found));
        }
    }
    return numbers;
}

nb::tuple count_comparisons(InputVector<std::int32_t> first, InputVector<std::int32_t> second,
                            std::optional<InputVector<std::int8_t>> outcome, Column weight, std::int32_t n_items,
                            bool ordered) {
    const std::size_t n = first.size();
    check_length(second.size(), n, "second needs one entry for each entry of first");
    if (outcome) check_length(outcome->size(), n, "outcome needs one entry for each entry of first");
    const double* weights = pointer(weight, n);
    std::optional<rankwise::ComparisonCounter> counter;
    std::size_t n_entries;
    {
        nb::gil_scoped_release unlocked;
        counter.emplace(first.data(), second.data(), outcome ? outcome->data() : nullptr, n, n_items, ordered);
        n_entries = counter->n_entries();
    }
    auto first_of = new_vector<std::int32_t>(n_entries), second_of = new_vector<std::int32_t>(n_entries);
    OutputVector losses = new_vector(n_entries), ties = new_vector(n_entries), wins = new_vector(n_entries);
    {
        nb::gil_scoped_release unlocked;
        counter->write(weights, first_of.data(), second_of.data(), {losses.data(), ties.data(), wins.data()});
    }
    return nb::make_tuple(first_of, second_of, wins, losses, ties);
}

nb::tuple logistic_comparisons(InputVector<std::int32_t> first, InputVector<std::int32_t> second,
                               InputVector<double> share, InputVector<double> lead, InputVector<double> scores,
                               double order_effect, bool widest) {
    const std::size_t n = first.size();
    if (second.size() != n || share.size() != n || lead.size() != n)
        throw nb::value_error("second, share and lead need one entry for each entry of first");
    OutputVector gradient = zeros(scores.size() + 1), curvature = new_vector(n);
    double value;
    {
        nb::gil_scoped_release unlocked;
        value = rankwise::logistic_comparisons({first.data(), second.data(), share.data(), lead.data(), scores.data(),
                                                order_effect, static_cast<std::int64_t>(scores.size()),
                                                static_cast<std::int64_t>(n), gradient.data(), curvature.data()},
                                               widest);
    }
    return nb::make_tuple(value, gradient, curvature);
}

template <class Value, class Index>
rankwise::CsrView<Value, Index> csr_view(const InputVector<Index>& indptr, const InputVector<Index>& indices,
                                         const InputVector<Value>& data, std::size_t n_columns) {
    if (indptr.size() == 0) throw nb::value_error("indptr is empty; it needs one entry more than there are rows");
    const rankwise::CsrView<Value, Index> X{indptr.size() - 1, n_columns, indptr.data(), indices.data(), data.data()};
    if (X.indptr[0] != 0 || X.n_nonzeros() > std::min(indices.size(), data.size()))
        throw nb::value_error("indptr must begin at 0 and end at no more than the length of indices and data");
    return X;
}

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

// X w, or X' c with Transposed, or the same of the squares of X. An array in memory order F is the transpose of one in
// order C.
template <bool Transposed, bool Squared, class Value, class Order>
OutputVector dense_product(DenseArray<Value, Order> X, InputVector<double> vector, int n_threads) {
    check_length(vector.size(), X.shape(Transposed ? 0 : 1), "the vector does not fit the array");
    constexpr bool by_row = std::is_same_v<Order, nb::c_contig>;
    const rankwise::DenseView<Value> view{X.data(), X.shape(by_row ? 0 : 1), X.shape(by_row ? 1 : 0)};
    OutputVector product = new_vector(X.shape(Transposed ? 1 : 0));
    nb::gil_scoped_release unlocked;
    if constexpr (by_row == Transposed)
        rankwise::dense_rmatvec<Squared>(view, vector.data(), product.data(), n_threads);
    else
        rankwise::dense_matvec<Squared>(view, vector.data(), product.data(), n_threads);
    return product;
}

rankwise::SimplexProgram simplex_program(const InputMatrix& Q, const double* Q_low, const InputVector<double>& b,
                                         const InputVector<double>& z0) {
    const std::size_t n = b.size();
    if (n == 0) throw nb::value_error("b is empty; the simplex needs at least one plane");
    check_length(z0.size(), n, "z0 must have the length of b");
    if (Q.shape(0) < n || Q.shape(1) < n)
        throw nb::value_error("Q must have at least len(b) rows and len(b) columns");
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

nb::tuple extended_products(InputMatrix A, InputVector<double> x) {
    const std::size_t rows = A.shape(0), columns = A.shape(1);
    check_length(x.size(), columns, "x must have as many numbers as A has columns");
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
    check_length(z.size(), rows, "z must have as many numbers as A has rows");
    check_length(z_low.size(), rows, "z_low must have as many numbers as A has rows");
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

template <class T>
Output<T> give(rankwise::Column<T>& column) {
    const std::size_t n = column.size();
    rankwise::Owned<T> memory = column.release();
    nb::capsule owner(memory.get(), [](void* p) noexcept { std::free(p); });
    return Output<T>(memory.release(), {n}, owner);
}

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

template <class Value>
nb::object read_lines(rankwise::SvmlightReader<Value>& reader, InputVector<std::uint8_t> text,
                      std::size_t n_characters_left) {
    const char* begin = reinterpret_cast<const char*>(text.data());
    if (text.size() == 0 || begin[text.size() - 1] != '\n') throw nb::value_error("text must end with a line feed");
    std::optional<rankwise::Problem> problem;
    {
        nb::gil_scoped_release unlocked;
        problem = reader.read(begin, text.size(), n_characters_left);
    }
    return problem ? nb::object(nb::make_tuple(problem->at - begin, problem->sentence)) : nb::none();
}

template <class Value>
nb::dict take_rows(rankwise::SvmlightReader<Value>& reader) {
    nb::dict columns;
    const bool numbers = reader.queries_are_numbers;
    columns["indptr"] = give(reader.row_begin);
    columns["indices"] = give(reader.indices);
    columns["data"] = give(reader.values);
    columns["y"] = give(reader.labels);
    columns["query_begin"] = give(reader.query_begin);
    columns["query_number"] = numbers ? nb::cast(give(reader.query_number)) : nb::none();
    columns["query_words"] = to_bytes(reader.query_words);
    columns["query_word_end"] = give(reader.query_word_end);
    columns["comments"] = to_bytes(reader.comments);
    columns["comment_end"] = give(reader.comment_end);
    reader.reset_rows();
    return columns;
}

template <class Value>
void bind_reader(nb::module_& m, const char* name) {
    using Reader = rankwise::SvmlightReader<Value>;
    nb::class_<Reader>(m, name, "Reads svmlight lines into columns, text by text.")
        .def(
            "__init__",
            [](Reader* self, std::int64_t first_index, std::int64_t last_index, bool keep_comments, int n_threads) {
                new (self) Reader({first_index, last_index, keep_comments}, n_threads);
            },
            nb::arg("first_index"), nb::arg("last_index"), nb::arg("keep_comments"), nb::arg("n_threads"))
        .def("read", &read_lines<Value>, nb::arg("text").noconvert(), nb::arg("n_characters_left"),
             "Reads whole lines; (offset, sentence) of the first problem, or None.")
        .def("take", &take_rows<Value>, "Gives the columns of the rows read since the last call.")
        .def_prop_ro("n_rows", &Reader::n_rows)
        .def_ro("n_lines", &Reader::n_lines)
        .def_ro("largest_index", &Reader::largest_index)
        .def_ro("smallest_index", &Reader::smallest_index);
}

using RowWords = std::optional<std::tuple<nb::bytes, InputVector<std::int64_t>>>;

rankwise::Words words_view(const RowWords& words, std::size_t n_rows) {
    if (!words) return {nullptr, nullptr};
    const auto& [text, end] = *words;
    check_length(end.size(), n_rows, "words need one end for each row");
    std::int64_t before = 0;
    for (std::size_t i = 0; i < n_rows; before = end(i++))
        if (end(i) < before || end(i) > static_cast<std::int64_t>(text.size()))
            throw nb::value_error("the ends of words must ascend within the text");
    return {text.c_str(), end.data()};
}

template <class Value>
nb::bytes svmlight_text(InputVector<std::int64_t> indptr, InputVector<std::int64_t> indices, InputVector<Value> data,
                        InputVector<double> y, RowWords queries, RowWords comments, std::int64_t first_index) {
    const auto X = csr_view<Value, std::int64_t>(indptr, indices, data, 0);
    check_length(y.size(), X.n_rows, "y needs one entry for each row of the matrix");
    std::string text;
    const rankwise::Words query_words = words_view(queries, X.n_rows), comment_words = words_view(comments, X.n_rows);
    {
        nb::gil_scoped_release unlocked;
        text = rankwise::svmlight_text<Value>(
            {X.n_rows, X.indptr, X.indices, X.data, y.data(), query_words, comment_words, first_index});
    }
    return to_bytes(text);
}

template <class Value>
void bind_writer(nb::module_& m) {
    m.def("svmlight_text", &svmlight_text<Value>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("y").noconvert(), nb::arg("queries").none(),
          nb::arg("comments").none(), nb::arg("first_index"),
          "The rows of a CSR matrix as svmlight lines; queries and comments are (text, end of each row's word).");
}

template <class Value, class Order>
void bind_dense(nb::module_& m) {
    m.def("dense_matvec", &dense_product<false, false, Value, Order>, nb::arg("X").noconvert(), nb::arg("w").noconvert(),
          nb::arg("n_threads") = 1,
          "X w for an array of float32 or float64 in memory order C or F; the same bits for any number of threads.");
    m.def("dense_rmatvec", &dense_product<true, false, Value, Order>, nb::arg("X").noconvert(), nb::arg("c").noconvert(),
          nb::arg("n_threads") = 1,
          "X' c for an array of float32 or float64 in memory order C or F; the same bits for any number of threads.");
    m.def("dense_weighted_squares", &dense_product<true, true, Value, Order>, nb::arg("X").noconvert(),
          nb::arg("c").noconvert(), nb::arg("n_threads") = 1, "X' c of the squared entries of X, as dense_rmatvec.");
    m.def("column_range", &column_range<Value, Order>, nb::arg("X").noconvert(),
          "(lowest, highest) value of each column of an array of float32 or float64 in memory order C or F.");
}

// noconvert: an array of another type is refused, not silently copied.
template <class Value, class Index>
void bind_products(nb::module_& m) {
    m.def("csr_matvec", &csr_matvec<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("w").noconvert(), nb::arg("n_threads") = 1,
          "X w for a CSR matrix X of float32 or float64; the same bits for any number of threads.");
    m.def("csr_rmatvec", &csr_rmatvec<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("c").noconvert(), nb::arg("n_features"), nb::arg("n_threads") = 1,
          nb::arg("squared") = false,
          "X' c (of the squared entries of X, if asked) for a CSR matrix X of float32 or float64; the same bits for any number of threads.");
    m.def("csr_scale", &csr_scale<Value, Index>, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
          nb::arg("data").noconvert(), nb::arg("n_features"),
          "(scale, full): the largest absolute value of each column, and whether every row stores it.");
}

}  // namespace

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // a ranking that a script still holds at its end is no leak to tell users about
    nb::class_<FileArrays>(m, "FileArrays", "A context in which large arrays are in files without a name.")
        .def(nb::init<std::string, std::size_t, nb::object>(), nb::arg("folder"), nb::arg("fewest_bytes"),
             nb::arg("numpy_api"))
        .def("__enter__", &FileArrays::enter)
        .def("__exit__", [](FileArrays& self, nb::args) { self.leave(); });
    m.def("bytes_in_files", &rankwise::file_memory::total, "The bytes of all arrays that are in files.");
    nb::class_<RankingIndex>(m, "RankingIndex", "Rows by query and label, with scratch for what is counted of them.")
        .def(nb::init<RankingIndex::Ints, RankingIndex::Ints, InputVector<std::int64_t>, RankingIndex::Ints>(),
             nb::arg("row"), nb::arg("level_begin"), nb::arg("query_begin"), nb::arg("position"));
    m.def("stable_order", &stable_order, nb::arg("numbers"), "A stable argsort of finite numbers.");
    m.def("count_ranking", &count_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("margin"),
          nb::arg("n_threads"),
          "(net, violations, losses): c_i - d_i for each row; violated pairs and summed hinge loss for each query.");
    m.def("count_violations", &count_violations, nb::arg("scores"), nb::arg("index"), nb::arg("margin"),
          nb::arg("n_threads"), "The number of violated pairs of each query.");
    m.def("count_order_errors", &count_order_errors, nb::arg("scores"), nb::arg("index"), nb::arg("n_threads"),
          "(wrong, wrong or tied): pairs of each query in the wrong order, compared one by one.");
    m.def("sum_ranking", &sum_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("margin"), nb::arg("method"),
          nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("moment").none(),
          nb::arg("n_threads"),
          "(up, down, moment_up, moment_down): weighted sums over each row's violated partners.");
    m.def("squared_hinge_ranking", &squared_hinge_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("query_factor"),
          nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("n_threads"),
          "(loss, gradient, diagonal of the Hessian) of the pairwise squared hinge loss.");
    m.def("find_windows", &find_windows, nb::arg("scores"), nb::arg("index"), nb::arg("margin"),
          nb::arg("n_threads"), "The margin windows of the rows of each query, in label order, for sum_moment.");
    m.def("sum_moment", &sum_moment, nb::arg("windows"), nb::arg("index"), nb::arg("weight").none(),
          nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("moment"), nb::arg("n_threads"),
          "Weighted sum of the moment over each row's violated partners, better and worse.");
    m.def("sum_order_graph", &sum_order_graph, nb::arg("scores"), nb::arg("row"), nb::arg("class_begin"),
          nb::arg("higher"), nb::arg("lower"), nb::arg("margin"), nb::arg("weight").none(), nb::arg("moment").none(),
          nb::arg("n_threads"),
          "The sums of sum_ranking over the edges of an order graph, and the violated weight of each edge.");
    m.def("group_levels", &group_levels, nb::arg("index"), nb::arg("weight").none(),
          "How the rows are grouped by label, for logistic_ranking.");
    m.def("logistic_ranking", &logistic_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("groups"),
          nb::arg("query_factor"), nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(),
          nb::arg("balance").none(), nb::arg("direction").none(), nb::arg("diagonal").none(),
          nb::arg("with_diagonal"), nb::arg("n_threads"), nb::arg("widest") = true,
          "(loss, gradient, None or the diagonal of the Hessian) of the pairwise logistic loss given a balance; "
          "otherwise (0, diagonal, None) or, given that diagonal and a direction, (0, product with it, None).");
    m.def("number_names", &number_names, nb::arg("names"), nb::arg("number_of"),
          "The number of each name of a list; names that the dict does not know yet get the next numbers.");
    m.def("count_comparisons", &count_comparisons, nb::arg("first"), nb::arg("second"), nb::arg("outcome").none(),
          nb::arg("weight").none(), nb::arg("n_items"), nb::arg("ordered"),
          "(first, second, wins, losses, ties): distinct pairs, sorted, with sums of weights; outcomes are 2, 0, 1.");
    m.def("logistic_comparisons", &logistic_comparisons, nb::arg("first"), nb::arg("second"), nb::arg("share"),
          nb::arg("lead"), nb::arg("scores"), nb::arg("order_effect"), nb::arg("widest") = true,
          "(loss, gradient by scores and order effect, second derivative by the difference of each entry).");
    m.def("simplex_qp", &simplex_qp, nb::arg("Q"), nb::arg("b"), nb::arg("z0"), nb::arg("tol"), nb::arg("max_iter"),
          "Maximise b'z - z'Qz/2 over the simplex from z0; Q may be larger than len(b). Returns (z, gap, n_iter).");
    m.def("simplex_qp_extended", &simplex_qp_extended, nb::arg("Q"), nb::arg("Q_low"), nb::arg("b"), nb::arg("z0"),
          nb::arg("tol"), nb::arg("max_iter"),
          "simplex_qp for Q + Q_low with twice the digits, solved by z + z_low. Returns (z, z_low, gap, n_iter).");
    m.def("extended_products", &extended_products, nb::arg("A"), nb::arg("x"),
          "A @ x with twice the digits, as (high, low).");
    m.def("extended_combination", &extended_combination, nb::arg("A"), nb::arg("z"), nb::arg("z_low"),
          "(z + z_low) @ A, summed with twice the digits.");
    bind_pair_sums<&rankwise::score_rows>(m, "row_scores", "x_i' z_j, the quickest way for few rows of Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::Product>>(m, "row_products", "x_i' z_j for all rows of X and Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::SquaredDifference>>(
        m, "squared_distances", "The sum over k of (x_ik - z_jk)^2 for all rows of X and Z.");
    bind_pair_sums<&rankwise::sum_all_pairs<rankwise::AbsoluteDifference>>(
        m, "absolute_distances", "The sum over k of |x_ik - z_jk| for all rows of X and Z.");
    bind_products<double, std::int32_t>(m);
    bind_products<double, std::int64_t>(m);
    bind_products<float, std::int32_t>(m);
    bind_products<float, std::int64_t>(m);
    bind_dense<double, nb::c_contig>(m);
    bind_dense<double, nb::f_contig>(m);
    bind_dense<float, nb::c_contig>(m);
    bind_dense<float, nb::f_contig>(m);
    bind_reader<double>(m, "SvmlightReader");
    bind_reader<float>(m, "SvmlightReaderFloat32");
    bind_writer<double>(m);
    bind_writer<float>(m);
}
