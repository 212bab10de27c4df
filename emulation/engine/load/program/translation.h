// SPDX-License-Identifier: Apache-2.0
// Registry of programs that the build has translated to C++ and compiled with the engine.
#pragma once

#include <cstdint>
#include <string_view>

namespace railyard::frames {

struct Frame;

}  // namespace railyard::frames

namespace railyard::switching {

struct FrameState;

}  // namespace railyard::switching

namespace railyard::load {

// Compiled functions of a program that replace the interpreter; null: the interpreter runs.
struct Translation {
    void (*parse)(switching::FrameState&, frames::Frame&) = nullptr;
    void (*ingress)(switching::FrameState&) = nullptr;
    void (*egress)(switching::FrameState&) = nullptr;
    void (*deparse)(switching::FrameState&, frames::Frame&) = nullptr;
};

// Return a hash of a program's JSON that identifies its translation; spaces and line breaks are ignored.
std::uint64_t fingerprint(std::string_view bmv2_json);

// Return the translation of a program; null if the build has not translated it.
const Translation* find_translation(std::uint64_t fingerprint);

// Registers a translation during static initialisation.
struct TranslationEntry {
    TranslationEntry(std::uint64_t fingerprint, const Translation& translation);
};

}  // namespace railyard::load
