// Counts, sums and losses over the pairs of rankings, order graphs and comparisons, for Python.
#include <tuple>

#include "comparisons.hpp"
#include "logistic_ranking.hpp"
#include "order_errors.hpp"
#include "order_graph.hpp"
#include "plackett_luce.hpp"
#include "python_arrays.hpp"
#include "ranking.hpp"
#include "squared_hinge.hpp"

namespace rankwise::python {
namespace {

// Room for a result by row. Rows of weight zero, which are left out of the ranking, have 0.
OutputVector by_row(std::size_t n_rows, std::size_t n_ranked) {
    return n_ranked == n_rows ? new_vector(n_rows) : zeros(n_rows);
}

// The arrays of a rankwise::Ranking, which states their layout, and the scratch of its counts and sums.
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
        return {row.data(),         level_begin.data(),
                query_begin.data(), static_cast<std::int64_t>(query_begin.size()) - 1,
                position.data(),    static_cast<std::int64_t>(position.size())};
    }
};

nb::tuple count_ranking(InputVector<double> scores, RankingIndex& index, double margin, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    OutputVector net = new_vector(scores.size()), losses = new_vector(ranking.n_queries);
    auto violations = new_vector<std::int64_t>(ranking.n_queries);
    {
        nb::gil_scoped_release unlocked;
        rankwise::count_ranking(ranking, scores.data(), margin, index.scratch, n_threads, violations.data(), net.data(),
                                losses.data());
    }
    return nb::make_tuple(net, violations, losses);
}

