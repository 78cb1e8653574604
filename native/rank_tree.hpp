// Counts and sums over the ranks below a given one, while rows are entered one after the other. docs/counting.md
// explains why the counting needs them.
//
// The tree over the ranks has eight children per node. Entry c of a node holds the sum over its children 0 to c - 1. To
// enter a row is to put it into its leaf, which has several ranks, and to add it to the entries after its child in one
// node per level; these are adjacent in memory. The sum below a rank is that within its leaf and one entry per level.
// Nothing is ever subtracted, so no digits cancel.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>

#include "scratch.hpp"
#include "vectors.hpp"

namespace rankwise::detail {

constexpr int fan_out = 8, fan_bits = 3;

// For each child of a node, the entries after it.
struct AfterChild {
    alignas(64) std::int64_t mask[fan_out][fan_out];
    alignas(64) std::int32_t one[fan_out][fan_out];
};

constexpr AfterChild make_after_child() {
    AfterChild table{};
    for (int child = 0; child < fan_out; ++child)
        for (int entry = child + 1; entry < fan_out; ++entry) {
            table.mask[child][entry] = -1;
            table.one[child][entry] = 1;
        }
    return table;
}

inline constexpr AfterChild after_child = make_after_child();

constexpr int leaf_ranks = 16, leaf_bits = 4;

// From index leaf_ranks - c on: c entries with all bits set, then entries of 0.
struct FirstInLeaf {
    std::int64_t mask[2 * leaf_ranks];
};

constexpr FirstInLeaf make_first_in_leaf() {
    FirstInLeaf table{};
    for (int entry = 0; entry < leaf_ranks; ++entry) table.mask[entry] = -1;
    return table;
}

inline constexpr FirstInLeaf first_in_leaf = make_first_in_leaf();

#if defined(RANKWISE_GNU)
template <class Cpu>
RANKWISE_INLINE void add_after(double* node, std::uint32_t child, double x) {
    // At most four: some CPUs do not forward wider stores to a load that follows immediately.
    constexpr std::size_t width = Cpu::width < 4 ? Cpu::width : 4;
    using Lanes = typename LanesOf<width>::type;
    typedef std::int64_t Mask __attribute__((vector_size(sizeof(Lanes))));
    const Mask bits = (Mask)(x - Lanes{});
    for (std::size_t v = 0; v < fan_out; v += width) {
        Lanes sum;
        Mask mask;
        std::memcpy(&sum, node + v, sizeof sum);
        std::memcpy(&mask, after_child.mask[child] + v, sizeof mask);
        sum += (Lanes)(bits & mask);
        std::memcpy(node + v, &sum, sizeof sum);
    }
}
// The sum of the first `count` numbers of a leaf.
template <class Cpu>
RANKWISE_INLINE double sum_of_first(const double* leaf, std::uint32_t count) {
    using Lanes = typename Cpu::Lanes;
    typedef std::int64_t Mask __attribute__((vector_size(sizeof(Lanes))));
    Lanes sum{};
    for (std::size_t v = 0; v < leaf_ranks; v += Cpu::width) {
        Mask bits, mask;
        std::memcpy(&bits, leaf + v, sizeof bits);
        std::memcpy(&mask, first_in_leaf.mask + leaf_ranks - count + v, sizeof mask);
        sum += (Lanes)(bits & mask);
    }
    double lane[Cpu::width];
    std::memcpy(lane, &sum, sizeof lane);
    for (std::size_t half = Cpu::width / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    return lane[0];
}
template <class Cpu>
RANKWISE_INLINE void count_after(std::int32_t* node, std::uint32_t child) {
    constexpr std::size_t width = Cpu::width < 4 ? 4 : fan_out;
    typedef std::int32_t Lanes __attribute__((vector_size(width * sizeof(std::int32_t))));
    for (std::size_t v = 0; v < fan_out; v += width) {
        Lanes count, one;
        std::memcpy(&count, node + v, sizeof count);
        std::memcpy(&one, after_child.one[child] + v, sizeof one);
        count += one;
        std::memcpy(node + v, &count, sizeof count);
    }
}
RANKWISE_INLINE std::int32_t ones_in(std::uint64_t bits) { return __builtin_popcountll(bits); }
RANKWISE_INLINE void fetch_ahead(const void* address) { __builtin_prefetch(address); }
#else
template <class Cpu>
inline void add_after(double* node, std::uint32_t child, double x) {
    for (std::uint32_t entry = child + 1; entry < fan_out; ++entry) node[entry] += x;
}
template <class Cpu>
inline double sum_of_first(const double* leaf, std::uint32_t count) {
    double sum = 0;
    for (std::uint32_t entry = 0; entry < count; ++entry) sum += leaf[entry];
    return sum;
}
template <class Cpu>
inline void count_after(std::int32_t* node, std::uint32_t child) {
    for (int entry = 0; entry < fan_out; ++entry) node[entry] += after_child.one[child][entry];
}
inline std::int32_t ones_in(std::uint64_t bits) { return std::popcount(bits); }
inline void fetch_ahead(const void*) {}
#endif

// The smallest of some depths with 8^depth > n. n is below 2^27: there are less than 2^31 rows and at least 16 per leaf
// or word.
constexpr int greatest_depth = 9;
inline int depth_over(std::int64_t n) {
    return n < 1 << 3 ? 1 : n < 1 << 9 ? 3 : n < 1 << 15 ? 5 : n < 1 << 18 ? 6 : n < 1 << 21 ? 7 : greatest_depth;
}

// Calls work with a depth as a type: only the loops that enter and read rows are compiled for each.
template <int depth>
struct Depth {
    static constexpr int value = depth;
};
template <class Work>
void at_depth(int depth, Work&& work) {
    if (depth == 1) return work(Depth<1>{});
    if (depth == 3) return work(Depth<3>{});
    if (depth == 5) return work(Depth<5>{});
    if (depth == 6) return work(Depth<6>{});
    if (depth == 7) return work(Depth<7>{});
    work(Depth<greatest_depth>{});
}

using LevelStarts = std::array<std::int64_t, greatest_depth + 1>;

// The begin of each level of a tree over n + 1 places with `tables` numbers per entry; last, the total size.
inline LevelStarts level_starts(std::int64_t n, int depth, int tables) {
    LevelStarts start{};
    for (int l = 0; l < depth; ++l) start[l + 1] = start[l] + ((n >> (fan_bits * l)) / fan_out + 1) * fan_out * tables;
    return start;
}

// K sums below every rank from 0 to n. enter and read are to be called with `depth`.
template <int K>
class RankSums {
public:
    const int depth;

    RankSums(Scratch& scratch, std::int64_t n) : depth(depth_over(n >> leaf_bits)) {
        const LevelStarts start = level_starts(n >> leaf_bits, depth, K);
        n_leaves_ = (n >> leaf_bits) + 1;
        const std::int64_t in_leaves = n_leaves_ * leaf_ranks * K;
        leaves_ = scratch.take<double>(in_leaves + start[depth]);
        std::fill_n(leaves_, in_leaves + start[depth], 0.0);
        for (int l = 0; l <= depth; ++l) level_[l] = leaves_ + in_leaves + start[l];
    }

    template <class Cpu, int levels>
    RANKWISE_INLINE void enter(std::uint32_t rank, const double* values) {
        put(rank, values);
        rank >>= leaf_bits;
        RANKWISE_UNROLL_LEVELS
        for (int l = 0; l < levels; ++l, rank >>= fan_bits)
            for (int k = 0; k < K; ++k) add_after<Cpu>(node(l, rank) + k * fan_out, rank % fan_out, values[k]);
    }
    template <class Cpu, int levels>
    RANKWISE_INLINE void read(std::uint32_t rank, double* below) const {
        double sum[K];
        for (int k = 0; k < K; ++k) sum[k] = sum_of_first<Cpu>(leaf(rank) + k * leaf_ranks, rank % leaf_ranks);
        rank >>= leaf_bits;
        RANKWISE_UNROLL_LEVELS
        for (int l = 0; l < levels; ++l, rank >>= fan_bits)
            for (int k = 0; k < K; ++k) sum[k] += node(l, rank)[k * fan_out + rank % fan_out];
        for (int k = 0; k < K; ++k) below[k] = sum[k];
    }
    RANKWISE_INLINE void fetch_to_enter(std::uint32_t rank) const {
        for (int k = 0; k < K; ++k) fetch_ahead(leaf(rank) + k * leaf_ranks + rank % leaf_ranks);
    }
    RANKWISE_INLINE void fetch_to_read(std::uint32_t rank) const {
        for (int k = 0; k < K * leaf_ranks; k += fan_out) fetch_ahead(leaf(rank) + k);
    }

    // Many rows at once, in linear time: `put` each, then `settle`.
    RANKWISE_INLINE void put(std::uint32_t rank, const double* values) {
        for (int k = 0; k < K; ++k) leaf(rank)[k * leaf_ranks + rank % leaf_ranks] = values[k];
    }
    void settle() {
        for (std::int64_t i = 0; i < n_leaves_ * K; ++i)
            node(0, i / K)[i % K * fan_out + i / K % fan_out] =
                std::accumulate(leaves_ + i * leaf_ranks, leaves_ + (i + 1) * leaf_ranks, 0.0);
        for (int l = 0; l < depth; ++l) {
            const std::int64_t n_nodes = (level_[l + 1] - level_[l]) / (K * fan_out);
            for (std::int64_t i = 0; i < n_nodes; ++i)
                for (int k = 0; k < K; ++k) {
                    double* entry = level_[l] + (i * K + k) * fan_out;
                    double sum = 0;
                    for (int c = 0; c < fan_out; ++c) {
                        const double own = entry[c];
                        entry[c] = sum;
                        sum += own;
                    }
                    if (l + 1 < depth) node(l + 1, i)[k * fan_out + i % fan_out] = sum;
                }
        }
    }

private:
    std::int64_t n_leaves_;
    double* leaves_;
    std::array<double*, greatest_depth + 1> level_;

    RANKWISE_INLINE double* leaf(std::uint32_t rank) const {
        return leaves_ + std::int64_t{rank >> leaf_bits} * (leaf_ranks * K);
    }
    RANKWISE_INLINE double* node(int level, std::uint64_t place) const {
        return level_[level] + place / fan_out * (K * fan_out);
    }
};

// The number of rows below every rank from 0 to n: a bit per rank, and a tree over words of 64 bits.
class RankCounts {
public:
    static constexpr int word_bits = 6;
    const int depth;

    RankCounts(Scratch& scratch, std::int64_t n) : depth(depth_over(n >> word_bits)), n_words_((n >> word_bits) + 1) {
        const LevelStarts start = level_starts(n >> word_bits, depth, 1);
        words_ = scratch.take<std::uint64_t>(n_words_);
        std::fill_n(words_, n_words_, 0);
        auto* memory = scratch.take<std::int32_t>(start[depth]);
        std::fill_n(memory, start[depth], 0);
        for (int l = 0; l <= depth; ++l) level_[l] = memory + start[l];
    }

    template <class Cpu, int levels>
    RANKWISE_INLINE void enter(std::uint32_t rank) {
        put(rank);
        std::uint32_t place = rank >> word_bits;
        RANKWISE_UNROLL_LEVELS
        for (int l = 0; l < levels; ++l, place >>= fan_bits)
            count_after<Cpu>(level_[l] + (place & ~(fan_out - 1u)), place % fan_out);
    }
    template <int levels>
    RANKWISE_INLINE std::int32_t below(std::uint32_t rank) const {
        std::uint32_t place = rank >> word_bits;
        std::int32_t count = ones_in(words_[place] & ((std::uint64_t{1} << rank % 64) - 1));
        RANKWISE_UNROLL_LEVELS
        for (int l = 0; l < levels; ++l, place >>= fan_bits) count += level_[l][place];
        return count;
    }

    // Many rows at once, as in RankSums.
    RANKWISE_INLINE void put(std::uint32_t rank) { words_[rank >> word_bits] |= std::uint64_t{1} << rank % 64; }
    void settle() {
        for (std::int64_t i = 0; i < n_words_; ++i) level_[0][i] = std::popcount(words_[i]);
        for (int l = 0; l < depth; ++l)
            for (std::int64_t i = 0; i < (level_[l + 1] - level_[l]) / fan_out; ++i) {
                std::int32_t count = 0;
                for (int c = 0; c < fan_out; ++c) {
                    const std::int32_t own = level_[l][i * fan_out + c];
                    level_[l][i * fan_out + c] = count;
                    count += own;
                }
                if (l + 1 < depth) level_[l + 1][i] = count;
            }
    }

private:
    std::int64_t n_words_;
    std::uint64_t* words_;
    std::array<std::int32_t*, greatest_depth + 1> level_;
};

}  // namespace rankwise::detail
