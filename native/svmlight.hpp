// A reader of svmlight and LETOR text, `label [qid:token] index:value ... [# comment]`, for text in pieces of whole
// lines. A call cuts its text into parts at line ends, the threads parse the parts into scratch memory, and the parts
// are then appended to the columns. Only the columns grow with the text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "column.hpp"
#include "decimal.hpp"
#include "parallel.hpp"

namespace rankwise {

struct LineRules {
    std::int64_t first_index;  // 0 or 1
    std::int64_t last_index;   // the largest index as written that is accepted
    bool keep_comments;
};

// An error message and its place in the text.
struct Problem {
    const char* at;
    std::string sentence;
};

// Consecutive rows with the same qid, up to the next run.
struct QueryRun {
    std::int64_t first_row;
    std::string_view token;
};

namespace detail {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

// Whether the data of a line ends at p: at the line end, with or without carriage return, or at a comment.
inline bool ends_data(const char* p) { return *p == '\n' || *p == '#' || (*p == '\r' && p[1] == '\n'); }

inline bool ends_word(const char* p) { return is_blank(*p) || ends_data(p); }

inline bool starts_query(const char* p) { return std::strncmp(p, "qid:", 4) == 0; }

// The value of a token that is the canonical form of an integer: no plus, no leading zero, no minus zero.
inline std::optional<std::int64_t> plain_integer(std::string_view token) {
    const std::size_t sign = token.starts_with('-');
    if (token.size() > sign + 1 && token[sign] == '0') return {};
    if (token == "-0") return {};
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc{} || stop != token.data() + token.size()) return {};
    return value;
}

// A row with a qid after rows without one, or the reverse.
inline Problem disagreement(std::string_view token, const char* row) {
    if (token.empty()) return {row, "this line has no qid, but the lines before it have one"};
    return {token.data() - 4, "this line has a qid, but the lines before it have none"};
}

}  // namespace detail

// The rows of one part of the text, as views of it.
template <class Value>
class TextPart {
public:
    Column<std::int32_t> indices;
    Column<Value> values;
    Column<double> labels;
    Column<std::int64_t> row_end;  // entries of this and all earlier rows of the part
    std::vector<QueryRun> queries;
    std::vector<std::string_view> comments;
    std::int64_t n_lines, largest_index, smallest_index;
    const char* first_row;  // the begin of its text
    std::optional<Problem> problem;

    // The last character must be a line feed, which ends every loop below.
    void parse(const char* begin, const char* end, const LineRules& rules) {
        start(begin, end);
        try {
            for (const char* p = begin; p < end; ++n_lines) p = parse_line(p, rules);
        } catch (const Problem& found) {
            problem = found;
        }
    }

    bool has_queries() const { return !queries.empty(); }

private:
    // There are at most as many rows as line feeds and entries as colons: `push` needs no check of the capacity.
    void start(const char* begin, const char* end) {
        const std::size_t most_rows = std::count(begin, end, '\n'), most_entries = std::count(begin, end, ':');
        indices.restart(most_entries);
        values.restart(most_entries);
        labels.restart(most_rows);
        row_end.restart(most_rows);
        queries.clear();
        comments.clear();
        end_ = end;
        n_lines = 0;
        largest_index = -1;
        smallest_index = INT64_MAX;
        first_row = nullptr;
        problem.reset();
    }

    const char* parse_line(const char* p, const LineRules& rules) {
        p = detail::skip_blanks(p);
        if (detail::ends_data(p)) return next_line(p);
        const char* row = p;
        double label;
        std::string_view query;
        p = detail::skip_blanks(parse_value(p, label, "the label is not a number"));
        if (detail::starts_query(p)) p = detail::skip_blanks(parse_query(p, query));
        p = parse_entries(p, rules);
        add_query(query, row);
        labels.push(label);
        row_end.push(static_cast<std::int64_t>(indices.size()));
        if (rules.keep_comments) comments.push_back(comment_at(p));
        return next_line(p);
    }

    const char* next_line(const char* p) const { return static_cast<const char*>(std::memchr(p, '\n', end_ - p)) + 1; }

    std::string_view comment_at(const char* p) const {
        if (*p != '#') return {};
        const char* stop = next_line(p) - 1;
        if (stop[-1] == '\r') --stop;
        return {p + 1, static_cast<std::size_t>(stop - p - 1)};
    }

    template <class Number>
    const char* parse_value(const char* p, Number& number, const char* malformed) const {
        const char* begin = p;
        switch (read_number(p, end_, number)) {
            case NumberStatus::good:
                if (!detail::ends_word(p)) throw Problem{begin, malformed};
                return p;
            case NumberStatus::not_finite:
                throw Problem{begin, "NaN and infinity are not accepted"};
            case NumberStatus::too_large:
                throw Problem{begin, sizeof(Number) == 4 ? "the number is too large for float32"
                                                         : "the number is too large for float64"};
            default:
                throw Problem{begin, malformed};
        }
    }

