// SPDX-License-Identifier: Apache-2.0
// Threads that run rounds of work in parallel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace railyard::network {

// The counters on which threads wait have cache lines of their own.
class ThreadPool {  // NOLINT(clang-analyzer-optin.performance.Padding)
   public:
    // `work` is called with the member's number. The thread that calls run() is member 0, so members - 1
    // threads are started.
    ThreadPool(std::size_t members, std::function<void(std::size_t)> work);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;

    // Let each member work once, and wait until all have finished. `work` must not throw.
    void run();

   private:
    void serve(std::size_t member);

    std::function<void(std::size_t)> work_;
    alignas(64) std::atomic<std::uint32_t> round_ = 0;
    alignas(64) std::atomic<std::uint32_t> working_ = 0;
    std::atomic<bool> ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace railyard::network
