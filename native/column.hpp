// A growing array of trivially copyable values. It grows by realloc, which for large arrays moves pages instead of
// copying them. Capacity that is reserved but not yet written occupies no physical memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rankwise {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using Owned = std::unique_ptr<T[], Free>;

template <class T>
class Column {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    T* data() { return memory_.get(); }
    const T* data() const { return memory_.get(); }
    T& operator[](std::size_t i) { return memory_[i]; }
    T back() const { return memory_[size_ - 1]; }
    void clear() { size_ = 0; }

    // Ensures capacity for n entries.
    void reserve(std::size_t n) {
        if (n > capacity_) resize_memory(n);
    }
    // Clears the column and ensures capacity for n entries.
    void restart(std::size_t n) {
        size_ = 0;
        reserve(n);
    }
    // Requires spare capacity.
    void push(T value) { memory_[size_++] = value; }

    void append(T value) {
        if (size_ == capacity_) reserve(std::max<std::size_t>(16, 2 * size_));
        push(value);
    }
    void append(const T* values, std::size_t n) {
        if (size_ + n > capacity_) reserve(std::max(size_ + n, 2 * size_));
        if (n > 0) std::memcpy(data() + size_, values, n * sizeof(T));
        size_ += n;
    }
    // Appends n uninitialised entries.
    void grow(std::size_t n) {
        reserve(size_ + n);
        size_ += n;
    }

    // Returns the memory, cut to the size of the column, and leaves the column empty.
    Owned<T> release() {
        resize_memory(size_);
        size_ = capacity_ = 0;
        return std::move(memory_);
    }

private:
    void resize_memory(std::size_t n) {
        if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
        void* memory = std::realloc(memory_.get(), std::max<std::size_t>(n, 1) * sizeof(T));
        if (!memory) throw std::bad_alloc();
        (void)memory_.release();
        memory_.reset(static_cast<T*>(memory));
        capacity_ = n;
    }

    Owned<T> memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace rankwise
