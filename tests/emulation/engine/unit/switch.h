// SPDX-License-Identifier: Apache-2.0
// Fixture of the tests of switches: a switch that runs a program.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common.h"
#include "switch/switch.h"

namespace railyard::unit {

struct Running : testing::Test {
    frames::FramePool pool;
    switching::ProgramShares shares;
    std::unique_ptr<switching::Switch> sw;

    void start(const std::string& program) {
        sw = std::make_unique<switching::Switch>("s", Port(510), pool, shares);
        sw->set_program(unit::program(program));
    }
    // Process a frame; return the port and the hexadecimal digits of each frame that leaves.
    std::vector<std::pair<std::uint32_t, std::string>> process(const std::string& bytes,
                                                               Port port = Port(7)) {
        switching::Outputs out;
        sw->process(pool.acquire(bytes.data(), bytes.size()), port, Time(0), out);
        std::vector<std::pair<std::uint32_t, std::string>> result;
        for (const switching::Output& o : out) result.emplace_back(o.port.value(), digits(o.frame->view()));
        return result;
    }
};

}  // namespace railyard::unit
