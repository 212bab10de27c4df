// SPDX-License-Identifier: Apache-2.0
// Statements that hold whatever programs, frames and control planes do. A false one is a mistake of the
// engine.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace railyard::detail {

[[noreturn, gnu::cold]] inline void abort_at(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: invariant is false: %s\n", file, line, condition);
    std::abort();
}

}  // namespace railyard::detail

// ASSERT ends the process in builds of tests: `make unit`, `make sanitize`, `make fuzz`, Debug. It costs
// nothing in a Release build, where the condition is not evaluated.
#ifdef NDEBUG
#define ASSERT(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#else
#define ASSERT(condition) \
    ((condition) ? static_cast<void>(0) : ::railyard::detail::abort_at(#condition, __FILE__, __LINE__))
#endif
