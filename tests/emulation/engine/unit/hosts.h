// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of hosts: a microsecond, and templates of the headers of frames.
#pragma once

#include "common.h"
#include "hosts/messages/codec.h"

namespace railyard::unit {

inline constexpr Time kUs = kMicrosecond;

// Return headers with the fields that are the same for all connections, as emulation/traffic makes them.
inline hosts::Templates templates() {
    hosts::Templates made;
    for (std::uint8_t* const header : {made.data.data(), made.ack.data()}) {
        header[12] = 0x88, header[13] = 0xB5;
        header[15] = 0x06;  // LPH.cfg: CNA16
    }
    made.data[26] = hosts::kOpcodeData;
    made.ack[26] = hosts::kOpcodeAck;
    return made;
}

}  // namespace railyard::unit
