// Large arrays in unnamed files: memory that the system may write out and read back, page by page.
//
// The pages of a shared map of a file are not anonymous memory: if memory is short, they go to the file, so an array
// may be larger than the memory. The blocks of the file are reserved at once; so a full disk is an error of the
// allocation, not a crash at a later write. The file is deleted with its array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "compiler.hpp"

#ifdef RANKWISE_MAPS_FILES
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace rankwise::file_memory {

// Maps begin at a page; page sizes are multiples of this on all systems.
constexpr std::uintptr_t page_divisor = 4096;

// The folder for arrays of at least fewest_bytes; an empty name stands for none.
struct Place {
    std::string folder;
    std::size_t fewest_bytes;
};

// The place of the arrays of this thread.
inline Place& place() {
    static thread_local Place here{};
    return here;
}

inline bool wanted(std::size_t bytes) { return !place().folder.empty() && bytes >= place().fewest_bytes; }

#ifdef RANKWISE_MAPS_FILES
constexpr bool supported = true;
#else
constexpr bool supported = false;
#endif

namespace detail {

// The arrays in files with their sizes. Any thread may free an array.
struct Maps {
    std::mutex lock;
    std::unordered_map<void*, std::size_t> bytes;
};

inline Maps& maps() {
    static Maps* const all = new Maps;  // never destroyed: arrays may outlive all other objects
    return *all;
}

#ifdef RANKWISE_MAPS_FILES
inline bool reserve(int file, std::size_t bytes) {
#ifdef __linux__
    return posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
#else
    return ftruncate(file, static_cast<off_t>(bytes)) == 0;
#endif
}

inline void* map_file(std::size_t bytes) {
    std::string name = place().folder + "/.rankwise-XXXXXX";
    const int file = mkstemp(name.data());
    if (file < 0) return nullptr;
    unlink(name.c_str());
    void* memory =
        reserve(file, bytes) ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    return memory == MAP_FAILED ? nullptr : memory;
}

inline void unmap(void* memory, std::size_t bytes) { munmap(memory, bytes); }
#else
inline void* map_file(std::size_t) { return nullptr; }
inline void unmap(void*, std::size_t) {}
#endif

}  // namespace detail

// Zeros in a file, or a null pointer if there is no room.
inline void* allocate(std::size_t bytes) {
    void* memory = detail::map_file(bytes);
    if (!memory) return nullptr;
    const std::lock_guard<std::mutex> guard(detail::maps().lock);
    detail::maps().bytes.emplace(memory, bytes);
    return memory;
}

// The size of an array in a file; 0 for all other memory.
inline std::size_t size_of(void* memory) {
    if (reinterpret_cast<std::uintptr_t>(memory) % page_divisor != 0) return 0;
    const std::lock_guard<std::mutex> guard(detail::maps().lock);
    const auto found = detail::maps().bytes.find(memory);
    return found == detail::maps().bytes.end() ? 0 : found->second;
}

// The total size in bytes of the arrays in files.
inline std::size_t total() {
    const std::lock_guard<std::mutex> guard(detail::maps().lock);
    std::size_t sum = 0;
    for (const auto& [memory, bytes] : detail::maps().bytes) sum += bytes;
    return sum;
}

inline void release(void* memory) {
    const std::size_t bytes = size_of(memory);
    {
        const std::lock_guard<std::mutex> guard(detail::maps().lock);
        detail::maps().bytes.erase(memory);
    }
    detail::unmap(memory, bytes);
}

// The memory handler of numpy's arrays (NEP 49). Small arrays stay on the heap.
struct NumpyAllocator {
    void* context;
    void* (*malloc)(void*, std::size_t);
    void* (*calloc)(void*, std::size_t, std::size_t);
    void* (*realloc)(void*, void*, std::size_t);
    void (*free)(void*, void*, std::size_t);
};

struct NumpyHandler {
    char name[127];
    unsigned char version;
    NumpyAllocator allocator;
};

inline void* numpy_malloc(void*, std::size_t bytes) { return wanted(bytes) ? allocate(bytes) : std::malloc(bytes); }

inline void* numpy_calloc(void*, std::size_t n, std::size_t size) {
    return wanted(n * size) ? allocate(n * size) : std::calloc(n, size);
}

inline void numpy_free(void*, void* memory, std::size_t) {
    if (size_of(memory) > 0)
        release(memory);
    else
        std::free(memory);
}

inline void* numpy_realloc(void* context, void* memory, std::size_t bytes) {
    const std::size_t before = memory ? size_of(memory) : 0;
    if (before == 0) return std::realloc(memory, bytes);
    void* moved = numpy_malloc(context, bytes);
    if (!moved) return nullptr;
    std::memcpy(moved, memory, before < bytes ? before : bytes);
    release(memory);
    return moved;
}

inline NumpyHandler numpy_handler = {
    "rankwise files", 1, {nullptr, numpy_malloc, numpy_calloc, numpy_realloc, numpy_free}};

}  // namespace rankwise::file_memory
