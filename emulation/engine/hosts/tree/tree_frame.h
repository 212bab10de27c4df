// SPDX-License-Identifier: Apache-2.0
// Frames of in-network reduction: contributions of a member, and results. docs/reference/reduction.md has the
// layout; emulation/traffic/tree/wire.py is the specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hosts/application.h"

namespace railyard::hosts {

constexpr std::uint32_t kValueBytes = 256;    // length of the values, if a frame has any
constexpr std::uint16_t kEveryLeaf = 0xFFFF;  // owner of a block whose result goes to all members

// Header fields of a received frame; `values` is null for a frame without values.
struct TreeResult {
    std::uint16_t tree = 0, dcna = 0, scale = 0;
    std::uint32_t block = 0;
    bool result = false;   // false: a contribution
    bool wrapped = false;  // a sum has left the range of its values
    const std::uint8_t* values = nullptr;
};

// Parse a frame into `result`. Return null, or the reason why the frame is junk.
const char* scan_tree(const std::uint8_t* frame, std::size_t size, TreeResult& result);

// Header fields that all frames of a member in a tree have in common.
struct TreeEnds {
    std::uint16_t tree = 0, member = 0, next = 0;  // tree number, own CNA, CNA of the first switch
    Port port;                                     // egress port of the member's own switch
    std::uint8_t operation = 0;                    // 0 sum, 1 maximum, 2 minimum
    bool wide = false;                             // values of 64 bits
};

class ContributionWriter {
   public:
    explicit ContributionWriter(const TreeEnds& ends);
    // Return a contribution. If it is `filled`, the caller writes its kValueBytes to values().
    [[nodiscard]] FrameHandle frame(FramePool& pool, std::uint32_t block, std::uint16_t owner,
                                    std::uint16_t scale, bool filled) const;
    static std::uint8_t* values(Frame& frame) { return frame.data() + kHeaderBytes; }

   private:
    static constexpr std::size_t kHeaderBytes = 46;  // with a source route
    std::array<std::uint8_t, kHeaderBytes> header_{};
};

}  // namespace railyard::hosts
