// SPDX-License-Identifier: Apache-2.0
// Serialisation of counter cells as P4Runtime messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tables/counter.h"

namespace railyard::p4runtime {

// Return a serialised ReadResponse with a CounterEntry for each cell, byte for byte as protocol buffers write
// it. `first`: index of the first cell.
std::string counter_response(std::uint32_t counter_id, std::size_t first,
                             std::span<const tables::Count> cells);

}  // namespace railyard::p4runtime
