// Wins and losses by hierarchies of outcomes, for Python.
#include <tuple>

#include "outcomes.hpp"
#include "python_arrays.hpp"

namespace rankwise::python {
namespace {

using Rows = InputVector<std::int32_t>;
using Begins = InputVector<std::int64_t>;
// Values, events, margin, and whether higher is better.
using OutcomeArrays = std::vector<std::tuple<InputVector<double>, Column, double, bool>>;

// The arrays stay alive in the arguments of the call.
rankwise::Hierarchy hierarchy_of(const OutcomeArrays& given, std::size_t n_rows) {
    rankwise::Hierarchy hierarchy;
    for (const auto& [value, event, margin, higher_is_better] : given) {
        check_length(value.size(), n_rows, "an outcome needs one value for each row");
        hierarchy.outcomes.push_back({value.data(), pointer(event, n_rows), margin, higher_is_better});
    }
    return hierarchy;
}

rankwise::StratifiedRows stratified(const Rows& rows, const Begins& begin, std::size_t n_rows) {
    if (begin.size() == 0 || begin(begin.size() - 1) != static_cast<std::int64_t>(rows.size()))
        throw nb::value_error("begin must end at the number of rows");
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows(i) < 0 || static_cast<std::size_t>(rows(i)) >= n_rows) throw nb::value_error("a row does not exist");
    return {rows.data(), begin.data()};
}

nb::tuple count_wins(const OutcomeArrays& outcomes, std::int64_t n_rows, Rows rows, Begins begin, Rows points,
                     Begins begin_of_points, Column weight, bool both, int n_threads) {
    const rankwise::Hierarchy hierarchy = hierarchy_of(outcomes, n_rows);
    check_length(begin_of_points.size(), begin.size(), "rows and points need the same strata");
    const auto of_rows = stratified(rows, begin, n_rows), of_points = stratified(points, begin_of_points, n_rows);
    const double* weights = pointer(weight, n_rows);
    OutputVector wins = zeros(n_rows * outcomes.size()), losses = zeros(n_rows * outcomes.size());
    {
        nb::gil_scoped_release unlocked;
        rankwise::count_wins(hierarchy, of_rows, of_points, static_cast<std::int64_t>(begin.size()) - 1, weights, both,
                             n_threads, wins.data(), losses.data());
    }
    return nb::make_tuple(wins, losses);
}

nb::tuple list_wins(const OutcomeArrays& outcomes, std::int64_t n_rows, Rows rows, Begins begin, std::int64_t n_pairs) {
    const rankwise::Hierarchy hierarchy = hierarchy_of(outcomes, n_rows);
    const auto of_rows = stratified(rows, begin, n_rows);
    auto better = new_vector<std::int64_t>(n_pairs), worse = new_vector<std::int64_t>(n_pairs);
    std::int64_t n = 0;
    {
        nb::gil_scoped_release unlocked;
        rankwise::list_wins(hierarchy, of_rows, static_cast<std::int64_t>(begin.size()) - 1,
                            [&](std::int32_t first, std::int32_t second) {
                                if (n < n_pairs) better.data()[n] = first, worse.data()[n] = second;
                                ++n;
                            });
    }
    check_length(n, n_pairs, "n_pairs must be the number of decided pairs");
    return nb::make_tuple(better, worse);
}

}  // namespace

void bind_outcomes(nb::module_& m) {
    m.def("count_wins", &count_wins, nb::arg("outcomes"), nb::arg("n_rows"), nb::arg("rows"), nb::arg("begin"),
          nb::arg("points"), nb::arg("begin_of_points"), nb::arg("weight").none(), nb::arg("both"),
          nb::arg("n_threads"),
          "(wins, losses): the weight of the points that each row beats, and of those that beat it, by outcome.");
    m.def("list_wins", &list_wins, nb::arg("outcomes"), nb::arg("n_rows"), nb::arg("rows"), nb::arg("begin"),
          nb::arg("n_pairs"), "(better, worse): the rows of each decided pair.");
}

}  // namespace rankwise::python
