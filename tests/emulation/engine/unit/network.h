// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of networks: a station that records its frames, and a network of switches in a row.
#pragma once

#include <deque>
#include <functional>

#include "common.h"
#include "network/network.h"

namespace railyard::unit {

inline constexpr Rate kByteAPicosecond{8'000'000'000'000};

// A station that records frames and timers, and may answer.
class Sink : public hosts::Application {
   public:
    using Reply = std::function<void(frames::FrameHandle, Time, hosts::Actions&)>;
    explicit Sink(Reply reply = nullptr) : reply_(std::move(reply)) {}
    void start(Time now, hosts::Actions& actions) override {
        started = now;
        actions.deadline = timer_at;
    }
    void on_frame(frames::FrameHandle frame, Time now, hosts::Actions& actions) override {
        seen.emplace_back(now, std::string(frame->view()));
        if (reply_) reply_(std::move(frame), now, actions);
    }
    void on_timer(Time now, hosts::Actions& actions) override {
        timers.push_back(now);
        if (timers.size() < 3) actions.deadline = now + Time(10);
    }
    bool isolated() const override { return true; }
    void detach() override { left = true; }

    std::vector<std::pair<Time, std::string>> seen;
    std::vector<Time> timers;
    std::optional<Time> timer_at;
    Time started{-1};
    bool left = false;

   private:
    Reply reply_;
};

// Return a frame for wire.p4: the first byte is the port by which it leaves, and its priority.
inline std::string frame(unsigned port, std::size_t length, unsigned vl = 0) {
    std::string bytes(length, '\0');
    bytes[0] = static_cast<char>(port << 3 | vl);
    return bytes;
}

inline const std::shared_ptr<const load::Program>& wire() {
    static const std::shared_ptr<const load::Program> kWire = program("tests/programs/build/wire.json");
    return kWire;
}

inline network::LinkConfig link_config(Time delay = Time(), Bytes credits = Bytes()) {
    network::LinkConfig config;
    config.rate = kByteAPicosecond;
    config.delay = delay;
    config.credit_bytes = credits;
    return config;
}

// A network whose switches run wire.p4.
struct Wired {
    network::Network net;

    Index<switching::Switch> add(std::uint32_t partition = 0) {
        const Index<switching::Switch> index =
            net.add_switch("s" + std::to_string(net.switch_count()), Port(510), partition);
        net.switch_at(index).set_program(wire());
        return index;
    }
    // Let frames for `port` leave by `out` as frames for `next`.
    void steer(Index<switching::Switch> index, std::uint64_t port, std::uint64_t out, std::uint64_t next) {
        tables::EntrySpec entry;
        entry.match = {{{port}, {}, 0}};
        entry.action = wire()->actions.named("TestIngress.forward");
        entry.parameters = {out, next};
        const Index<load::TableSpec> table = wire()->tables.named("TestIngress.forward");
        ASSERT_EQ(net.switch_at(index).table(table.at()).insert(entry), tables::Status::Ok);
    }
    std::shared_ptr<Sink> sink(Index<network::Host> host, Sink::Reply reply = nullptr) {
        auto made = std::make_shared<Sink>(std::move(reply));
        net.set_application(host, made);
        return made;
    }
    // A row of switches with a host at each end. Frames for port 2 go from the source to the target.
    struct Chain {
        Index<network::Host> source, target;
        std::vector<Index<network::Link>> links;
        std::shared_ptr<Sink> sink;
    };
    Chain chain(std::size_t count, const network::LinkConfig& config) {
        std::vector<Index<switching::Switch>> row;
        for (std::size_t at = 0; at < count; ++at) row.push_back(add());
        Chain made;
        for (std::size_t at = 0; at + 1 < count; ++at)
            made.links.push_back(net.connect({row[at], Port(2)}, {row[at + 1], Port(1)}, config));
        made.source = net.attach_host({row.front(), Port(1)}, config);
        made.target = net.attach_host({row.back(), Port(2)}, config);
        made.sink = sink(made.target);
        return made;
    }
    std::vector<switching::ControlItem> take_control() {
        std::deque<switching::ControlItem>& queue = static_cast<switching::SwitchSet&>(net).control();
        std::vector<switching::ControlItem> items(queue.begin(), queue.end());
        queue.clear();
        return items;
    }
};

struct Fabric : testing::Test, Wired {};

}  // namespace railyard::unit
