// SPDX-License-Identifier: Apache-2.0
// The link header (LPH) of a UB frame, after the Ethernet header: its offset and the units of its length
// field.
#pragma once

#include <cstdint>

namespace railyard::frames {

constexpr std::uint32_t kLphAt = 14, kLinkHeaderBytes = 18;  // offset of the LPH, and of its end
constexpr std::uint32_t kRouteBytes = 8;                     // length of a source route after the LPH
constexpr std::uint8_t kCfgCna16 = 0x6;  // LPH.cfg of a network header with 16-bit addresses
constexpr std::uint32_t kFlitBytes = 20, kBlockFlits = 32;  // LPH.length counts blocks, flits and bytes

}  // namespace railyard::frames
