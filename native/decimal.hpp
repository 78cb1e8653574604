// Decimal text to numbers and back, in any locale. Reading yields the nearest double; writing yields the shortest text
// that reads back as the same number.
//
// Text to read must end with a character that is no part of a number, such as a line feed.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "compiler.hpp"

// libc++ cannot write floating-point numbers before macOS 13.3 and could not read them until later. The C library can.
#if !defined(RANKWISE_C_NUMBERS) && !(defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L)
#define RANKWISE_C_NUMBERS
#endif

#ifdef RANKWISE_C_NUMBERS
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#endif

namespace rankwise {

enum class NumberStatus { good, malformed, not_finite, too_large };

// The most characters of a number.
constexpr std::size_t longest_number = 32;

namespace detail {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Each byte of eight_digits holds the character of a digit, the first one in the lowest byte. Neighbors are joined
// three times: to four numbers of two digits, two of four digits and one of eight.
inline std::uint64_t join_digits(std::uint64_t eight_digits) {
    std::uint64_t joined = eight_digits & 0x0F0F0F0F0F0F0F0F;
    joined = (joined * 10 + (joined >> 8)) & 0x00FF00FF00FF00FF;
    joined = (joined * 100 + (joined >> 16)) & 0x0000FFFF0000FFFF;
    return (joined * 10000 + (joined >> 32)) & 0xFFFFFFFF;
}

// Digits are the characters 0x30 to 0x39: the upper half of the byte is 3, and still is after adding 6.
inline bool all_digits(std::uint64_t eight) {
    constexpr std::uint64_t upper = 0xF0F0F0F0F0F0F0F0, three = 0x3030303030303030;
    return ((eight & upper) == three) && (((eight + 0x0606060606060606) & upper) == three);
}

// Appends the digits at p to number, modulo 2^64, and returns their end.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& number) {
    if constexpr (std::endian::native == std::endian::little) {
        while (end - p >= 8) {
            std::uint64_t eight;
            std::memcpy(&eight, p, 8);
            if (!all_digits(eight)) break;
            number = number * 100000000 + join_digits(eight);
            p += 8;
        }
    }
    for (; is_digit(*p); ++p) number = number * 10 + static_cast<std::uint64_t>(*p - '0');
    return p;
}

// (-1)^negative * digits * 10^exponent, exact for at most 19 digits.
struct Decimal {
    const char* begin;  // after the sign
    const char* end;
    std::uint64_t digits = 0;
    std::int64_t n_digits = 0;
    std::int64_t exponent = 0;
    bool negative;
};

// Returns false if the exponent has no digits.
inline bool read_exponent(const char* end, Decimal& decimal) {
    const char* p = decimal.end + 1;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char* first = p;
    std::int64_t exponent = 0;
    for (; p < end && is_digit(*p); ++p)
        if (exponent < 1000000000) exponent = exponent * 10 + (*p - '0');
    decimal.exponent += negative ? -exponent : exponent;
    decimal.end = p;
    return p > first;
}

inline bool read_decimal(const char* p, const char* end, Decimal& decimal) {
    decimal.negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    decimal.begin = p;
    const char* stop = read_digits(p, end, decimal.digits);
    decimal.n_digits = stop - p;
    if (*stop == '.') {
        p = stop + 1;
        stop = read_digits(p, end, decimal.digits);
        decimal.n_digits += stop - p;
        decimal.exponent = p - stop;
    }
    decimal.end = stop;
    if (decimal.n_digits == 0) return false;
    return (*stop != 'e' && *stop != 'E') || read_exponent(end, decimal);
}

inline bool spells_no_number(const char* p) {
    if (*p == '-' || *p == '+') ++p;
    const auto spelt = [p](const char* word) {
        for (int i = 0; i < 3; ++i)
            if ((p[i] | 0x20) != word[i]) return false;  // a line feed ends the comparison
        return true;
    };
    return spelt("nan") || spelt("inf");
}

#ifdef RANKWISE_C_NUMBERS
inline locale_t c_locale() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
}
inline double nearest(const Decimal& decimal, double) { return strtod_l(decimal.begin, nullptr, c_locale()); }
inline float nearest(const Decimal& decimal, float) { return strtof_l(decimal.begin, nullptr, c_locale()); }
#else
// from_chars does not distinguish overflow from underflow; the place of the first digit does.
template <class Value>
Value nearest(const Decimal& decimal, Value) {
    Value value = 0;
    if (std::from_chars(decimal.begin, decimal.end, value).ec != std::errc::result_out_of_range) return value;
    const char* p = decimal.begin;
    std::int64_t zeros = 0;
    for (; *p == '0' || *p == '.'; ++p) zeros += *p == '0';
    return decimal.n_digits - zeros + decimal.exponent > 0 ? std::numeric_limits<Value>::infinity() : Value(0);
}
#endif

#ifdef RANKWISE_LONG_DIGITS
__extension__ typedef unsigned __int128 Wide;

// The first 128 bits of 1 / 5^k, truncated: floor(2^shift / 5^k), with a shift that sets the highest bit.
struct Reciprocal {
    std::uint64_t high, low;
    int shift;
};