    const char* parse_query(const char* p, std::string_view& token) const {
        const char* begin = p + 4;
        const char* stop = begin;
        while (!detail::ends_word(stop)) ++stop;
        if (stop == begin) throw Problem{p, "the token behind qid: is missing"};
        token = {begin, static_cast<std::size_t>(stop - begin)};
        return stop;
    }

    void add_query(std::string_view token, const char* row) {
        if (labels.size() == 0) first_row = row;
        if (labels.size() > 0 && token.empty() == has_queries()) throw detail::disagreement(token, row);
        if (!token.empty() && (queries.empty() || queries.back().token != token))
            queries.push_back({static_cast<std::int64_t>(labels.size()), token});
    }

    const char* parse_entries(const char* p, const LineRules& rules) {
        std::int64_t before = rules.first_index - 1;
        const std::size_t first = indices.size();
        while (!detail::ends_data(p)) {
            const char* begin = p;
            std::int64_t index;
            p = parse_index(p, index);
            if (index <= before || index > rules.last_index) refuse_index(begin, index, rules);
            Value value;
            p = parse_value(p, value, "the value is not a number");
            indices.push(static_cast<std::int32_t>(index - rules.first_index));
            values.push(value);
            before = index;
            p = detail::skip_blanks(p);
        }
        if (indices.size() > first) {
            largest_index = std::max<std::int64_t>(largest_index, indices.back());
            smallest_index = std::min<std::int64_t>(smallest_index, indices[first]);
        }
        return p;
    }

    // Returns the begin of the value. The index of a number too large for any matrix is only a lower bound.
    const char* parse_index(const char* p, std::int64_t& index) const {
        const char* begin = p;
        if (*p == '+') ++p;
        const char* first = p;
        for (index = 0; detail::is_digit(*p); ++p)
            if (index < too_large_index) index = index * 10 + (*p - '0');
        if (p == first || *p != ':') throw Problem{begin, index_sentence(begin)};
        if (detail::ends_word(p + 1)) throw Problem{begin, "the value behind the index is missing"};
        return p + 1;
    }

    static const char* index_sentence(const char* p) {
        if (detail::starts_query(p)) return "qid: must stand once, directly behind the label";
        if (*p == '-' && detail::is_digit(p[1])) return "an index must not be negative";
        return "an entry must be an index, a colon and a value, such as 3:0.5";
    }

    [[noreturn]] void refuse_index(const char* at, std::int64_t index, const LineRules& rules) const {
        if (index < rules.first_index) throw Problem{at, "the index is 0, but indices begin at 1 (zero_based=False)"};
        if (index > rules.last_index)
            throw Problem{at, "the index is too large, the largest accepted is " + std::to_string(rules.last_index)};
        throw Problem{at, "the indices of a line must ascend, but this one does not exceed the one before it"};
    }

    static constexpr std::int64_t too_large_index = std::int64_t{1} << 40;
    const char* end_;
};

// The columns of all rows read since the last reset.
template <class Value>
class SvmlightReader {
public:
    Column<std::int64_t> row_begin;  // first entry of each row; last, the number of entries
    Column<std::int32_t> indices;
    Column<Value> values;
    Column<double> labels;
    Column<std::int64_t> query_begin;   // the first row of each run of rows with the same qid
    Column<std::int64_t> query_number;  // the qid of each run if all are canonical integers
    std::string query_words;            // otherwise, the tokens of the runs, concatenated
    Column<std::int64_t> query_word_end;
    std::string comments;
    Column<std::int64_t> comment_end;
    bool queries_are_numbers = true;
    std::int64_t n_lines = 0, largest_index = -1, smallest_index = INT64_MAX;

    SvmlightReader(LineRules rules, int n_threads) : rules_(rules), n_threads_(n_threads) { row_begin.append(0); }

    std::size_t n_rows() const { return labels.size(); }

    // Reads whole lines. n_characters_left is the length of the text of later calls, 0 if unknown: capacity is reserved
    // for it. After a problem the reader must not be used again.
    std::optional<Problem> read(const char* text, std::size_t n_characters, std::size_t n_characters_left) {
        const std::vector<const char*> cuts = cut_at_line_ends(text, text + n_characters);
        const std::size_t n_parts = cuts.size() - 1;
        if (parts_.size() < n_parts) parts_.resize(n_parts);
        parallel_for(n_parts, n_threads_, [&](std::size_t i) { parts_[i].parse(cuts[i], cuts[i + 1], rules_); });
        for (std::size_t i = 0; i < n_parts; ++i)
            if (const auto problem = check(parts_[i])) return problem;
        append_parts(n_parts, 1 + static_cast<double>(n_characters_left) / static_cast<double>(n_characters));
        return {};
    }

