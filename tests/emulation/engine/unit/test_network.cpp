// SPDX-License-Identifier: Apache-2.0
// Switches, hosts and links together: order of events, credits, failures, deadlocks, windows of threads.
#include <algorithm>
#include <functional>

#include "common.h"
#include "network/network.h"

namespace railyard {
namespace {

constexpr std::int64_t kByteAPicosecond = 8'000'000'000'000;

// Notes what arrives, and may answer.
class Sink : public Application {
   public:
    using Reply = std::function<void(FrameHandle, Time, Actions&)>;
    explicit Sink(Reply reply = nullptr) : reply_(std::move(reply)) {}
    void start(Time now, Actions& actions) override {
        started = now;
        actions.deadline = timer_at;
    }
    void on_frame(FrameHandle frame, Time now, Actions& actions) override {
        seen.emplace_back(now, std::string(frame->view()));
        if (reply_) reply_(std::move(frame), now, actions);
    }
    void on_timer(Time now, Actions& actions) override {
        timers.push_back(now);
        if (timers.size() < 3) actions.deadline = now + 10;
    }
    bool isolated() const override { return true; }
    void detach() override { left = true; }

    std::vector<std::pair<Time, std::string>> seen;
    std::vector<Time> timers;
    std::optional<Time> timer_at;
    Time started = -1;
    bool left = false;

   private:
    Reply reply_;
};

// Programs of wire.p4: the first byte of a frame names the port by which it leaves, and its priority.
std::string frame(unsigned port, std::size_t length, unsigned vl = 0) {
    std::string bytes(length, '\0');
    bytes[0] = static_cast<char>(port << 3 | vl);
    return bytes;
}

const std::shared_ptr<const Program>& wire() {
    static const std::shared_ptr<const Program> kWire = unit::program("tests/programs/build/wire.json");
    return kWire;
}

LinkConfig link_config(Time delay = 0, std::int64_t credits = 0) {
    LinkConfig config;
    config.rate_bps = kByteAPicosecond;
    config.delay = delay;
    config.credit_bytes = credits;
    return config;
}

struct Wired {
    Network net;

