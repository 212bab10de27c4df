// SPDX-License-Identifier: Apache-2.0
#include "network/events/thread_pool.h"

#include <utility>

namespace railyard::network {

namespace {

// Wait until a value differs from `old`, and return it: spin for some microseconds, then sleep.
std::uint32_t differs(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
    constexpr int kLooks = 500;
    for (int i = 0; i < kLooks; ++i) {
        if (const std::uint32_t now = value.load(std::memory_order_acquire); now != old) return now;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    value.wait(old, std::memory_order_acquire);
    return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(std::size_t members, std::function<void(std::size_t)> work) : work_(std::move(work)) {
    for (std::size_t member = 1; member < members; ++member)
        threads_.emplace_back([this, member] { serve(member); });
}

ThreadPool::~ThreadPool() {
    ended_ = true;
    ++round_;
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run() {
    working_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    work_(0);
    for (std::uint32_t left = working_.load(std::memory_order_acquire); left > 0;)
        left = differs(working_, left);
}

void ThreadPool::serve(std::size_t member) {
    for (std::uint32_t round = 0;;) {
        round = differs(round_, round);
        if (ended_) return;
        work_(member);
        if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_all();
    }
}

}  // namespace railyard::network