constexpr std::int64_t most_decimals = 27;  // 5^27 is the last power below 2^63

constexpr Reciprocal reciprocal_of_power(std::int64_t k) {
    std::uint64_t power = 1;
    for (std::int64_t i = 0; i < k; ++i) power *= 5;
    Reciprocal result{0, 0, 127 + static_cast<int>(std::bit_width(power))};
    std::uint64_t rest = 1;  // long division, bit by bit, after the leading 1 of 2^shift
    for (int bit = 0; bit < result.shift; ++bit) {
        rest *= 2;
        const bool fits = rest >= power;
        if (fits) rest -= power;
        result.high = result.high << 1 | result.low >> 63;
        result.low = result.low << 1 | fits;
    }
    return result;
}

struct Reciprocals {
    Reciprocal of[most_decimals + 1] = {};
    constexpr Reciprocals() {
        for (std::int64_t k = 1; k <= most_decimals; ++k) of[k] = reciprocal_of_power(k);
    }
};
inline constexpr Reciprocals reciprocals;

// digits * 10^-k, or a negative number if 128 bits do not determine the rounding. digits is not 0.
//
// The reciprocal is too small by less than one unit of its last bit. So the first 128 bits of the product, `top`, are
// too small by less than two units: the rounding is undetermined only if the remainder is that close to one half.
inline double divide_by_power(std::uint64_t digits, std::int64_t k) {
    const Reciprocal& reciprocal = reciprocals.of[k];
    const int zeros = std::countl_zero(digits);
    const std::uint64_t factor = digits << zeros;
    const Wide low = static_cast<Wide>(factor) * reciprocal.low;
    const Wide top = static_cast<Wide>(factor) * reciprocal.high + (low >> 64);
    const int dropped = top >> 127 ? 75 : 74;  // leaves 53 bits
    const Wide half = static_cast<Wide>(1) << (dropped - 1);
    const Wide rest = top & (2 * half - 1);
    if (rest + 2 >= half && rest <= half) return -1;
    const std::uint64_t mantissa = static_cast<std::uint64_t>(top >> dropped) + (rest > half);
    const std::int64_t exponent = dropped + 64 - reciprocal.shift - k - zeros;
    return static_cast<double>(mantissa) * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}
#endif

// Digits up to 2^53 and powers of ten up to 10^22 are exact doubles: their product or quotient is rounded once.
inline double magnitude(const Decimal& decimal) {
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;
    if (decimal.n_digits <= 19 && decimal.digits <= exact && decimal.exponent >= -22 && decimal.exponent <= 22) {
        const double digits = static_cast<double>(decimal.digits);
        return decimal.exponent < 0 ? digits / power_of_ten[-decimal.exponent]
                                    : digits * power_of_ten[decimal.exponent];
    }
#ifdef RANKWISE_LONG_DIGITS
    if (decimal.n_digits <= 19 && decimal.digits > 0 && decimal.exponent < 0 && decimal.exponent >= -most_decimals) {
        const double quotient = divide_by_power(decimal.digits, -decimal.exponent);
        if (quotient >= 0) return quotient;
    }
#endif
    return nearest(decimal, double{});
}

// Rounding to double and then to float is wrong only if the double is half-way between two floats. Below the smallest
// normal float the half-way points are elsewhere.
inline float narrow(const Decimal& decimal, double value) {
    if (value == 0) return 0;
    const bool half_way = (std::bit_cast<std::uint64_t>(value) & 0x1FFFFFFF) == 0x10000000;
    if (half_way || value < std::numeric_limits<float>::min() || value > std::numeric_limits<float>::max())
        return nearest(decimal, float{});
    return static_cast<float>(value);
}

}  // namespace detail

// Reads the number at p, a finite decimal with or without sign, point and exponent, and moves p past it if good. A
// number that underflows becomes the nearest denormal number or zero.
template <class Value>
NumberStatus read_number(const char*& p, const char* end, Value& value) {
    detail::Decimal decimal;
    if (!detail::read_decimal(p, end, decimal))
        return detail::spells_no_number(p) ? NumberStatus::not_finite : NumberStatus::malformed;
    Value size;
    if constexpr (std::is_same_v<Value, float>)
        size = detail::narrow(decimal, detail::magnitude(decimal));
    else
        size = detail::magnitude(decimal);
    if (std::isinf(size)) return NumberStatus::too_large;
    value = decimal.negative ? -size : size;
    p = decimal.end;
    return NumberStatus::good;
}

// Writes a finite number at p, which has room for longest_number characters, and returns its end.
template <class Value>
char* write_number(char* p, Value value) {
#ifdef RANKWISE_C_NUMBERS
    constexpr int sure = std::numeric_limits<Value>::max_digits10;
    const locale_t before = uselocale(detail::c_locale());
    int length = 0;
    for (int digits = std::numeric_limits<Value>::digits10; digits <= sure; ++digits) {
        length = snprintf(p, longest_number, "%.*g", digits, static_cast<double>(value));
        if (static_cast<Value>(strtod(p, nullptr)) == value) break;
    }
    uselocale(before);
    return p + length;
#else
    return std::to_chars(p, p + longest_number, value).ptr;
#endif
}

}  // namespace rankwise
