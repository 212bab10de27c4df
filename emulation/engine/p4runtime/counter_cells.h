// SPDX-License-Identifier: Apache-2.0
// Cells of an indexed counter as bytes of P4Runtime messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tables/counter.h"

namespace railyard {

// A serialised ReadResponse with a CounterEntry for each cell, as protocol buffers serialise it. `first`: the
// index of the first cell.
std::string counter_response(std::uint32_t counter_id, std::size_t first, std::span<const Count> cells);

}  // namespace railyard
