// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "switch/stages/frame_state.h"

namespace railyard::switching {

// Concatenates values bit by bit, most significant bit first.
class BitWriter {
   public:
    explicit BitWriter(std::vector<std::uint8_t>& out) : out_(out) { out_.clear(); }

    void put(const std::uint64_t* value, unsigned bits);
    void put_field(const std::uint64_t* v, Slot slot, unsigned bits, bool variable) {
        put(v + slot, variable ? static_cast<unsigned>(v[slot - 1]) : bits);
    }

   private:
    std::vector<std::uint8_t>& out_;
    unsigned used_ = 0;  // bits of the last byte
};

// Hashes and checksums over fields of a FrameState.
class Calculations {
   public:
    explicit Calculations(FrameState& state) : state_(state) {}

    [[nodiscard]] std::uint64_t calculate(const Calculation& calculation);
    void verify_checksums();
    void update_checksums();

   private:
    [[nodiscard]] bool applies(const Checksum& checksum);

    FrameState& state_;
};

}  // namespace railyard::switching