    Index<Switch> add(std::uint32_t partition = 0) {
        const Index<Switch> index = net.add_switch("s" + std::to_string(net.switch_count()), 510, partition);
        net.switch_at(index).set_program(wire());
        return index;
    }
    // Frames for `port` leave by `out` as frames for `next`.
    void steer(Index<Switch> index, std::uint64_t port, std::uint64_t out, std::uint64_t next) {
        EntrySpec entry;
        entry.match = {{{port}, {}, 0}};
        entry.action = wire()->actions.named("TestIngress.forward");
        entry.parameters = {out, next};
        const Index<TableSpec> table = wire()->tables.named("TestIngress.forward");
        ASSERT_EQ(net.switch_at(index).table(table.at()).insert(entry), Status::Ok);
    }
    std::shared_ptr<Sink> sink(Index<Host> host, Sink::Reply reply = nullptr) {
        auto made = std::make_shared<Sink>(std::move(reply));
        net.set_application(host, made);
        return made;
    }
    // A host, switches in a row (port 1 to port 2), a host: frames for port 2 go all the way.
    struct Chain {
        Index<Host> source, target;
        std::vector<Index<Link>> links;
        std::shared_ptr<Sink> sink;
    };
    Chain chain(std::size_t count, const LinkConfig& config) {
        std::vector<Index<Switch>> row;
        for (std::size_t at = 0; at < count; ++at) row.push_back(add());
        Chain made;
        for (std::size_t at = 0; at + 1 < count; ++at)
            made.links.push_back(net.connect(row[at], 2, row[at + 1], 1, config));
        made.source = net.attach_host(row.front(), 1, config);
        made.target = net.attach_host(row.back(), 2, config);
        made.sink = sink(made.target);
        return made;
    }
    std::vector<ControlItem> take_control() {
        std::deque<ControlItem>& queue = static_cast<SwitchSet&>(net).control();
        std::vector<ControlItem> items(queue.begin(), queue.end());
        queue.clear();
        return items;
    }
};

struct Fabric : testing::Test, Wired {};

TEST_F(Fabric, AFrameArrivesAfterTheTimeOfEachLink) {
    const Chain row = chain(3, link_config(1000));
    net.send(row.source, frame(2, 100), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(row.sink->seen[0].first, 4 * (100 + 1000));
    EXPECT_EQ(net.hops(), 3U);
}

TEST_F(Fabric, FramesOfALinkKeepTheirOrder) {
    const Chain row = chain(2, link_config(7, 500));
    for (char number = 0; number < 50; ++number) {
        std::string bytes = frame(2, 100);
        bytes[1] = number;
        net.send(row.source, bytes, 0);
    }
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 50U);
    for (std::size_t at = 0; at < 50; ++at) {
        EXPECT_EQ(row.sink->seen[at].second[1], static_cast<char>(at));
        if (at > 0) {
            EXPECT_GT(row.sink->seen[at].first, row.sink->seen[at - 1].first);
        }
    }
}

TEST_F(Fabric, AHigherPriorityOvertakesInTheQueue) {
    const Chain row = chain(1, link_config());
    net.send(row.source, frame(2, 100, 0), 0);
    for (int i = 0; i < 3; ++i) net.send(row.source, frame(2, 100, 1), 0);
    net.send(row.source, frame(2, 10, 6), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 5U);
    EXPECT_EQ(row.sink->seen.back().second[0] & 7, 6);  // one queue from the host: no overtaking there
    const Index<Host> fast = net.attach_host(Index<Switch>(0), 3, link_config());
    row.sink->seen.clear();
    // Two hosts fill the queue of the port: the last of the high priority leaves before those that wait.
    for (int i = 0; i < 4; ++i) net.send(row.source, frame(2, 100, 1), 0);
    net.send(fast, frame(2, 250, 1), 0);
    net.send(fast, frame(2, 20, 6), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_LT(std::find_if(row.sink->seen.begin(), row.sink->seen.end(),
                           [](const auto& s) { return (s.second[0] & 7) == 6; }),
              row.sink->seen.end() - 1);
}

TEST_F(Fabric, RunsUpToATimeAndGoesOn) {
    const Chain row = chain(1, link_config(1000));
    net.send(row.source, frame(2, 100), 0);
    EXPECT_EQ(net.run(1500), RunEnd::Until);
    EXPECT_EQ(net.now(), 1500);
    EXPECT_TRUE(row.sink->seen.empty());
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(net.now(), 2200);
}

TEST_F(Fabric, PausesAfterSoManyEvents) {
    const Chain row = chain(1, link_config(1000));
    net.send(row.source, frame(2, 100), 0);
    EXPECT_EQ(net.run(kForever, 1), RunEnd::Paused);
    EXPECT_TRUE(row.sink->seen.empty());
    EXPECT_EQ(net.run(kForever, 100), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 1U);
}

TEST_F(Fabric, AFrameForAPortWithoutALinkIsCountedAndGone) {
    const Chain row = chain(1, link_config(0, 100));
    for (int i = 0; i < 5; ++i) net.send(row.source, frame(9, 100), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(net.frames_without_link(), 5U);  // and each has given its credits back
}

TEST_F(Fabric, TimersOfAStationGoOffInTurn) {
    const Chain row = chain(1, link_config());
    row.sink->timer_at = 40;
    net.start(row.target);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->started, 0);
    EXPECT_EQ(row.sink->timers, (std::vector<Time>{40, 50, 60}));
}

TEST_F(Fabric, ANewDeadlineReplacesTheEarlier) {
    const Chain row = chain(1, link_config());
    net.set_timer(row.target, 100);
    net.set_timer(row.target, 70);
    net.set_timer(row.target, 80);
    EXPECT_EQ(net.run(75), RunEnd::Until);
    EXPECT_TRUE(row.sink->timers.empty());
    net.hosts().clear_timer(row.target);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_TRUE(row.sink->timers.empty());
}

TEST_F(Fabric, ADeadlineInThePastIsNow) {
    const Chain row = chain(1, link_config());
    EXPECT_EQ(net.run(50), RunEnd::Idle);
    net.alarm(60, 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Control);
    take_control();
    net.set_timer(row.target, 10);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->timers.front(), 60);
}

TEST_F(Fabric, AlarmsReachTheControlPlaneInOrderOfTime) {
    add();
    net.alarm(20, 2);
    net.alarm(10, 1);
    net.alarm(20, 3);
    std::vector<std::pair<Time, std::int64_t>> told;
    while (net.run(kForever) == RunEnd::Control)
        for (const ControlItem& item : take_control()) told.emplace_back(item.time, item.value);
    EXPECT_EQ(told, (std::vector<std::pair<Time, std::int64_t>>{{10, 1}, {20, 2}, {20, 3}}));
}

TEST_F(Fabric, AReplacedStationLeavesAndHearsNoMore) {
    const Chain row = chain(1, link_config(100));
    net.send(row.source, frame(2, 10), 0);
    const auto other = sink(row.target);
    EXPECT_TRUE(row.sink->left);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_TRUE(row.sink->seen.empty());
    EXPECT_EQ(other->seen.size(), 1U);
}

TEST_F(Fabric, AStationMayReplaceItselfWhileItAnswers) {
    const Chain row = chain(1, link_config());
    const auto second = std::make_shared<Sink>();
    const auto first =
        sink(row.target, [&](FrameHandle, Time, Actions&) { net.set_application(row.target, second); });
    net.send(row.source, frame(2, 10), 0);
    net.send(row.source, frame(2, 10), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(first->seen.size(), 1U);
    EXPECT_EQ(second->seen.size(), 1U);
}

TEST_F(Fabric, RefusesAVlThatThereIsNot) {
    const Chain row = chain(1, link_config());
    EXPECT_THROW(net.send(row.source, frame(2, 10), 8), std::invalid_argument);
    EXPECT_THROW(net.send(row.source, frame(2, 10), -1), std::invalid_argument);
    EXPECT_THROW(net.send(Index<Host>(9), frame(2, 10), 0), std::out_of_range);
}

TEST_F(Fabric, RefusesAPortTwiceOrOutOfRange) {
    const Index<Switch> a = add(), b = add();
    static_cast<void>(net.connect(a, 1, b, 1, link_config()));
    EXPECT_THROW(static_cast<void>(net.connect(a, 1, b, 2, link_config())), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net.connect(a, 510, b, 2, link_config())), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net.connect(a, -1, b, 3, link_config())), std::invalid_argument);
}

TEST_F(Fabric, LosslessLinksLoseNothingAndEndWithAllCredits) {
    const Chain row = chain(3, link_config(50, 300));
    for (int i = 0; i < 200; ++i) net.send(row.source, frame(2, 100, static_cast<unsigned>(i) % 8), i % 8);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 200U);
    for (const Index<Link> link : row.links) {
        const Channel& used = net.links().channel(link, 0);
        for (std::size_t vl = 0; vl < kVls; ++vl) {
            std::int64_t returning = 0;
            for (std::size_t at = 0; at < used.returning.size(); ++at)
                if (used.returning[at].vl == vl) returning += used.returning[at].bytes;
            EXPECT_EQ(used.lanes[vl].credits + returning, 300);
            EXPECT_EQ(used.lanes[vl].held, 0);
        }
        EXPECT_LE(used.load.max_queued_bytes, 300U);
    }
}

