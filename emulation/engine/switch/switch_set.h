// SPDX-License-Identifier: Apache-2.0
// The switches that one control plane sees, whatever carries their frames.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "switch/switch.h"

namespace railyard {

// Something that the control plane must look at.
struct ControlItem {
    enum class Kind : int { PacketIn, Port, Alarm, Digest, Idle, Log } kind;
    Time time = 0;
    int switch_index = -1;
    std::int64_t value = 0;  // port: its number; alarm: its token; digest: its list; idle: the table
    bool up = false;
    std::string frame;       // packet-in: the frame; digest: its fields; log: the line
};

class SwitchSet {
   public:
    SwitchSet() = default;
    SwitchSet(const SwitchSet&) = delete;  // switches hold the address of the pool
    virtual ~SwitchSet() = default;

    virtual int add_switch(const std::string& name, std::uint32_t cpu_port) {
        switches_.push_back(std::make_unique<Switch>(name, cpu_port, pool_));
        return static_cast<int>(switches_.size()) - 1;
    }
    Switch& switch_at(int at) { return *switches_.at(static_cast<std::size_t>(at)); }
    std::size_t switch_count() const { return switches_.size(); }

    FramePool& pool() { return pool_; }

    virtual Time now() const = 0;
    virtual void packet_out(int switch_index, std::string_view frame) = 0;
    // An entry's time-out was set or changed: whoever carries the frames looks after ageing.
    virtual void watch_ageing(int switch_index) { (void)switch_index; }

    std::deque<ControlItem>& control() { return control_; }
    // Held while frames run and while a control plane changes a switch.
    std::recursive_mutex& mutex() { return mutex_; }

   protected:
    FramePool pool_;
    std::vector<std::unique_ptr<Switch>> switches_;
    std::deque<ControlItem> control_;
    std::recursive_mutex mutex_;
};

}  // namespace railyard
