// The order-statistic red-black tree of Airola et al. 2011, section 4.2: equal keys share a node, and each node holds
// the sum of its subtree. It is the reference for the faster counting methods.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rankwise {

template <int K>
class OrderTree {
public:
    explicit OrderTree(std::int64_t capacity) {
        nodes_.reserve(capacity + 1);
        clear();
    }

    void clear() {
        nodes_.assign(1, Node{});  // node 0 is the missing child: black, with sum 0
        root_ = 0;
    }

    void insert(std::int32_t key, const double* value) {
        std::int32_t parent = 0, at = root_;
        while (at) {
            add(nodes_[at].total, value);
            if (nodes_[at].key == key) return add(nodes_[at].own, value);
            parent = at;
            at = nodes_[at].child[key > nodes_[at].key];
        }
        const auto fresh = static_cast<std::int32_t>(nodes_.size());
        nodes_.push_back(Node{});
        Node& node = nodes_.back();
        node.key = key;
        node.parent = parent;
        node.red = true;
        add(node.own, value);
        add(node.total, value);
        if (parent)
            nodes_[parent].child[key > nodes_[parent].key] = fresh;
        else
            root_ = fresh;
        rebalance(fresh);
    }

    // Adds to `sum` the values of all keys above (below) `key`: Count-Larger (Count-Smaller).
    void sum_larger(std::int32_t key, double* sum) const { sum_beyond(key, sum, 1); }
    void sum_smaller(std::int32_t key, double* sum) const { sum_beyond(key, sum, 0); }

private:
    using Sum = std::array<double, K>;
    struct Node {
        std::int32_t key = 0, parent = 0;
        std::int32_t child[2] = {0, 0};
        bool red = false;
        Sum own{}, total{};
    };
    std::vector<Node> nodes_;
    std::int32_t root_ = 0;

    template <class From>
    static void add(Sum& to, const From& from) {
        for (int k = 0; k < K; ++k) to[k] += from[k];
    }

    void sum_beyond(std::int32_t key, double* sum, int side) const {
        for (std::int32_t at = root_; at;) {
            const Node& node = nodes_[at];
            const bool beyond = side ? node.key > key : node.key < key;
            if (beyond)
                for (int k = 0; k < K; ++k) sum[k] += node.own[k] + nodes_[node.child[side]].total[k];
            at = node.child[beyond ? 1 - side : side];
        }
    }

    void refresh(std::int32_t at) {
        Node& node = nodes_[at];
        node.total = node.own;
        add(node.total, nodes_[node.child[0]].total);
        add(node.total, nodes_[node.child[1]].total);
    }

    // Moves the child on the other side of `side` up and `at` down to `side`.
    void rotate(std::int32_t at, int side) {
        const std::int32_t up = nodes_[at].child[1 - side], inner = nodes_[up].child[side];
        const std::int32_t parent = nodes_[at].parent;
        nodes_[at].child[1 - side] = inner;
        if (inner) nodes_[inner].parent = at;
        nodes_[up].child[side] = at;
        nodes_[up].parent = parent;
        nodes_[at].parent = up;
        if (parent)
            nodes_[parent].child[nodes_[parent].child[1] == at] = up;
        else
            root_ = up;
        refresh(at);
        refresh(up);
    }

    // Invariant: the only possible fault is that `at` and its parent are both red.
    void rebalance(std::int32_t at) {
        while (nodes_[nodes_[at].parent].red) {
            std::int32_t parent = nodes_[at].parent;
            const std::int32_t grand = nodes_[parent].parent;
            const int side = nodes_[grand].child[1] == parent;
            const std::int32_t uncle = nodes_[grand].child[1 - side];
            if (nodes_[uncle].red) {
                nodes_[parent].red = nodes_[uncle].red = false;
                nodes_[grand].red = true;
                at = grand;
                continue;
            }
            if (nodes_[parent].child[1 - side] == at) {
                rotate(parent, side);
                std::swap(at, parent);
            }
            nodes_[parent].red = false;
            nodes_[grand].red = true;
            rotate(grand, 1 - side);
        }
        nodes_[root_].red = false;
    }
};

}  // namespace rankwise
