// The reader and the writer of svmlight lines, for Python.
#include <cstdlib>
#include <string>
#include <tuple>

#include "python_arrays.hpp"
#include "svmlight.hpp"
#include "svmlight_text.hpp"

namespace rankwise::python {
namespace {

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
    nb::class_<Reader>(m, name, "Reads svmlight lines into columns, one text after the other.")
        .def(
            "__init__",
            [](Reader* self, std::int64_t first_index, std::int64_t last_index, bool keep_comments, int n_threads) {
                new (self) Reader({first_index, last_index, keep_comments}, n_threads);
            },
            nb::arg("first_index"), nb::arg("last_index"), nb::arg("keep_comments"), nb::arg("n_threads"))
        .def("read", &read_lines<Value>, nb::arg("text").noconvert(), nb::arg("n_characters_left"),
             "Reads whole lines; returns (offset, message) of the first problem, or None.")
        .def("take", &take_rows<Value>, "Returns the columns of the rows read since the last call.")
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
          nb::arg("data").noconvert(), nb::arg("y").noconvert(), nb::arg("queries").none(), nb::arg("comments").none(),
          nb::arg("first_index"),
          "The rows of a CSR matrix as svmlight lines; queries and comments are (text, end of the word of each row).");
}

}  // namespace

void bind_svmlight(nb::module_& m) {
    bind_reader<double>(m, "SvmlightReader");
    bind_reader<float>(m, "SvmlightReaderFloat32");
    bind_writer<double>(m);
    bind_writer<float>(m);
}

}  // namespace rankwise::python
