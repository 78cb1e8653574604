// Fork-join over a fixed number of tasks. An atomic counter assigns the tasks to threads; the result of a task must not
// depend on its thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

namespace rankwise {

namespace detail {

// Tasks of any type by their address, so that the code for threads is compiled once.
using CallTask = void (*)(void* task, std::size_t i);

inline void run_tasks(std::size_t n_tasks, std::size_t workers, void* task, CallTask call) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    auto work = [&] {
        try {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks;) call(task, i);
        } catch (...) {
            std::lock_guard<std::mutex> guard(failure_lock);
            if (!failure) failure = std::current_exception();
            next = n_tasks;
        }
    };
    std::vector<std::thread> helpers;
    try {
        for (std::size_t t = 1; t < workers; ++t) helpers.emplace_back(work);
    } catch (const std::system_error&) {
        // The system has no more threads: the existing ones run all tasks.
    }
    work();
    for (auto& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace detail

template <class Task>
void parallel_for(std::size_t n_tasks, int n_threads, Task&& task) {
    const detail::CallTask call = [](void* given, std::size_t i) {
        (*static_cast<std::remove_reference_t<Task>*>(given))(i);
    };
    const std::size_t workers = std::min<std::size_t>(n_tasks, n_threads < 1 ? 1 : n_threads);
    if (workers > 1) return detail::run_tasks(n_tasks, workers, &task, call);
    for (std::size_t i = 0; i < n_tasks; ++i) call(&task, i);
}

// Runs both, the second on another thread if the system has one. Neither may throw.
template <class Here, class Elsewhere>
void run_both(Here&& here, Elsewhere&& elsewhere) {
    std::thread helper;
    try {
        helper = std::thread(elsewhere);
    } catch (const std::system_error&) {
        elsewhere();
    }
    here();
    if (helper.joinable()) helper.join();
}

}  // namespace rankwise
