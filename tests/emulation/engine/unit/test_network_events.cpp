// SPDX-License-Identifier: Apache-2.0
// Order of events in a network: arrivals, priorities, timers, alarms, replaced stations; refused calls.
#include <algorithm>

#include "network.h"

namespace railyard::network {
namespace {

using unit::Fabric;
using unit::frame;
using unit::link_config;
using unit::Sink;

TEST_F(Fabric, AFrameArrivesAfterTheTimeOfEachLink) {
    const Chain row = chain(3, link_config(Time(1000)));
    net.send(row.source, frame(2, 100), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(row.sink->seen[0].first, Time(4 * (100 + 1000)));
    EXPECT_EQ(net.frame_counts().hops, 3U);
}

TEST_F(Fabric, FramesOfALinkKeepTheirOrder) {
    const Chain row = chain(2, link_config(Time(7), Bytes(500)));
    for (char number = 0; number < 50; ++number) {
        std::string bytes = frame(2, 100);
        bytes[1] = number;
        net.send(row.source, bytes, Vl(0));
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
    net.send(row.source, frame(2, 100, 0), Vl(0));
    for (int i = 0; i < 3; ++i) net.send(row.source, frame(2, 100, 1), Vl(0));
    net.send(row.source, frame(2, 10, 6), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 5U);
    EXPECT_EQ(row.sink->seen.back().second[0] & 7, 6);  // the host has one queue, in which no frame overtakes
    const Index<Host> fast = net.attach_host({Index<Switch>(0), Port(3)}, link_config());
    row.sink->seen.clear();
    // Two hosts fill the queue of the port: the last frame, of high priority, leaves before frames that wait.
    for (int i = 0; i < 4; ++i) net.send(row.source, frame(2, 100, 1), Vl(0));
    net.send(fast, frame(2, 250, 1), Vl(0));
    net.send(fast, frame(2, 20, 6), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_LT(std::find_if(row.sink->seen.begin(), row.sink->seen.end(),
                           [](const auto& s) { return (s.second[0] & 7) == 6; }),
              row.sink->seen.end() - 1);
}

TEST_F(Fabric, RunsUpToATimeAndGoesOn) {
    const Chain row = chain(1, link_config(Time(1000)));
    net.send(row.source, frame(2, 100), Vl(0));
    EXPECT_EQ(net.run(Time(1500)), RunEnd::Until);
    EXPECT_EQ(net.now(), Time(1500));
    EXPECT_TRUE(row.sink->seen.empty());
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(net.now(), Time(2200));
}

TEST_F(Fabric, PausesAfterSoManyEvents) {
    const Chain row = chain(1, link_config(Time(1000)));
    net.send(row.source, frame(2, 100), Vl(0));
    EXPECT_EQ(net.run(kForever, 1), RunEnd::Paused);
    EXPECT_TRUE(row.sink->seen.empty());
    EXPECT_EQ(net.run(kForever, 100), RunEnd::Idle);
    EXPECT_EQ(row.sink->seen.size(), 1U);
}

TEST_F(Fabric, AFrameForAPortWithoutALinkIsCountedAndGone) {
    const Chain row = chain(1, link_config(Time(0), Bytes(100)));
    for (int i = 0; i < 5; ++i) net.send(row.source, frame(9, 100), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(net.frame_counts().without_link, 5U);  // and the credits of each are returned
}

TEST_F(Fabric, TimersOfAStationGoOffInTurn) {
    const Chain row = chain(1, link_config());
    row.sink->timer_at = Time(40);
    net.start(row.target);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->started, Time(0));
    EXPECT_EQ(row.sink->timers, (std::vector{Time(40), Time(50), Time(60)}));
}

TEST_F(Fabric, ANewDeadlineReplacesTheEarlier) {
    const Chain row = chain(1, link_config());
    net.set_timer(row.target, Time(100));
    net.set_timer(row.target, Time(70));
    net.set_timer(row.target, Time(80));
    EXPECT_EQ(net.run(Time(75)), RunEnd::Until);
    EXPECT_TRUE(row.sink->timers.empty());
    net.hosts().clear_timer(row.target);
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_TRUE(row.sink->timers.empty());
}

TEST_F(Fabric, ADeadlineInThePastIsNow) {
    const Chain row = chain(1, link_config());
    EXPECT_EQ(net.run(Time(50)), RunEnd::Idle);
    net.alarm(Time(60), 0);
    EXPECT_EQ(net.run(kForever), RunEnd::Control);
    take_control();
    net.set_timer(row.target, Time(10));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(row.sink->timers.front(), Time(60));
}

TEST_F(Fabric, AlarmsReachTheControlPlaneInOrderOfTime) {
    add();
    net.alarm(Time(20), 2);
    net.alarm(Time(10), 1);
    net.alarm(Time(20), 3);
    std::vector<std::pair<Time, std::int64_t>> told;
    while (net.run(kForever) == RunEnd::Control)
        for (const switching::ControlItem& item : take_control()) told.emplace_back(item.time, item.value);
    EXPECT_EQ(told,
              (std::vector<std::pair<Time, std::int64_t>>{{Time(10), 1}, {Time(20), 2}, {Time(20), 3}}));
}

TEST_F(Fabric, AReplacedStationLeavesAndHearsNoMore) {
    const Chain row = chain(1, link_config(Time(100)));
    net.send(row.source, frame(2, 10), Vl(0));
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
    net.send(row.source, frame(2, 10), Vl(0));
    net.send(row.source, frame(2, 10), Vl(0));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    EXPECT_EQ(first->seen.size(), 1U);
    EXPECT_EQ(second->seen.size(), 1U);
}

TEST_F(Fabric, RefusesAVlThatThereIsNot) {
    const Chain row = chain(1, link_config());
    EXPECT_THROW(net.send(row.source, frame(2, 10), Vl(8)), std::invalid_argument);
    EXPECT_THROW(net.send(row.source, frame(2, 10), Vl(-1)), std::invalid_argument);
    EXPECT_THROW(net.send(Index<Host>(9), frame(2, 10), Vl(0)), std::out_of_range);
}

TEST_F(Fabric, RefusesAPortTwiceOrOutOfRange) {
    const Index<Switch> a = add(), b = add();
    static_cast<void>(net.connect({a, Port(1)}, {b, Port(1)}, link_config()));
    EXPECT_THROW(static_cast<void>(net.connect({a, Port(1)}, {b, Port(2)}, link_config())),
                 std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net.connect({a, Port(510)}, {b, Port(2)}, link_config())),
                 std::invalid_argument);
    EXPECT_THROW(static_cast<void>(net.connect({a, Port(~0U)}, {b, Port(3)}, link_config())),
                 std::invalid_argument);
}

TEST_F(Fabric, APacketOutLeavesByThePortItNames) {
    const Chain row = chain(1, link_config());
    net.packet_out(Index<Switch>(0), frame(2, 30));
    EXPECT_EQ(net.run(kForever), RunEnd::Idle);
    ASSERT_EQ(row.sink->seen.size(), 1U);
    EXPECT_EQ(row.sink->seen[0].first, Time(30));
}

}  // namespace
}  // namespace railyard::network
