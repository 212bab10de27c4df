// SPDX-License-Identifier: Apache-2.0
// Load generator that keeps a lossless fabric full: it answers every received frame with a frame.
// tests/oracle/saturator.py is its specification.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hosts/application.h"
#include "hosts/random/python_random.h"

namespace railyard::hosts {

// Counters shared by all Saturators: frames that they may still send, and frames received.
struct SaturationBudget {
    std::uint64_t left = 0, received = 0;
};

// Sends `at_first` random frames of `frames` at the start, then a random frame for each received frame.
class Saturator final : public Application {
   public:
    // invalid_argument if `frames` is empty.
    Saturator(std::vector<std::string> frames, std::uint64_t at_first, PythonRandom random,
              std::shared_ptr<SaturationBudget> budget);

    void start(Time now, Actions& actions) override;
    void on_frame(FrameHandle frame, Time now, Actions& actions) override;
    void on_timer(Time now, Actions& actions) override;

   private:
    void send(Actions& actions);

    std::vector<std::string> frames_;
    std::uint64_t at_first_;
    PythonRandom random_;
    std::shared_ptr<SaturationBudget> budget_;  // shared with all other Saturators
};

}  // namespace railyard::hosts
