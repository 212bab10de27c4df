// SPDX-License-Identifier: Apache-2.0
// Frames that a program's parser goes deep into: chance alone hardly ever finds an EtherType.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "load/program/program.h"

namespace railyard::fuzz {

struct GuidedFrame {
    std::vector<std::uint8_t> bytes;
    std::unordered_map<load::Slot, std::size_t>
        fields;  // where a field's bits begin, in bits from the first byte
};

// Walks the parser's states by transitions that `in` chooses, and writes the bytes that lead there. The rest
// is from `in` too.
GuidedFrame guided_frame(const load::Program& program, FuzzedDataProvider& in);

}  // namespace railyard::fuzz
