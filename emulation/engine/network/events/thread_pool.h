// SPDX-License-Identifier: Apache-2.0
// Threads that do a piece of work together, again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace railyard {

// Counters that threads wait for have lines of the cache of their own.
class ThreadPool {  // NOLINT(clang-analyzer-optin.performance.Padding)
   public:
    // The caller of run() is a member, so that there is a thread for each of the others.
    ThreadPool(std::size_t members, std::function<void(std::size_t)> work);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;

    // Let each member work once; return when all have. `work` does not throw.
    void run();

   private:
    void serve(std::size_t member);

    std::function<void(std::size_t)> work_;
    alignas(64) std::atomic<std::uint32_t> round_ = 0;
    alignas(64) std::atomic<std::uint32_t> working_ = 0;
    std::atomic<bool> ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace railyard