    // Clears the rows, but not the number of lines, the range of indices and whether rows have a qid.
    void reset_rows() {
        row_begin.clear();
        row_begin.append(0);
        for (auto* column : {&query_begin, &query_number, &query_word_end, &comment_end}) column->clear();
        indices.clear();
        values.clear();
        labels.clear();
        query_words.clear();
        comments.clear();
        queries_are_numbers = true;
    }

private:
    // The scratch memory of a part of this length fits a cache.
    static constexpr std::size_t part_characters = std::size_t{1} << 16;

    static std::vector<const char*> cut_at_line_ends(const char* begin, const char* end) {
        std::vector<const char*> cuts{begin};
        while (static_cast<std::size_t>(end - cuts.back()) > part_characters) {
            const char* from = cuts.back() + part_characters;
            cuts.push_back(static_cast<const char*>(std::memchr(from, '\n', end - from)) + 1);
        }
        if (cuts.back() < end) cuts.push_back(end);
        return cuts;
    }

    // Checks that the rows of the part have a qid if and only if the rows before have one.
    std::optional<Problem> check(TextPart<Value>& part) {
        if (part.labels.size() > 0) {
            const bool has = part.has_queries();
            if (has_queries_.value_or(has) != has)
                return detail::disagreement(has ? part.queries[0].token : std::string_view{}, part.first_row);
            has_queries_ = has;
        }
        if (part.problem) return part.problem;
        n_lines += part.n_lines;
        largest_index = std::max(largest_index, part.largest_index);
        smallest_index = std::min(smallest_index, part.smallest_index);
        return {};
    }

    void append_parts(std::size_t n_parts, double growth) {
        std::size_t rows = labels.size(), entries = indices.size();
        std::vector<std::size_t> first_row, first_entry;
        for (std::size_t i = 0; i < n_parts; ++i) {
            first_row.push_back(rows);
            first_entry.push_back(entries);
            rows += parts_[i].labels.size();
            entries += parts_[i].indices.size();
        }
        make_room(rows, entries, growth);
        parallel_for(n_parts, n_threads_, [&](std::size_t i) { copy(parts_[i], first_row[i], first_entry[i]); });
        for (std::size_t i = 0; i < n_parts; ++i) append_texts(parts_[i], first_row[i]);
    }

    // Columns that must grow get the capacity that the remaining text is expected to need.
    void make_room(std::size_t rows, std::size_t entries, double growth) {
        const auto grow = [&](auto& column, std::size_t n, std::size_t n_now) {
            const double added = static_cast<double>(n - column.size()) * (growth - 1) * 1.02;
            if (n > column.capacity()) column.reserve(std::max(n_now == 0 ? n : n + n / 2, n + std::size_t(added)));
            column.grow(n - column.size());
        };
        const std::size_t rows_before = labels.size(), entries_before = indices.size();
        grow(indices, entries, entries_before);
        grow(values, entries, entries_before);
        grow(labels, rows, rows_before);
        grow(row_begin, rows + 1, rows_before);
    }

    void copy(const TextPart<Value>& part, std::size_t row, std::size_t entry) {
        std::copy_n(part.indices.data(), part.indices.size(), indices.data() + entry);
        std::copy_n(part.values.data(), part.values.size(), values.data() + entry);
        std::copy_n(part.labels.data(), part.labels.size(), labels.data() + row);
        for (std::size_t i = 0; i < part.row_end.size(); ++i)
            row_begin[row + 1 + i] = static_cast<std::int64_t>(entry) + part.row_end.data()[i];
    }

    void append_texts(const TextPart<Value>& part, std::size_t row) {
        for (const QueryRun& run : part.queries) append_query(run, static_cast<std::int64_t>(row));
        for (const std::string_view comment : part.comments) {
            comments += comment;
            comment_end.append(static_cast<std::int64_t>(comments.size()));
        }
    }

    void append_query(const QueryRun& run, std::int64_t row) {
        if (query_begin.size() > 0 && run.token == last_token_) return;  // the run continues across parts
        last_token_ = run.token;
        if (queries_are_numbers) {
            const auto number = detail::plain_integer(run.token);
            if (number) query_number.append(*number);
            if (!number) numbers_to_words();
        }
        if (!queries_are_numbers) append_word(run.token);
        query_begin.append(row + run.first_row);
    }

    void numbers_to_words() {
        queries_are_numbers = false;
        for (std::size_t i = 0; i < query_number.size(); ++i) append_word(std::to_string(query_number[i]));
        query_number.clear();
    }

    void append_word(std::string_view word) {
        query_words += word;
        query_word_end.append(static_cast<std::int64_t>(query_words.size()));
    }

    LineRules rules_;
    int n_threads_;
    std::optional<bool> has_queries_;
    std::string last_token_;
    std::vector<TextPart<Value>> parts_;
};

}  // namespace rankwise
