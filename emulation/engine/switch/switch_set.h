// SPDX-License-Identifier: Apache-2.0
// Switches of one control plane: the base of Network (virtual time) and Wire (real time).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frames/frame.h"
#include "switch/switch.h"

namespace railyard::switching {

// Notification for the control plane.
struct ControlItem {
    enum class Kind : int { PacketIn, Port, Alarm, Digest, Idle, Log } kind;
    Time time{};
    Index<Switch> switch_index;  // none for an alarm
    std::int64_t value = 0;      // Port: number; Alarm: token; Digest: index of its list; Idle: table
    bool up = false;             // Port
    std::string frame;           // packet-in: the frame; digest: its fields; log: the line
};

// A recursive mutex that tells its holder whether another thread waits for it.
class SharedMutex {
   public:
    void lock() {
        ++waiting_;
        mutex_.lock();
        --waiting_;
    }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }
    [[nodiscard]] bool contended() const { return waiting_ > 0; }

   private:
    std::recursive_mutex mutex_;
    std::atomic<int> waiting_ = 0;
};

class SwitchSet {
   public:
    SwitchSet() = default;
    SwitchSet(const SwitchSet&) = delete;  // switches refer to the pool
    virtual ~SwitchSet() = default;

    virtual Index<Switch> add_switch(const std::string& name, Port cpu_port) {
        return append(name, cpu_port, pool_, shares_);
    }
    Switch& switch_at(Index<Switch> index) { return *switches_.at(index); }
    // Set the seed of the random numbers that programs draw, in present and later switches.
    void set_seed(std::uint64_t seed) {
        seed_ = seed;
        for (const auto& each : switches_) each->set_seed(seed);
    }
    [[nodiscard]] std::size_t switch_count() const { return switches_.size(); }

    FramePool& pool() { return pool_; }

    [[nodiscard]] virtual Time now() const = 0;
    virtual void packet_out(Index<Switch> switch_index, std::string_view frame) = 0;
    // Called after an entry's time-out was set or changed; derived classes schedule ageing.
    virtual void watch_ageing(Index<Switch> switch_index) { (void)switch_index; }

    std::deque<ControlItem>& control() { return control_; }
    // Called after the control plane has taken an event.
    virtual void taken(const ControlItem& item) { (void)item; }
    // Mutex to hold while frames run and while the control plane accesses a switch.
    SharedMutex& mutex() { return mutex_; }

   protected:
    // Let switches of a program share changed table contents that are equal.
    void share_contents() {
        shares_.share_contents();
        for (const auto& memory : further_) memory->shares.share_contents();
    }
    // Memory shared by the switches of a partition.
    struct SwitchMemory {
        FramePool pool;
        ProgramShares shares;
    };

    Index<Switch> append(const std::string& name, Port cpu_port, FramePool& pool, ProgramShares& shares) {
        const Index<Switch> index = switches_.next();
        switches_.push_back(std::make_unique<Switch>(name, cpu_port, pool, shares));
        switches_.back()->set_seed(seed_);
        return index;
    }
    SwitchMemory& further_memory() {
        further_.push_back(std::make_unique<SwitchMemory>());
        return *further_.back();
    }

    FramePool pool_;
    ProgramShares shares_;
    std::vector<std::unique_ptr<SwitchMemory>> further_;
    List<Switch, std::unique_ptr<Switch>> switches_;
    std::uint64_t seed_ = SwitchState::kUnseeded;
    std::deque<ControlItem> control_;
    SharedMutex mutex_;
};

}  // namespace railyard::switching
