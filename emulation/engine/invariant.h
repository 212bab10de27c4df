// SPDX-License-Identifier: Apache-2.0
// Statements that hold whatever programs, frames and control planes do. A false one is a mistake of the
// engine.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace railyard {

// An invariant of builds without assertions is false. The state of the engine is of no further use.
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

// ASSERT ends the process. It costs nothing in a Release build, where the condition is not evaluated.
// ASSERT_ALWAYS throws InvariantError in a Release build: for conditions that cost less than can be measured.
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
