// SPDX-License-Identifier: Apache-2.0
// Links of a network: credits, deadlocks, cuts, loss by a seed, counts of bytes, lanes of a priority.
#include <algorithm>

#include "network.h"

namespace railyard::network {
namespace {

using unit::Fabric;
using unit::frame;
using unit::link_config;
using unit::Wired;

TEST_F(Fabric, LosslessLinksLoseNothingAndEndWithAllCredits) {
    const Chain row = chain(3, link_config(Time(50), Bytes(300)));
    for (int i = 0; i < 200; ++i)
        net.send(row.source, frame(2, 100, static_cast<unsigned>(i) % 8), Vl(i % 8));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 200U);
    for (const Index<Link> link : row.links) {
        const Channel& used = net.links().channel(link, Direction::Forward);
        for (std::size_t vl = 0; vl < kVls; ++vl) {
            Bytes returning;
            for (std::size_t at = 0; at < used.returning.size(); ++at)
                if (used.returning[at].lane == Lane(vl)) returning += used.returning[at].bytes;
            EXPECT_EQ(used.lanes[vl].credits + returning, Bytes(300));
            EXPECT_EQ(used.lanes[vl].held, Bytes(0));
        }
        EXPECT_LE(used.load.max_queued_bytes, Bytes(300));
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
        links.push_back(
            net.connect({ring[i], Port(2)}, {ring[(i + 1) % 4], Port(1)}, link_config(Time(10), Bytes(100))));
    for (const Index<Switch> s : ring) {
        const Index<Host> host = net.attach_host({s, Port(3)}, link_config(Time(10), Bytes(100)));
        for (int i = 0; i < 10; ++i) net.send(host, frame(4, 100), Vl(0));
    }
    EXPECT_EQ(net.run(kForever), RunEnd::Deadlock);
    const auto cycle = std::as_const(net).links().deadlock();
    std::vector<Index<Link>> named;
    for (const auto& waiting : cycle) named.push_back(waiting.link);
    std::sort(named.begin(), named.end());
    EXPECT_EQ(named, links);
}

TEST_F(Fabric, ACutLosesTheFramesOnTheWireAndInTheQueue) {
    const Chain row = chain(2, link_config(Time(1000), Bytes(200)));
    for (int i = 0; i < 20; ++i) net.send(row.source, frame(2, 100), Vl(0));
    net.alarm(Time(2000), 1);  // two frames are on the wire
    EXPECT_EQ(net.run(kForever), RunEnd::Control);
    take_control();
    net.set_link(row.links[0], false);
    const auto ports = take_control();
    ASSERT_EQ(ports.size(), 2U);
    EXPECT_EQ(ports[0].kind, switching::ControlItem::Kind::Port);
    EXPECT_FALSE(ports[0].up);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    const ChannelLosses& losses = net.links().channel(row.links[0], Direction::Forward).losses;
    EXPECT_EQ(losses.lost + losses.refused_down + row.sink->seen.size(), 20U);
    EXPECT_GT(losses.lost, 0U);
    net.set_link(row.links[0], true);
    take_control();
    row.sink->seen.clear();
    for (int i = 0; i < 20; ++i) net.send(row.source, frame(2, 100), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 20U);
}

TEST_F(Fabric, AnUnpluggedLinkCarriesNothingUntilItIsPlugged) {
    const Index<Switch> a = add(), b = add();
    const Index<Link> first = net.connect({a, Port(2)}, {b, Port(1)}, link_config(Time(5), Bytes(200)));
    const Index<Link> second =
        net.connect({a, Port(2)}, {b, Port(1)}, link_config(Time(5), Bytes(200)), false);
    const Index<Host> source = net.attach_host({a, Port(1)}, link_config());
    const auto target = sink(net.attach_host({b, Port(2)}, link_config()));
    EXPECT_THROW(net.links().plug(second), std::invalid_argument);  // the port is in use
    EXPECT_THROW(net.set_link(second, true), std::invalid_argument);
    net.set_link(first, false);
    net.links().plug(second);
    net.set_link(second, true);
    take_control();
    net.send(source, frame(2, 50), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(target->seen.size(), 1U);
    EXPECT_EQ(net.links().channel(second, Direction::Forward).load.bytes, Bytes(50));
    EXPECT_EQ(net.links().channel(first, Direction::Forward).load.bytes, Bytes(0));
}

TEST_F(Fabric, LossOfASeedIsTheSameInEachRun) {
    const auto arrived = [](std::uint64_t seed) {
        Wired fabric;
        const Chain row = fabric.chain(2, link_config(Time(10)));
        fabric.net.links().set_seed(seed);
        fabric.net.links().impair(row.links[0], Direction::Forward, {.loss = 0.5});
        for (char i = 0; i < 40; ++i) {
            std::string bytes = frame(2, 20);
            bytes[1] = i;
            fabric.net.send(row.source, bytes, Vl(0));
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
    net.hosts().set_bin(Time(100), kVls);
    for (int i = 0; i < 3; ++i) net.send(row.source, frame(2, 60), Vl(0));
    net.run(kForever);  // frames arrive at 120, 180 and 240
    EXPECT_EQ(net.delivered_bins(), (std::vector{Bytes(0), Bytes(120), Bytes(60)}));
}

TEST_F(Fabric, TwoLanesOfAPriorityOvertakeEachOther) {
    std::vector<Vl> vls;
    for (int vl = 0; vl < 16; ++vl) vls.emplace_back(vl);
    net.links().lanes.set(15, vls);  // by the last bit of the second byte
    const Chain row = chain(1, link_config());
    const auto lane_frame = [](char number, bool lane) {
        std::string bytes = frame(2, 100, 1);
        bytes[1] = static_cast<char>(number << 1 | static_cast<int>(lane));
        return bytes;
    };
    const Index<Host> more = net.attach_host({Index<Switch>(0), Port(3)}, link_config());
    for (char i = 0; i < 4; ++i) {
        net.send(row.source, lane_frame(i, false), Vl(2));
        net.send(more, lane_frame(static_cast<char>(10 + i), true), Vl(3));
    }
    net.run(kForever);
    ASSERT_EQ(row.sink->seen.size(), 8U);
    // Both hosts send at the rate of the port: the second lane goes first, the first lane waits.
    EXPECT_EQ(row.sink->seen.back().second[1] & 1, 0);
    EXPECT_EQ(row.sink->seen[row.sink->seen.size() - 2].second[1] & 1, 0);
}

TEST_F(Fabric, RefusesLanesThatAreNoPermutation) {
    EXPECT_THROW(net.links().lanes.set(0, {Vl(0), Vl(1)}), std::invalid_argument);
    EXPECT_THROW(net.links().lanes.set(0, std::vector<Vl>(16)), std::invalid_argument);
}

TEST_F(Fabric, TheSampleOfALinkHasItsLoadSinceTheLast) {
    const Chain row = chain(2, link_config());
    net.send(row.source, frame(2, 100), Vl(0));
    net.run(kForever);
    const LinkSample first = net.links().sample(net.now());
    EXPECT_EQ(first.state[0] & 1, 1);
    EXPECT_GT(static_cast<unsigned char>(first.load[0]), 0);
    EXPECT_EQ(first.load[1], 0);
    const LinkSample second = net.links().sample(net.now());
    EXPECT_EQ(second.load[0], 0);
}

}  // namespace
}  // namespace railyard::network
