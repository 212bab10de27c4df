// SPDX-License-Identifier: Apache-2.0
// One direction of a link: serialisation, queues, schedulers, credits, impairments.
#include <map>

#include "common.h"
#include "network/links/channel.h"

namespace railyard::network {
namespace {

constexpr Rate kGbps{1'000'000'000};

struct Link1 : testing::Test {
    FramePool pool;
    static LinkConfig config(Bytes credits = Bytes()) {
        LinkConfig config;
        config.rate = 8 * kGbps;  // a byte a nanosecond
        config.delay = Time(5000);
        config.credit_bytes = credits;
        config.queue_bytes = Bytes(1000);
        return config;
    }
    FrameHandle frame(std::size_t bytes, std::uint8_t vl = 0) {
        FrameHandle frame = pool.acquire(bytes);
        frame->set_lane(Lane(vl));
        return frame;
    }
    bool put(Channel& channel, std::size_t bytes, std::uint8_t vl = 0) {
        FrameHandle f = frame(bytes, vl);
        return channel.put(f);
    }
    // Send what the scheduler chooses; its lane.
    static std::optional<Lane> serve(Channel& channel) {
        const Lane lane = channel.next();
        if (lane == kNoLane) return std::nullopt;
        channel.send(channel.take(lane), lane, channel.busy_until, channel.flying);
        return lane;
    }
};

TEST_F(Link1, RefusesARateDelayOrBufferThatCannotBe) {
    for (const auto& [change, word] :
         std::map<std::string, std::string>{{"rate", "a rate of 0 bit/s"},
                                            {"delay", "the delay is negative"},
                                            {"buffer", "a buffer is negative"}}) {
        LinkConfig wrong = config();
        if (change == "rate") wrong.rate = Rate();
        if (change == "delay") wrong.delay = Time(-1);
        if (change == "buffer") wrong.credit_bytes = Bytes(-1);
        try {
            const Channel channel(wrong, "a-b");
            FAIL() << change;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("link a-b: " + word), std::string::npos) << error.what();
        }
    }
}

TEST_F(Link1, ADeficitSchedulerNeedsAQuantumForEachVl) {
    LinkConfig wrong = config();
    wrong.scheduler = Scheduler::Deficit;
    wrong.quanta.fill(Bytes(100));
    wrong.quanta[7] = Bytes(0);
    EXPECT_THROW(Channel(wrong, "x"), std::invalid_argument);
    wrong.quanta[7] = Bytes(1);
    EXPECT_NO_THROW(Channel(wrong, "x"));
}

TEST_F(Link1, SerialisationIsRoundedUp) {
    LinkConfig odd = config();
    odd.rate = Rate(3);
    const Channel channel(odd, "x");
    EXPECT_EQ(channel.serialisation(Bytes(1)), Time(2'666'666'666'667));
    EXPECT_EQ(channel.serialisation(Bytes(3)), Time(8'000'000'000'000));
    EXPECT_EQ(Channel(config(), "x").serialisation(Bytes(1500)), Time(1'500'000));
}

TEST_F(Link1, SerialisationOfHugeFramesDoesNotOverflow) {
    LinkConfig slow = config();
    slow.rate = Rate(8'000'000);
    EXPECT_EQ(Channel(slow, "x").serialisation(Bytes(4'000'000'000U)), 4'000'000'000 * kMicrosecond);
}

TEST_F(Link1, AFrameArrivesAfterSerialisationAndDelay) {
    Channel channel(config(), "x");
    EXPECT_EQ(channel.send(frame(100), Lane(0), Time(1000), channel.flying), Time(101'000));
    EXPECT_EQ(channel.flying.front().arrival, Time(106'000));
    EXPECT_EQ(channel.busy_until, Time(101'000));
    EXPECT_EQ(channel.load.busy, Time(100'000));
    EXPECT_EQ(channel.load.bytes, Bytes(100));
    EXPECT_EQ(channel.lanes[0].sent, 1U);
}

TEST_F(Link1, ADropTailQueueRefusesWhatDoesNotFit) {
    Channel channel(config(), "x");
    EXPECT_TRUE(put(channel, 600));
    EXPECT_FALSE(put(channel, 401));
    EXPECT_TRUE(put(channel, 400));
    EXPECT_TRUE(put(channel, 1000, 3));  // each VL has its own
    EXPECT_EQ(channel.losses.refused_full, 1U);
    EXPECT_EQ(channel.waiting, 3U);
    EXPECT_EQ(channel.load.max_queued_bytes, Bytes(1000));
}

TEST_F(Link1, ARefusedFrameStaysWithTheCaller) {
    Channel channel(config(), "x");
    FrameHandle big = frame(2000);
    EXPECT_FALSE(channel.put(big));
    ASSERT_NE(big, nullptr);
    channel.up = false;
    FrameHandle small = frame(10);
    EXPECT_FALSE(channel.put(small));
    EXPECT_NE(small, nullptr);
    EXPECT_EQ(channel.losses.refused_down, 1U);
}

TEST_F(Link1, ALosslessQueueHasNoLimitButTheReceiveBuffer) {
    Channel channel(config(Bytes(500)), "x");
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(put(channel, 400));
    EXPECT_THROW(put(channel, 501), std::runtime_error);
    EXPECT_EQ(channel.waiting, 100U);
}

TEST_F(Link1, TakeAndPutBackLeaveTheQueueAsItWas) {
    Channel channel(config(), "x");
    put(channel, 10, 2);
    put(channel, 20, 2);
    channel.put_back(channel.take(Lane(2)));
    EXPECT_EQ(channel.waiting, 2U);
    EXPECT_EQ(channel.lanes[2].queued, Bytes(30));
    EXPECT_EQ(channel.take(Lane(2))->length, 10U);
    EXPECT_EQ(channel.ready, 1U << 2);
    EXPECT_EQ(channel.take(Lane(2))->length, 20U);
    EXPECT_EQ(channel.ready, 0U);
    EXPECT_EQ(channel.lanes[2].queued, Bytes(0));
}

TEST_F(Link1, StrictPriorityServesTheHighestVl) {
    Channel channel(config(), "x");
    for (const std::uint8_t vl : {1, 5, 3, 5}) put(channel, 10, vl);
    std::vector<std::size_t> served;
    while (const auto lane = serve(channel)) served.push_back(lane->value());
    EXPECT_EQ(served, (std::vector<std::size_t>{5, 5, 3, 1}));
}

TEST_F(Link1, AVlWithoutCreditsGivesWayToALowerVl) {
    Channel channel(config(Bytes(100)), "x");
    put(channel, 80, 5);
    put(channel, 80, 5);
    put(channel, 80, 1);
    EXPECT_EQ(serve(channel), Lane(5));
    EXPECT_EQ(serve(channel), Lane(1));
    EXPECT_EQ(serve(channel), std::nullopt);
    EXPECT_EQ(channel.waiting, 1U);
}

TEST_F(Link1, RoundRobinServesVlsInTurn) {
    LinkConfig turns = config();
    turns.scheduler = Scheduler::RoundRobin;
    Channel channel(turns, "x");
    for (int i = 0; i < 2; ++i)
        for (const std::uint8_t vl : {0, 3, 9}) put(channel, 10, vl);
    std::vector<std::size_t> served;
    while (const auto lane = serve(channel)) served.push_back(lane->value());
    EXPECT_EQ(served, (std::vector<std::size_t>{0, 3, 9, 0, 3, 9}));
}

TEST_F(Link1, DeficitRoundRobinSharesBytesByTheQuanta) {
    LinkConfig fair = config();
    fair.scheduler = Scheduler::Deficit;
    fair.queue_bytes = Bytes(1 << 30);
    fair.quanta.fill(Bytes(1));
    fair.quanta[1] = Bytes(100);
    fair.quanta[2] = Bytes(300);
    Channel channel(fair, "x");
    for (int i = 0; i < 400; ++i) put(channel, 150, 1);
    for (int i = 0; i < 400; ++i) put(channel, 90, 2);
    std::map<std::size_t, std::uint64_t> bytes;
    while (bytes[2] < 27'000) {
        const std::size_t vl = serve(channel)->value();
        bytes[vl] += channel.flying[channel.flying.size() - 1].frame->length;
    }
    EXPECT_NEAR(static_cast<double>(bytes[2]) / static_cast<double>(bytes[1]), 3, 0.1);
}

TEST_F(Link1, DeficitRoundRobinForgetsTheDeficitOfAnEmptyQueue) {
    LinkConfig fair = config();
    fair.scheduler = Scheduler::Deficit;
    fair.quanta.fill(Bytes(100));
    Channel channel(fair, "x");
    put(channel, 10, 1);
    EXPECT_EQ(serve(channel), Lane(1));  // 90 bytes of its quantum are left, and lost
    put(channel, 150, 1);
    put(channel, 100, 2);
    EXPECT_EQ(serve(channel), Lane(2));
    EXPECT_EQ(serve(channel), Lane(1));
}

TEST_F(Link1, AFrameOfAnIdleLinkPassesItsQueue) {
    Channel channel(config(Bytes(100)), "x");
    const FrameHandle small = frame(60), large = frame(101);
    EXPECT_TRUE(channel.passes(*small, Time(0)));
    EXPECT_FALSE(channel.passes(*large, Time(0)));
    channel.busy_until = Time(10);
    EXPECT_FALSE(channel.passes(*small, Time(9)));
    EXPECT_TRUE(channel.passes(*small, Time(10)));
    put(channel, 10);
    EXPECT_FALSE(channel.passes(*small, Time(10)));
}

TEST_F(Link1, ADownLinkLetsNothingPass) {
    Channel channel(config(), "x");
    channel.up = false;
    EXPECT_FALSE(channel.passes(*frame(1), Time(0)));
}

TEST_F(Link1, CreditsReturnALinkDelayAfterTheBufferIsFree) {
    Channel channel(config(Bytes(100)), "x");
    put(channel, 100);
    put(channel, 100);
    ASSERT_EQ(serve(channel), Lane(0));
    channel.lanes[0].held = Bytes(100);  // has arrived
    channel.give_back({Index<Channel>(0), FrameBytes(100), {}, Lane(0)}, Time(20'000));
    EXPECT_EQ(channel.lanes[0].held, Bytes(0));
    channel.collect(Time(24'999));
    EXPECT_EQ(serve(channel), std::nullopt);
    channel.collect(Time(25'000));
    EXPECT_EQ(channel.lanes[0].credits, Bytes(100));
    EXPECT_EQ(serve(channel), Lane(0));
}

TEST_F(Link1, CreditsThatReturnOutOfOrderAreCollectedByTime) {
    Channel channel(config(Bytes(1000)), "x");
    for (auto& lane : channel.lanes) lane.credits = Bytes(0);
    for (const int time : {30, 10, 20, 10, 40})
        channel.return_credit({Time(time), FrameBytes(time), Lane(0)});
    channel.collect(Time(10));
    EXPECT_EQ(channel.lanes[0].credits, Bytes(20));
    channel.collect(Time(30));
    EXPECT_EQ(channel.lanes[0].credits, Bytes(70));
    EXPECT_EQ(channel.returning.size(), 1U);
}

TEST_F(Link1, CreditsAreConservedOverManyFrames) {
    Channel channel(config(Bytes(2000)), "x");
    unit::Random random(4);
    ByLane<Bytes> flying{};
    Time now{};
    for (int i = 0; i < 20000; ++i) {
        now += static_cast<Time>(random.below(3000));
        channel.collect(now);
        if (random.chance(60))
            put(channel, 1 + random.below(500), static_cast<std::uint8_t>(random.below(kVls)));
        if (const Lane lane = channel.next(); lane != kNoLane) {
            FrameHandle sent = channel.take(lane);
            flying[lane] += sent->size();
            channel.send(std::move(sent), lane, std::max(now, channel.busy_until), channel.flying);
        }
        if (!channel.flying.empty() && random.chance(50)) {
            const FrameHandle arrived = channel.flying.pop_front().frame;
            flying[arrived->lane()] -= arrived->size();
            channel.lanes[arrived->lane()].held += arrived->size();
            channel.give_back({Index<Channel>(0), arrived->size(), {}, arrived->lane()},
                              now + static_cast<Time>(random.below(9000)));
        }
        ByLane<Bytes> returning{};
        for (std::size_t at = 0; at < channel.returning.size(); ++at)
            returning[channel.returning[at].lane] += channel.returning[at].bytes;
        for (std::size_t vl = 0; vl < kVls; ++vl) {
            const auto& lane = channel.lanes[vl];
            ASSERT_GE(lane.credits, Bytes(0));
            ASSERT_EQ(lane.credits + flying[vl] + lane.held + returning[vl], Bytes(2000));
        }
    }
}

TEST_F(Link1, ALinkComesUpWithCreditsForTheFreeBuffers) {
    Channel channel(config(Bytes(1000)), "x");
    channel.up = false;
    channel.lanes[2].credits = Bytes(5);
    channel.lanes[2].held = Bytes(300);  // in the switch behind it
    channel.return_credit(
        {Time(2'000), FrameBytes(100), Lane(2)});  // returns before the link is up for a delay
    channel.return_credit({Time(50'000), FrameBytes(200), Lane(2)});  // returns later
    channel.bring_up(Time(1'000));
    EXPECT_TRUE(channel.up);
    EXPECT_EQ(channel.lanes[2].credits, Bytes(1000 - 300 - 200));
    EXPECT_EQ(channel.lanes[1].credits, Bytes(1000));
    channel.collect(Time(50'000));
    EXPECT_EQ(channel.lanes[2].credits, Bytes(700));
}

TEST_F(Link1, LossMarksTheGivenShareOfFrames) {
    Channel channel(config(), "x");
    channel.seed(9);
    channel.impair({.loss = 0.25});
    int lost = 0;
    for (int i = 0; i < 4000; ++i) {
        channel.send(frame(10), Lane(0), channel.busy_until, channel.flying);
        lost += channel.flying.pop_front().frame->lost;
    }
    EXPECT_NEAR(lost, 1000, 90);  // more than three standard deviations
    EXPECT_EQ(channel.losses.impaired, static_cast<std::uint64_t>(lost));
}

TEST_F(Link1, LossOfASeedHitsTheSameFramesAgain) {
    const auto lost = [this](std::uint64_t seed) {
        Channel channel(config(), "x");
        channel.seed(seed);
        channel.impair({.loss = 0.5});
        std::vector<bool> out;
        for (int i = 0; i < 64; ++i) {
            channel.send(frame(10), Lane(0), channel.busy_until, channel.flying);
            out.push_back(channel.flying.pop_front().frame->lost);
        }
        return out;
    };
    EXPECT_EQ(lost(1), lost(1));
    EXPECT_NE(lost(1), lost(2));
}

TEST_F(Link1, ABlockedDirectionLosesAll) {
    Channel channel(config(), "x");
    channel.impair({.blocked = true});
    EXPECT_TRUE(channel.impaired());
    channel.send(frame(10), Lane(0), Time(0), channel.flying);
    EXPECT_TRUE(channel.flying.front().frame->lost);
    channel.impair({});
    EXPECT_FALSE(channel.impaired());
    channel.send(frame(10), Lane(0), channel.busy_until, channel.flying);
    EXPECT_FALSE(channel.flying[1].frame->lost);
}

TEST_F(Link1, FramesKeepTheirOrderWhenAnExtraDelayEnds) {
    Channel channel(config(), "x");
    channel.impair({.extra_delay = Time(1'000'000)});
    channel.send(frame(10), Lane(0), Time(0), channel.flying);
    channel.impair({});
    channel.send(frame(10), Lane(0), Time(10'000), channel.flying);
    EXPECT_EQ(channel.flying[0].arrival, Time(1'015'000));
    EXPECT_EQ(channel.flying[1].arrival, Time(1'015'000));
}

TEST_F(Link1, AnImpairedRateReplacesTheRateUntilItEnds) {
    Channel channel(config(), "x");
    channel.impair({.rate = 4 * kGbps});
    EXPECT_EQ(channel.serialisation(Bytes(100)), Time(200'000));
    channel.impair({});
    EXPECT_EQ(channel.serialisation(Bytes(100)), Time(100'000));
}

TEST_F(Link1, FramesInTurnHaveTheTransmissionTimeOfTheirSizeAndOfTheCurrentRate) {
    Channel channel(config(), "x");
    const auto duration = [&](std::size_t bytes) {
        const Time begin = channel.busy_until;
        return channel.send(frame(bytes), Lane(0), begin, channel.flying) - begin;
    };
    EXPECT_EQ(duration(100), Time(100'000));
    EXPECT_EQ(duration(100), Time(100'000));
    EXPECT_EQ(duration(60), Time(60'000));
    channel.impair({.rate = 4 * kGbps});
    EXPECT_EQ(duration(60), Time(120'000));
    channel.impair({});
    EXPECT_EQ(duration(60), Time(60'000));
}

TEST_F(Link1, RefusesAnImpairmentThatCannotBe) {
    Channel channel(config(), "x");
    EXPECT_THROW(channel.impair({.loss = 1.5}), std::invalid_argument);
    EXPECT_THROW(channel.impair({.loss = std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
    EXPECT_THROW(channel.impair({.rate = Rate()}), std::invalid_argument);
    EXPECT_THROW(channel.impair({.extra_delay = Time(-1)}), std::invalid_argument);
    EXPECT_FALSE(channel.impaired());
}

TEST_F(Link1, RecentFramesHaveTheTimeAtWhichTheyWereSent) {
    Channel channel(config(), "x");
    channel.keep_recent(std::make_shared<frames::RecentFrames>(2), Direction::Backward);
    channel.send(pool.acquire("abc", 3), Lane(0), Time(777), channel.flying);
    const auto items = channel.recent()->list();
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(items[0].time, Time(777));
    EXPECT_EQ(items[0].direction, Direction::Backward);
    EXPECT_EQ(items[0].bytes, "abc");
}

}  // namespace
}  // namespace railyard::network
