// Rows as svmlight text that reads back as the same numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "decimal.hpp"

namespace rankwise {

// Concatenated strings; the i-th ends at end[i].
struct Words {
    const char* text;
    const std::int64_t* end;

    std::string_view operator[](std::size_t i) const {
        const std::int64_t begin = i == 0 ? 0 : end[i - 1];
        return {text + begin, static_cast<std::size_t>(end[i] - begin)};
    }
};

// Rows of a CSR matrix with their labels; row_begin starts at 0. Queries and comments are omitted if their text is
// null.
template <class Value>
struct RowsToWrite {
    std::size_t n_rows;
    const std::int64_t* row_begin;
    const std::int64_t* indices;
    const Value* values;
    const double* labels;
    Words queries;
    Words comments;
    std::int64_t first_index;
};

namespace detail {

template <class Number>
void append_number(std::string& text, Number number) {
    char digits[longest_number];
    char* end;
    if constexpr (std::is_integral_v<Number>)
        end = std::to_chars(digits, digits + longest_number, number).ptr;
    else
        end = write_number(digits, number);
    text.append(digits, end);
}

}  // namespace detail

template <class Value>
std::string svmlight_text(const RowsToWrite<Value>& rows) {
    std::string text;
    for (std::size_t row = 0; row < rows.n_rows; ++row) {
        detail::append_number(text, rows.labels[row]);
        if (rows.queries.text) (text += " qid:") += rows.queries[row];
        for (std::int64_t entry = rows.row_begin[row]; entry < rows.row_begin[row + 1]; ++entry) {
            text += ' ';
            detail::append_number(text, rows.indices[entry] + rows.first_index);
            text += ':';
            detail::append_number(text, rows.values[entry]);
        }
        if (rows.comments.text && !rows.comments[row].empty()) (text += " #") += rows.comments[row];
        text += '\n';
    }
    return text;
}

}  // namespace rankwise
