// SPDX-License-Identifier: Apache-2.0
// Registry of programs that the build has translated to C++ and compiled with the engine.
#pragma once

#include <cstdint>
#include <string_view>

#include "units.h"

namespace railyard::frames {

struct Frame;

}  // namespace railyard::frames

namespace railyard::switching {

struct FrameState;

}  // namespace railyard::switching

namespace railyard::load {

// End of a pass of a frame that Translation::pass runs.
enum class PassEnd : std::uint8_t {
    Ingress,  // the program requests copies, or something else, after ingress; the caller goes on
    Egress,   // the same after egress
    Dropped,
    Left  // the frame leaves by FrameState::port
};

// Compiled functions of a program that replace the interpreter; null: the interpreter runs.
struct Translation {
    // Run an arriving frame from its parser to its deparser. Only of programs whose stages all have
    // functions.
    PassEnd (*pass)(switching::FrameState&, frames::Frame&, Port ingress_port, Time now) = nullptr;
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
