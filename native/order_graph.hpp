// Classes with an order graph: every row of the higher class of an edge should be above every row of the lower one.
// Each class is sorted by score once; an edge is then one walk over its two classes.
#pragma once

#include <vector>

#include "ranking.hpp"

namespace rankwise {

// Class k holds the positions class_begin[k] to class_begin[k + 1] of `row`.
struct OrderGraph {
    const std::int32_t* row;
    const std::int64_t* class_begin;
    std::int64_t n_classes;
    const std::int32_t* higher;
    const std::int32_t* lower;
    std::int64_t n_edges;
};

namespace detail {

// The rows of all classes, each class in score order, with running sums of the numbers that rows add to their partners.
template <int K>
struct SortedClasses {
    std::vector<std::int32_t> row;
    std::vector<double> score, from_start, to_end, up, down;

    SortedClasses(const OrderGraph& graph, const double* scores, const RowColumns& columns, int n_threads) {
        const std::int64_t n = graph.class_begin[graph.n_classes];
        row.assign(graph.row, graph.row + n);
        score.resize(n);
        up.assign(n * K, 0.0);
        down.assign(n * K, 0.0);
        // One more entry per class: the empty sum.
        from_start.resize((n + graph.n_classes) * K);
        to_end.resize((n + graph.n_classes) * K);
        parallel_for(graph.n_classes, n_threads, [&](std::size_t k) {
            const std::int64_t begin = graph.class_begin[k], end = graph.class_begin[k + 1];
            std::stable_sort(row.begin() + begin, row.begin() + end,
                             [&](std::int32_t a, std::int32_t b) { return scores[a] < scores[b]; });
            for (std::int64_t p = begin; p < end; ++p) score[p] = scores[row[p]];
            run_sums(columns, begin, end, k);
        });
    }

    void run_sums(const RowColumns& columns, std::int64_t begin, std::int64_t end, std::int64_t k) {
        double sum[K] = {};
        auto add_row = [&](std::int64_t p) {
            const double weight = or_one(columns.weight, row[p]);
            sum[0] += weight;
            if constexpr (K == 2) sum[1] += weight * columns.moment[row[p]];
        };
        for (std::int64_t p = begin; p <= end; ++p) {
            std::copy_n(sum, K, from_start.data() + (p + k) * K);
            if (p < end) add_row(p);
        }
        std::fill_n(sum, K, 0.0);
        std::copy_n(sum, K, to_end.data() + (end + k) * K);
        for (std::int64_t p = end - 1; p >= begin; --p) {
            add_row(p);
            std::copy_n(sum, K, to_end.data() + (p + k) * K);
        }
    }

    // One walk through the scores of two classes. Returns the weight of the violated pairs of the edge.
    double walk_edge(const OrderGraph& graph, std::int64_t edge, double margin, const double* weight) {
        const std::int64_t high_class = graph.higher[edge], low_class = graph.lower[edge];
        const std::int64_t end = graph.class_begin[low_class + 1], high_end = graph.class_begin[high_class + 1];
        std::int64_t i = graph.class_begin[low_class], high = graph.class_begin[high_class];
        double violated_weight = 0;
        while (i < end) {
            if (high < high_end && violated(score[high], score[i], margin)) {
                add<K>(down.data() + high * K, to_end.data() + (i + low_class) * K);
                ++high;
            } else {
                const double* sums = from_start.data() + (high + high_class) * K;
                add<K>(up.data() + i * K, sums);
                violated_weight += or_one(weight, row[i]) * sums[0];
                ++i;
            }
        }
        return violated_weight;
    }
};

}  // namespace detail

template <int K>
void sum_order_graph(const OrderGraph& graph, const double* scores, double margin, const RowColumns& columns,
                     int n_threads, const RowSums& out, double* violated_weight) {
    detail::SortedClasses<K> classes(graph, scores, columns, n_threads);
    for (std::int64_t edge = 0; edge < graph.n_edges; ++edge)
        violated_weight[edge] = classes.walk_edge(graph, edge, margin, columns.weight);
    for (std::size_t p = 0; p < classes.row.size(); ++p) {
        const std::int32_t row = classes.row[p];
        for (int m = 0; m < K; ++m) {
            out.up[m][row] = detail::or_one(columns.weight, row) * classes.up[p * K + m];
            out.down[m][row] = detail::or_one(columns.weight, row) * classes.down[p * K + m];
        }
    }
}

}  // namespace rankwise