TEST_F(Fabric, ARingOfFullBuffersIsADeadlockWhoseCycleIsNamed) {
    std::vector<Index<Link>> links;
    std::vector<Index<Switch>> ring;
    for (int i = 0; i < 4; ++i) ring.push_back(add());
    for (const Index<Switch> s : ring) {
        steer(s, 4, 2, 5);
        steer(s, 5, 2, 3);
    }
    for (std::size_t i = 0; i < 4; ++i)
        links.push_back(net.connect(ring[i], 2, ring[(i + 1) % 4], 1, link_config(10, 100)));
    for (const Index<Switch> s : ring) {
        const Index<Host> host = net.attach_host(s, 3, link_config(10, 100));
        for (int i = 0; i < 10; ++i) net.send(host, frame(4, 100), 0);
    }
    EXPECT_EQ(net.run(kForever), RunEnd::Deadlock);
    const auto cycle = net.deadlock();
    std::vector<Index<Link>> named;
    for (const auto& waiting : cycle) named.push_back(waiting.link);
    std::sort(named.begin(), named.end());
    EXPECT_EQ(named, links);
}

TEST_F(Fabric, ACutLosesTheFramesOnTheWireAndInTheQueue) {
    const Chain row = chain(2, link_config(1000, 200));
    for (int i = 0; i < 20; ++i) net.send(row.source, frame(2, 100), 0);
    net.alarm(2000, 1);  // two frames are on the wire
    EXPECT_EQ(net.run(kForever), RunEnd::Control);
    take_control();
    net.set_link(row.links[0], false);
    const auto ports = take_control();
    ASSERT_EQ(ports.size(), 2U);
    EXPECT_EQ(ports[0].kind, ControlItem::Kind::Port);
    EXPECT_FALSE(ports[0].up);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    const ChannelLosses& losses = net.links().channel(row.links[0], 0).losses;
    EXPECT_EQ(losses.lost + losses.refused_down + row.sink->seen.size(), 20U);
    EXPECT_GT(losses.lost, 0U);
    net.set_link(row.links[0], true);
    take_control();
    row.sink->seen.clear();
    for (int i = 0; i < 20; ++i) net.send(row.source, frame(2, 100), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 20U);
}

