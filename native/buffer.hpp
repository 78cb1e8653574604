// Uninitialised scratch memory. Large buffers use huge pages: counting accesses its scratch at random, and from a
// million rows on, address translation of small pages would take most of the time.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "compiler.hpp"

#ifdef RANKWISE_HUGE_PAGES
#include <sys/mman.h>
#endif

namespace rankwise {

template <class T>
class Buffer {
    static_assert(std::is_trivially_destructible_v<T>);

public:
    explicit Buffer(std::size_t n) : memory_(static_cast<T*>(allocate(n * sizeof(T)))) {}
    T* data() const { return memory_.get(); }

private:
#ifdef RANKWISE_HUGE_PAGES
    static void* allocate(std::size_t bytes) {
        constexpr std::size_t huge_page = std::size_t{1} << 21;
        const bool large = bytes >= 2 * huge_page;
        void* memory = large ? std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page)
                             : std::malloc(bytes ? bytes : 1);
        if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        if (large) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
        return memory;
    }
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
#else
    static void* allocate(std::size_t bytes) { return ::operator new(bytes); }
    struct Free {
        void operator()(T* memory) const { ::operator delete(memory); }
    };
#endif
    std::unique_ptr<T, Free> memory_;
};

}  // namespace rankwise