nb::tuple count_order_errors(InputVector<double> scores, RankingIndex& index, int n_threads) {
    const rankwise::Ranking ranking = index.view(scores.size());
    auto wrong = new_vector<std::int64_t>(ranking.n_queries),
         wrong_or_tied = new_vector<std::int64_t>(ranking.n_queries);
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

// The four sums as numpy arrays; those of the moment are None without one.
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

nb::tuple sum_all_partners(RankingIndex& index, Column weight, Column can_be_worse, Column gain, Column moment,
                           int n_threads) {
    const std::size_t n = index.position.size();
    const rankwise::Ranking ranking = index.view(n);
    const rankwise::RowColumns columns{pointer(weight, n), pointer(can_be_worse, n), pointer(gain, n),
                                       pointer(moment, n)};
    NewSums sums(n, n, moment.has_value());
    {
        nb::gil_scoped_release unlocked;
        rankwise::sum_all_partners(ranking, columns, n_threads, sums.view());
    }
    return nb::make_tuple(sums.up, sums.down, sums.moment_up, sums.moment_down);
}

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
        rankwise::sum_ranking(ranking, scores.data(), margin, chosen, columns, index.scratch, n_threads, sums.view());
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

nb::tuple plackett_luce(InputVector<double> scores, RankingIndex& index, InputVector<double> query_factor,
                        Column weight, double log_unit, Column event, bool efron, bool with_diagonal, Column direction,
                        int n_threads) {
    const std::size_t n = scores.size(), n_ranked = index.row.size();
    const rankwise::Ranking ranking = index.view(n);
    check_length(query_factor.size(), ranking.n_queries, "query_factor needs one entry for each query");
    const rankwise::ListColumns columns{
        scores.data(), pointer(weight, n), pointer(event, n), query_factor.data(), pointer(direction, n), log_unit,
        efron};
    if (direction) {
        OutputVector product = by_row(n, n_ranked), chosen = by_row(n, n_ranked);
        {
            nb::gil_scoped_release unlocked;
            rankwise::plackett_luce(ranking, columns, n_threads,
                                    {nullptr, nullptr, nullptr, product.data(), chosen.data()});
        }
        return nb::make_tuple(product, chosen);
    }
    OutputVector values = new_vector(ranking.n_queries), gradient = by_row(n, n_ranked);
    std::optional<OutputVector> diagonal;
    if (with_diagonal) diagonal = by_row(n, n_ranked);
    {
        nb::gil_scoped_release unlocked;
        rankwise::plackett_luce(
            ranking, columns, n_threads,
            {values.data(), gradient.data(), diagonal ? diagonal->data() : nullptr, nullptr, nullptr});
    }
    return nb::make_tuple(values, gradient, diagonal);
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
                          InputVector<std::int32_t> lower, double margin, Column weight, Column moment, int n_threads) {
    const std::size_t n = scores.size();
    check_length(lower.size(), higher.size(), "higher and lower need the same length");
    if (class_begin.size() == 0 || class_begin(class_begin.size() - 1) != static_cast<std::int64_t>(row.size()))
        throw nb::value_error("class_begin must end at the length of row");
    const rankwise::OrderGraph graph{
        row.data(),    class_begin.data(), static_cast<std::int64_t>(class_begin.size()) - 1,
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

// The arguments that the three functions of the logistic loss share.
rankwise::LogisticPairs logistic_pairs(const InputVector<double>& scores, const RankingIndex& index,
                                       const GroupArrays& groups, const InputVector<double>& query_factor,
                                       const Column& weight, const Column& can_be_worse, const Column& gain,
                                       int n_threads) {
    const std::size_t n = scores.size();
    const rankwise::Ranking ranking = index.view(n);
    check_length(query_factor.size(), ranking.n_queries, "query_factor needs one entry for each query");
    return {ranking,
            pointer(weight, n),
            pointer(can_be_worse, n),
            pointer(gain, n),
            groups_view(groups),
            scores.data(),
            query_factor.data(),
            n_threads};
}

nb::tuple logistic_gradient(InputVector<double> scores, RankingIndex& index, const GroupArrays& groups,
                            InputVector<double> query_factor, Column weight, Column can_be_worse, Column gain,
                            InputVector<double> balance, bool with_diagonal, int n_threads, bool widest) {
    const auto pairs = logistic_pairs(scores, index, groups, query_factor, weight, can_be_worse, gain, n_threads);
    const std::size_t n = scores.size(), n_ranked = index.row.size();
    check_length(balance.size(), n, "balance needs one entry for each score");
    OutputVector gradient = by_row(n, n_ranked);
    std::optional<OutputVector> diagonal;
    if (with_diagonal) diagonal = by_row(n, n_ranked);
    double loss;
    {
        nb::gil_scoped_release unlocked;
        loss = rankwise::logistic_gradient(pairs, balance.data(), gradient.data(),
                                           diagonal ? diagonal->data() : nullptr, widest);
    }
    return nb::make_tuple(loss, gradient, diagonal);
}

OutputVector logistic_diagonal(InputVector<double> scores, RankingIndex& index, const GroupArrays& groups,
                               InputVector<double> query_factor, Column weight, Column can_be_worse, Column gain,
                               int n_threads, bool widest) {
    const auto pairs = logistic_pairs(scores, index, groups, query_factor, weight, can_be_worse, gain, n_threads);
    OutputVector diagonal = by_row(scores.size(), index.row.size());
    nb::gil_scoped_release unlocked;
    rankwise::logistic_diagonal(pairs, diagonal.data(), widest);
    return diagonal;
}

OutputVector logistic_product(InputVector<double> scores, RankingIndex& index, const GroupArrays& groups,
                              InputVector<double> query_factor, Column weight, Column can_be_worse, Column gain,
                              InputVector<double> diagonal, InputVector<double> direction, int n_threads, bool widest) {
    const auto pairs = logistic_pairs(scores, index, groups, query_factor, weight, can_be_worse, gain, n_threads);
    const std::size_t n = scores.size();
    check_length(diagonal.size(), n, "diagonal needs one entry for each score");
    check_length(direction.size(), n, "direction needs one entry for each score");
    OutputVector product = by_row(n, index.row.size());
    nb::gil_scoped_release unlocked;
    rankwise::logistic_product(pairs, diagonal.data(), direction.data(), product.data(), widest);
    return product;
}

// The number of each name in the dict; new names are added with the next numbers.
Output<std::int32_t> number_names(nb::list names, nb::dict number_of) {
    auto numbers = new_vector<std::int32_t>(names.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const nb::object name = names[k];  // owned: comparing names may run code that changes the list
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
                               Column offset, bool widest) {
    const std::size_t n = first.size();
    if (second.size() != n || share.size() != n || lead.size() != n)
        throw nb::value_error("second, share and lead need one entry for each entry of first");
    const double* offsets = pointer(offset, n);
    OutputVector gradient = zeros(scores.size()), curvature = new_vector(n), slope = new_vector(offsets ? n : 0);
    double value;
    {
        nb::gil_scoped_release unlocked;
        value = rankwise::logistic_comparisons(
            {first.data(), second.data(), share.data(), lead.data(), scores.data(), offsets,
             static_cast<std::int64_t>(n), gradient.data(), offsets ? slope.data() : nullptr, curvature.data()},
            widest);
    }
    return nb::make_tuple(value, gradient, slope, curvature);
}

}  // namespace

void bind_rankings(nb::module_& m) {
    nb::class_<RankingIndex>(m, "RankingIndex", "Rows by query, then by label, with scratch for counts and sums.")
        .def(nb::init<RankingIndex::Ints, RankingIndex::Ints, InputVector<std::int64_t>, RankingIndex::Ints>(),
             nb::arg("row"), nb::arg("level_begin"), nb::arg("query_begin"), nb::arg("position"));
    m.def("stable_order", &stable_order, nb::arg("numbers"), "A stable argsort of finite numbers.");
    m.def("count_ranking", &count_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("margin"), nb::arg("n_threads"),
          "(net, violations, losses): c_i - d_i for each row; violated pairs and summed hinge loss for each query.");
    m.def("count_violations", &count_violations, nb::arg("scores"), nb::arg("index"), nb::arg("margin"),
          nb::arg("n_threads"), "The number of violated pairs of each query.");
    m.def("count_order_errors", &count_order_errors, nb::arg("scores"), nb::arg("index"), nb::arg("n_threads"),
          "(wrong, wrong or tied): the number of pairs in the wrong order in each query, compared one by one.");
    m.def("sum_ranking", &sum_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("margin"), nb::arg("method"),
          nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("moment").none(),
          nb::arg("n_threads"), "(up, down, moment_up, moment_down): weighted sums over each row's violated partners.");
    m.def("sum_all_partners", &sum_all_partners, nb::arg("index"), nb::arg("weight").none(),
          nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("moment").none(), nb::arg("n_threads"),
          "The sums of sum_ranking over all partners of each row, for any scores.");
    m.def("squared_hinge_ranking", &squared_hinge_ranking, nb::arg("scores"), nb::arg("index"), nb::arg("query_factor"),
          nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("n_threads"),
          "(loss, gradient, diagonal of the Hessian) of the pairwise squared hinge loss.");
    m.def(
        "plackett_luce", &plackett_luce, nb::arg("scores"), nb::arg("index"), nb::arg("query_factor"),
        nb::arg("weight").none(), nb::arg("log_unit"), nb::arg("event").none(), nb::arg("efron"),
        nb::arg("with_diagonal"), nb::arg("direction").none(), nb::arg("n_threads"),
        "(losses of queries, gradient, diagonal or None) of the Plackett-Luce loss; with a direction, (the product of "
        "the Hessian with it,).");
    m.def("find_windows", &find_windows, nb::arg("scores"), nb::arg("index"), nb::arg("margin"), nb::arg("n_threads"),
          "The margin windows of the rows of each query, in label order, for sum_moment.");
    m.def("sum_moment", &sum_moment, nb::arg("windows"), nb::arg("index"), nb::arg("weight").none(),
          nb::arg("can_be_worse").none(), nb::arg("gain").none(), nb::arg("moment"), nb::arg("n_threads"),
          "Weighted sum of the moment over each row's violated partners, better and worse.");
    m.def("sum_order_graph", &sum_order_graph, nb::arg("scores"), nb::arg("row"), nb::arg("class_begin"),
          nb::arg("higher"), nb::arg("lower"), nb::arg("margin"), nb::arg("weight").none(), nb::arg("moment").none(),
          nb::arg("n_threads"),
          "The sums of sum_ranking over the edges of an order graph, and the violated weight of each edge.");
    m.def("group_levels", &group_levels, nb::arg("index"), nb::arg("weight").none(),
          "How the rows are grouped by label, for the logistic loss.");
    m.def("logistic_gradient", &logistic_gradient, nb::arg("scores"), nb::arg("index"), nb::arg("groups"),
          nb::arg("query_factor"), nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(),
          nb::arg("balance"), nb::arg("with_diagonal"), nb::arg("n_threads"), nb::arg("widest") = true,
          "(loss, gradient, diagonal of the Hessian or None) of the pairwise logistic loss.");
    m.def("logistic_diagonal", &logistic_diagonal, nb::arg("scores"), nb::arg("index"), nb::arg("groups"),
          nb::arg("query_factor"), nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(),
          nb::arg("n_threads"), nb::arg("widest") = true, "The diagonal of the Hessian of the pairwise logistic loss.");
    m.def("logistic_product", &logistic_product, nb::arg("scores"), nb::arg("index"), nb::arg("groups"),
          nb::arg("query_factor"), nb::arg("weight").none(), nb::arg("can_be_worse").none(), nb::arg("gain").none(),
          nb::arg("diagonal"), nb::arg("direction"), nb::arg("n_threads"), nb::arg("widest") = true,
          "The product of the Hessian of the pairwise logistic loss, whose diagonal is given, with the direction.");
    m.def("number_names", &number_names, nb::arg("names"), nb::arg("number_of"),
          "The number of each name of a list; names that are not in the dict get the next numbers.");
    m.def(
        "count_comparisons", &count_comparisons, nb::arg("first"), nb::arg("second"), nb::arg("outcome").none(),
        nb::arg("weight").none(), nb::arg("n_items"), nb::arg("ordered"),
        "(first, second, wins, losses, ties): the distinct pairs, sorted, with the weight of each outcome (2, 0, 1).");
    m.def(
        "logistic_comparisons", &logistic_comparisons, nb::arg("first"), nb::arg("second"), nb::arg("share"),
        nb::arg("lead"), nb::arg("scores"), nb::arg("offset").none(), nb::arg("widest") = true,
        "(loss, gradient, first and second derivatives with respect to each difference; the first only with offsets).");
}

}  // namespace rankwise::python