TEST_F(Fabric, AnUnpluggedLinkCarriesNothingUntilItIsPlugged) {
    const Index<Switch> a = add(), b = add();
    const Index<Link> first = net.connect(a, 2, b, 1, link_config(5, 200));
    const Index<Link> second = net.connect(a, 2, b, 1, link_config(5, 200), false);
    const Index<Host> source = net.attach_host(a, 1, link_config());
    const auto target = sink(net.attach_host(b, 2, link_config()));
    EXPECT_THROW(net.links().plug(second), std::invalid_argument);  // the port is in use
    EXPECT_THROW(net.set_link(second, true), std::invalid_argument);
    net.set_link(first, false);
    net.links().plug(second);
    net.set_link(second, true);
    take_control();
    net.send(source, frame(2, 50), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(target->seen.size(), 1U);
    EXPECT_EQ(net.links().channel(second, 0).load.bytes, 50U);
    EXPECT_EQ(net.links().channel(first, 0).load.bytes, 0U);
}

TEST_F(Fabric, LossOfASeedIsTheSameInEachRun) {
    const auto arrived = [](std::uint64_t seed) {
        Wired fabric;
        const Chain row = fabric.chain(2, link_config(10));
        fabric.net.links().set_seed(seed);
        fabric.net.links().impair(row.links[0], 0, {.loss = 0.5});
        for (char i = 0; i < 40; ++i) {
            std::string bytes = frame(2, 20);
            bytes[1] = i;
            fabric.net.send(row.source, bytes, 0);
        }
        fabric.net.run(kForever);
        std::string numbers;
        for (const auto& [time, bytes] : row.sink->seen) numbers += bytes[1];
        return numbers;
    };
    EXPECT_EQ(arrived(3), arrived(3));
    EXPECT_NE(arrived(3), arrived(4));
}

TEST_F(Fabric, CountsBytesDeliveredInBins) {
    const Chain row = chain(1, link_config());
    net.hosts().set_bin(100, kVls);
    for (int i = 0; i < 3; ++i) net.send(row.source, frame(2, 60), 0);
    net.run(kForever);  // at 120, 180, 240
    EXPECT_EQ(net.delivered_bins(), (std::vector<std::uint64_t>{0, 120, 60}));
}

TEST_F(Fabric, APacketOutLeavesByThePortItNames) {
    const Chain row = chain(1, link_config());
    net.packet_out(Index<Switch>(0), frame(2, 30));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(row.sink->seen[0].first, 30);
}

TEST_F(Fabric, TwoLanesOfAPriorityOvertakeEachOther) {
    std::vector<int> vls;
    for (int vl = 0; vl < 16; ++vl) vls.push_back(vl);
    net.links().lanes.set(15, vls);  // the last bit of the second byte
    const Chain row = chain(1, link_config());
    const auto lane_frame = [](char number, bool lane) {
        std::string bytes = frame(2, 100, 1);
        bytes[1] = static_cast<char>(number << 1 | static_cast<int>(lane));
        return bytes;
    };
    const Index<Host> more = net.attach_host(Index<Switch>(0), 3, link_config());
    for (char i = 0; i < 4; ++i) {
        net.send(row.source, lane_frame(i, false), 2);
        net.send(more, lane_frame(static_cast<char>(10 + i), true), 3);
    }
    net.run(kForever);
    ASSERT_EQ(row.sink->seen.size(), 8U);
    // Both hosts send at the rate of the port: the second lane goes first, the first lane waits.
    EXPECT_EQ(row.sink->seen.back().second[1] & 1, 0);
    EXPECT_EQ(row.sink->seen[row.sink->seen.size() - 2].second[1] & 1, 0);
}

TEST_F(Fabric, RefusesLanesThatAreNoPermutation) {
    EXPECT_THROW(net.links().lanes.set(0, {0, 1}), std::invalid_argument);
    EXPECT_THROW(net.links().lanes.set(0, std::vector<int>(16, 0)), std::invalid_argument);
}

TEST_F(Fabric, TheSampleOfALinkHasItsLoadSinceTheLast) {
    const Chain row = chain(2, link_config());
    net.send(row.source, frame(2, 100), 0);
    net.run(kForever);
    const LinkSample first = net.sample();
    EXPECT_EQ(first.state[0] & 1, 1);
    EXPECT_GT(static_cast<unsigned char>(first.load[0]), 0);
    EXPECT_EQ(first.load[1], 0);
    const LinkSample second = net.sample();
    EXPECT_EQ(second.load[0], 0);
}

// A ring of switches with a host each: applications answer frames until a budget is spent. Partitions,
// threads and a single queue must agree to the picosecond.
struct Windows : testing::TestWithParam<std::tuple<std::uint32_t, std::size_t>> {
    struct Outcome {
        std::vector<std::vector<std::pair<Time, std::string>>> seen;
        std::uint64_t hops = 0, windows = 0;
        std::vector<std::uint64_t> bins;
        Time now = 0;
        bool operator==(const Outcome& other) const {
            return std::tie(seen, hops, bins, now) == std::tie(other.seen, other.hops, other.bins, other.now);
        }
    };
    static Outcome run(std::uint32_t partitions, std::size_t threads, bool exactly, std::int64_t credits) {
        constexpr std::uint32_t kSwitches = 8;
        Wired fabric;
        Network& net = fabric.net;
        net.set_threads(threads);
        net.hosts().set_bin(10'000, kVls);
        std::vector<Index<Switch>> ring;
        for (std::uint32_t i = 0; i < kSwitches; ++i) ring.push_back(fabric.add(i * partitions / kSwitches));
        const LinkConfig config = link_config(2000, credits);
        for (std::uint32_t i = 0; i < kSwitches; ++i) {
            static_cast<void>(net.connect(ring[i], 2, ring[(i + 1) % kSwitches], 1, config));
            fabric.steer(ring[i], 4, 2, 5);  // three hops on
            fabric.steer(ring[i], 5, 2, 6);
            fabric.steer(ring[i], 6, 2, 3);
            fabric.steer(ring[i], 7, 2, 3);  // one hop on
        }
        std::vector<std::shared_ptr<Sink>> sinks;
        std::vector<Index<Host>> hosts;
        for (std::uint32_t i = 0; i < kSwitches; ++i) {
            const auto budget = std::make_shared<int>(150);
            hosts.push_back(net.attach_host(ring[i], 3, link_config(300, 4000)));
            sinks.push_back(fabric.sink(hosts.back(), [budget, i](FrameHandle got, Time now,
                                                                  Actions& actions) {
                if (--*budget < 0) return;
                std::string bytes = frame(now % 3 == 0 ? 7 : 4, 60 + static_cast<std::size_t>(now % 97) + i);
                bytes[1] = static_cast<char>(got->data()[1] + 1);
                actions.add(actions.pool.acquire(bytes.data(), bytes.size()), 0);
            }));
        }
        for (std::uint32_t i = 0; i < kSwitches; ++i)
            for (int n = 0; n < 12; ++n)
                net.send(hosts[i], frame(n % 2 == 0 ? 4 : 7, 100 + 7 * static_cast<std::size_t>(n)), 0);
        EXPECT_EQ(net.run(kForever, ~0ULL, exactly), RunEnd::Idle);
        Outcome outcome;
        for (const auto& sink : sinks) outcome.seen.push_back(sink->seen);
        outcome.hops = net.hops();
        outcome.bins = net.delivered_bins();
        outcome.now = net.now();
        outcome.windows = net.window_report().windows;
        return outcome;
    }
};

TEST_P(Windows, AgreeWithASingleQueue) {
    const auto& [partitions, threads] = GetParam();
    const Outcome alone = run(1, 1, true, 6000);
    EXPECT_GT(alone.hops, 1000U);
    const Outcome windows = run(partitions, threads, false, 6000);
    EXPECT_GT(windows.windows, 10U);
    EXPECT_TRUE(windows == alone);
}

TEST_P(Windows, AgreeWithASingleQueueWithoutCredits) {
    const auto& [partitions, threads] = GetParam();
    EXPECT_TRUE(run(partitions, threads, false, 0) == run(1, 1, true, 0));
}

TEST_P(Windows, PartitionsStepByStepAgreeToo) {
    const auto& [partitions, threads] = GetParam();
    const Outcome steps = run(partitions, threads, true, 6000);
    EXPECT_EQ(steps.windows, 0U);
    EXPECT_TRUE(steps == run(1, 1, true, 6000));
}

INSTANTIATE_TEST_SUITE_P(Partitions, Windows,
                         testing::Values(std::tuple(2, 1), std::tuple(2, 2), std::tuple(4, 2),
                                         std::tuple(8, 3)),
                         [](const auto& instance) {
                             return std::to_string(std::get<0>(instance.param)) + "of" +
                                    std::to_string(std::get<1>(instance.param)) + "threads";
                         });

TEST_F(Fabric, ANewPartitionIsRefusedAfterTheFirstEvent) {
    const Chain row = chain(1, link_config());
    net.send(row.source, frame(2, 10), 0);
    EXPECT_THROW(add(1), std::invalid_argument);
    EXPECT_THROW(add(5000), std::invalid_argument);
}

}  // namespace
}  // namespace railyard
