// Memory that is kept between calls: the system clears new memory page by page, which for large rankings would take
// longer than counting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "buffer.hpp"

namespace rankwise {

// Uninitialised arrays of trivial types, all released at once by `restart`.
class Scratch {
public:
    // Releases all arrays and merges the memory into one block of at least this many bytes.
    void restart(std::size_t bytes = 0) {
        std::size_t total = 0;
        for (const Block& block : blocks_) total += block.size;
        if (blocks_.size() > 1 || total < bytes) {
            blocks_.clear();
            blocks_.emplace_back(std::max(total, bytes));
        }
        used_ = 0;
    }

    template <class T>
    T* take(std::size_t n) {
        constexpr std::size_t alignment = 64;
        const std::size_t bytes = (n * sizeof(T) + alignment - 1) / alignment * alignment;
        if (blocks_.empty() || used_ + bytes > blocks_.back().size) {
            blocks_.emplace_back(bytes);
            used_ = 0;
        }
        used_ += bytes;
        return reinterpret_cast<T*>(blocks_.back().start() + (used_ - bytes));
    }

    // Releases the arrays that `work` took.
    template <class Work>
    void borrow(Work&& work) {
        const std::size_t n_blocks = blocks_.size(), used = used_;
        work();
        if (blocks_.size() == n_blocks) used_ = used;
    }

private:
    struct Block {
        explicit Block(std::size_t bytes) : size(bytes), memory(bytes + 64) {}
        std::byte* start() const {
            void* at = memory.data();
            std::size_t room = size + 64;
            return static_cast<std::byte*>(std::align(64, size, at, room));
        }
        std::size_t size;
        Buffer<std::byte> memory;
    };
    std::vector<Block> blocks_;
    std::size_t used_ = 0;
};

// Scratch memories, each lent to one task at a time.
class ScratchPool {
public:
    class Lease {
    public:
        Lease(ScratchPool& pool, std::unique_ptr<Scratch> scratch) : pool_(&pool), scratch_(std::move(scratch)) {}
        Lease(Lease&&) = default;
        ~Lease() {
            if (scratch_) pool_->take_back(std::move(scratch_));
        }
        Scratch& operator*() const { return *scratch_; }
        Scratch* operator->() const { return scratch_.get(); }

    private:
        ScratchPool* pool_;
        std::unique_ptr<Scratch> scratch_;
    };

    Lease lend() {
        const std::lock_guard<std::mutex> guard(lock_);
        if (idle_.empty()) return {*this, std::make_unique<Scratch>()};
        Lease lease(*this, std::move(idle_.back()));
        idle_.pop_back();
        return lease;
    }

private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Scratch>> idle_;

    void take_back(std::unique_ptr<Scratch> scratch) {
        const std::lock_guard<std::mutex> guard(lock_);
        idle_.push_back(std::move(scratch));
    }
};

}  // namespace rankwise
