// SPDX-License-Identifier: Apache-2.0
// The link header (LPH) of a UB frame, behind Ethernet: where it is, and the units of its length.
#pragma once

#include <cstdint>

namespace railyard {

constexpr std::uint32_t kLphAt = 14, kLinkHeaderBytes = 18;  // Ethernet before it, and with it
constexpr std::uint32_t kRouteBytes = 8;                     // of a source route behind it
constexpr std::uint8_t kCfgCna16 = 0x6;  // LPH.cfg of a network header with addresses of 16 bits
constexpr std::uint32_t kFlitBytes = 20, kBlockFlits = 32;  // LPH.length counts blocks, flits and bytes

}  // namespace railyard
