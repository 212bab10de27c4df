// SPDX-License-Identifier: Apache-2.0
// Mutations that keep JSON what it is: nodes move, double, vanish, and change their values.
#pragma once

#include <string>
#include <string_view>

namespace railyard::fuzz {

// A few random edits to `text`, with nodes taken from itself and from `donor` (which may be empty). Empty
// where `text` is no JSON.
std::string mutated(std::string_view text, std::string_view donor, unsigned seed);

}  // namespace railyard::fuzz
