// SPDX-License-Identifier: Apache-2.0
// Processing of a single frame by a switch, without links and without advancing time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switch/switch_set.h"

namespace railyard::switching {

// Pairs of egress port and bytes of the frames that leave.
using Copies = std::vector<std::pair<Port, std::string>>;

[[nodiscard]] Copies process(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes);
// Process a frame, and append the steps of a traced program to `steps`.
[[nodiscard]] Copies trace(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes,
                           std::vector<TraceStep>& steps);
// Return the processor seconds of processing a frame `count` times. copy_only: only copy it, as a baseline.
[[nodiscard]] double bench(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes,
                           std::uint64_t count, bool copy_only);

}  // namespace railyard::switching
