// SPDX-License-Identifier: Apache-2.0
// Passes of a frame through one switch, without links and outside of virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switch/switch_set.h"

namespace railyard {

// Frames that leave, by port.
using Copies = std::vector<std::pair<std::uint32_t, std::string>>;

[[nodiscard]] Copies process(SwitchSet& set, Index<Switch> switch_index, std::uint32_t port,
                             std::string_view bytes);
// As process(), of a switch whose program is traced.
[[nodiscard]] Copies trace(SwitchSet& set, Index<Switch> switch_index, std::uint32_t port,
                           std::string_view bytes, std::vector<TraceStep>& steps);
// Processor seconds of `count` passes of a frame; copy_only: without the pipeline, as a baseline.
[[nodiscard]] double bench(SwitchSet& set, Index<Switch> switch_index, std::uint32_t port,
                           std::string_view bytes, std::uint64_t count, bool copy_only);

}  // namespace railyard
