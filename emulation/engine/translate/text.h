// SPDX-License-Identifier: Apache-2.0
// Literals in the code of translated programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace railyard::translate {

inline std::string number(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llxULL", static_cast<unsigned long long>(value));
    return text;
}

}  // namespace railyard::translate
