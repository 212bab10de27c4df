// SPDX-License-Identifier: Apache-2.0
// Programs that the build has translated to C++ and compiled with the engine.
#pragma once

#include <cstdint>
#include <string_view>

namespace railyard {

struct Frame;
struct FrameState;

// Functions that do the same as the interpreter, for one program; null: the interpreter runs.
struct Translation {
    void (*parse)(FrameState&, Frame&) = nullptr;
    void (*ingress)(FrameState&) = nullptr;
    void (*egress)(FrameState&) = nullptr;
    void (*deparse)(FrameState&, Frame&) = nullptr;
};

// Hash of a program's JSON, by which its translation is found; spaces and line breaks do not count.
std::uint64_t fingerprint(std::string_view bmv2_json);

// Null if the build has not translated the program.
const Translation* find_translation(std::uint64_t fingerprint);

// Adds a translation before the engine starts.
struct TranslationEntry {
    TranslationEntry(std::uint64_t fingerprint, const Translation& translation);
};

}  // namespace railyard
