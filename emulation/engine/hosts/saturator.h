// SPDX-License-Identifier: Apache-2.0
// Load generator that keeps a lossless fabric full: it answers every received frame with a frame.
// tests/oracle/saturator.py is its specification.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hosts/random/python_random.h"
#include "network/links/application.h"

namespace railyard::hosts {

// Counters shared by all Saturators: frames that they may still send, and frames received.
struct SaturationBudget {
    std::uint64_t left = 0, received = 0;
};

// Sends `at_first` random frames of `frames` at the start, then a random frame for each received frame.
class Saturator final : public network::Application {
   public:
    // invalid_argument if `frames` is empty.
    Saturator(std::vector<std::string> frames, std::uint64_t at_first, PythonRandom random,
              std::shared_ptr<SaturationBudget> budget);

    void start(Time now, network::Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, network::Actions& actions) override;
    void on_timer(Time now, network::Actions& actions) override;

   private:
    void send(network::Actions& actions);

    std::vector<std::string> frames_;
    std::uint64_t at_first_;
    PythonRandom random_;
    std::shared_ptr<SaturationBudget> budget_;  // shared with all other Saturators
};

}  // namespace railyard::hosts
