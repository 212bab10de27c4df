// SPDX-License-Identifier: Apache-2.0
// Assertions of conditions that no program, frame or control plane can violate. A false condition is a bug of
// the engine.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace railyard {

// Thrown by ASSERT_ALWAYS in Release builds. The engine must not be used afterwards.
class InvariantError : public std::logic_error {
   public:
    using std::logic_error::logic_error;
};

namespace detail {

[[noreturn, gnu::cold]] inline void abort_at(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: invariant is false: %s\n", file, line, condition);
    std::abort();
}

[[noreturn, gnu::cold]] inline void throw_in(const char* function, const char* condition) {
    throw InvariantError(std::string("engine, ") + function + ": invariant is false: " + condition +
                         "; please report it with the scenario and its seed");
}

}  // namespace detail

// ASSERT ends the process if the condition is false; Release builds do not evaluate it. ASSERT_ALWAYS throws
// InvariantError in Release builds: for conditions whose cost is too small to measure.
#ifdef NDEBUG
#define ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#define ASSERT_ALWAYS(condition)                                \
    do {                                                        \
        if (!(condition)) [[unlikely]]                          \
            ::railyard::detail::throw_in(__func__, #condition); \
    } while (false)
#else
#define ASSERT(condition) \
    ((condition) ? static_cast<void>(0) : ::railyard::detail::abort_at(#condition, __FILE__, __LINE__))
#define ASSERT_ALWAYS(condition) ASSERT(condition)
#endif

}  // namespace railyard
