// SPDX-License-Identifier: Apache-2.0
// Access of translated programs to the state of a frame: the code that the translator (translate/) writes
// calls this.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "load/program/translation.h"
#include "switch/stages/deparser.h"
#include "switch/stages/pipeline.h"

namespace railyard {

struct TranslatedProgram {
   protected:
    static std::uint64_t* slots(FrameState& t) { return t.slots.data(); }

    static std::uint64_t shift_signed(std::uint64_t value, std::uint64_t by) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >>
                                          std::min<std::uint64_t>(by, 63));
    }
    static bool less_signed(std::uint64_t a, std::uint64_t b) {
        return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    }

    // An instruction that has no translation of its own.
    static void operate(FrameState& t, Place place) { Pipeline::operate(t, t.program.code[place]); }
    static void use_rounds(FrameState& t, unsigned count) { t.use_rounds(count); }
    static void count(FrameState& t, std::size_t counter, std::uint64_t index) {
        t.owner->counters[counter].add(index, t.ingress_length);
    }
    static void drop(std::uint64_t& egress_spec, std::uint64_t& multicast) {
        egress_spec = kDropPort;
        multicast = 0;
    }
    static void add_header(FrameState& t, std::uint64_t* valid, std::uint64_t* first, unsigned slots,
                           unsigned bytes) {
        if (*valid != 0) return;
        std::fill_n(first, slots, 0);
        valid[0] = 1;
        valid[1] = 0;
        t.length += bytes;
    }
    static void remove_header(FrameState& t, std::uint64_t* valid, unsigned bytes) {
        if (*valid != 0) t.length -= bytes;
        *valid = 0;
    }

    // Look up a table whose hits change no state, by a key of one word.
    static LookupResult lookup(FrameState& t, std::size_t table, std::uint64_t key) {
        return t.owner->contents[table]->lookup(key, t.slots.data());
    }
    static LookupResult lookup(FrameState& t, std::size_t table) { return Pipeline::look_up(t, table); }

    static bool lacks(Frame& frame, std::uint32_t parsed, std::uint32_t bytes) {
        if (frame.stored - parsed >= bytes) [[likely]]
            return false;
        frame.join();
        return frame.length - parsed < bytes;
    }
    static void end_parse(FrameState& t, std::uint32_t parsed, unsigned states, std::uint64_t error) {
        t.parsed = parsed;
        t.use_rounds(states);
        t.slots[t.program.standard.parser_error] = error & low_mask(32);
    }

    static std::uint32_t parsed(const FrameState& t) { return t.parsed; }
    // Room for so many bytes of headers in place of those that were parsed, which headers() has from now on.
    static std::uint8_t* make_room(FrameState& t, Frame& frame, unsigned bytes) {
        return Deparser::make_room(t, frame, bytes);
    }
    static const std::uint8_t* headers(const FrameState& t) { return t.scratch.data(); }
    // base: 1 + position of the header among the parsed bytes, or 0.
    template <unsigned kBytes>
    static void copy_header(std::uint8_t* to, const std::uint8_t* parsed, std::uint64_t base) {
        if (base != 0) std::memcpy(to, parsed + base - 1, kBytes);
        else std::memset(to, 0, kBytes);
    }
};

}  // namespace railyard
