// SPDX-License-Identifier: Apache-2.0
// Queues of lossy links: limits, trimming, pauses.
#include <memory>

#include "common.h"
#include "network/links/channel.h"

namespace railyard::network {
namespace {

constexpr std::size_t kHeaders = 54;

// A data frame of `payload` bytes that takes marks, on VL `vl`, behind a source route if `routed`.
FrameHandle data_frame(FramePool& pool, std::size_t payload, unsigned vl, bool routed = false) {
    const std::size_t route = routed ? 8 : 0;
    FrameHandle frame = pool.acquire(kHeaders + route + payload);
    std::uint8_t* const bytes = frame->data();
    std::fill_n(bytes, frame->length, std::uint8_t{0});
    bytes[12] = 0x88, bytes[13] = 0xB5;
    bytes[14] = static_cast<std::uint8_t>(vl >> 3);
    bytes[15] = static_cast<std::uint8_t>((vl & 7u) << 5 | (routed ? 0xCu : 0x6u));
    bytes[18 + route + 4] = 0x80, bytes[18 + route + 5] = 1;  // FECN, no mark yet
    bytes[18 + route + 8] = 1;                                // data
    frame->set_lane(Lane(vl));
    return frame;
}

LinkConfig config_of(const QueuePolicy& policy) {
    LinkConfig config;
    config.rate = Rate(8'000'000'000);
    config.policy = std::make_shared<QueuePolicy>(policy);
    return config;
}

TEST(Trimming, LeavesTheHeadersOnTheSameLaneOfTheResponses) {
    FramePool pool;
    for (const bool routed : {false, true})
        for (const unsigned vl : {0u, 1u, 5u, 9u}) {
            const FrameHandle frame = data_frame(pool, 500, vl, routed);
            ASSERT_TRUE(trim(*frame));
            const std::size_t route = routed ? 8 : 0;
            EXPECT_EQ(frame->length, kHeaders + route);
            const std::uint8_t* const bytes = frame->data();
            EXPECT_EQ((bytes[14] & 1u) << 3 | bytes[15] >> 5, 2 + vl % 2);
            EXPECT_EQ(bytes[18 + route + 5] & 3u, 2u);
            EXPECT_EQ(bytes[18 + route + 7] >> 4, 1u);  // service level
            // Length from the link header on, less one: whole flits of 20 bytes, and the rest.
            const unsigned length = (bytes[16] & 0x3Fu) << 8 | bytes[17];
            EXPECT_EQ((length >> 5) * 20 + (length & 0x1Fu) + 1, kHeaders + route - 14);
            EXPECT_FALSE(trim(*frame));  // nothing is left to lose
        }
}

TEST(Trimming, HasNoEffectOnFramesThatTakeNoMarksOrAreNoData) {
    FramePool pool;
    for (const std::size_t at :
         {std::size_t{12}, std::size_t{15}, std::size_t{22}, std::size_t{23}, std::size_t{26}}) {
        const FrameHandle frame = data_frame(pool, 500, 0);
        frame->data()[at] = 0;
        const std::string before(frame->view());
        EXPECT_FALSE(trim(*frame)) << at;
        EXPECT_EQ(frame->view(), before);
    }
}

TEST(QueuesOfALink, DropAtTheirTailTrimAndCountEitherOnce) {
    FramePool pool;
    QueuePolicy policy;
    policy.queues[0] = {.bytes = Bytes(0), .frames = 2, .trims = true};
    policy.queues[4] = {.bytes = Bytes(1200), .frames = 0, .trims = false};
    policy.queues[2] = {.bytes = Bytes(120), .frames = 0, .trims = false};
    policy.trimmed = {Lane(2), Lane(3)};
    Channel channel(config_of(policy), "a-b");
    const auto put = [&](unsigned vl) {
        FrameHandle frame = data_frame(pool, 500, vl);
        return channel.put(frame);
    };
    EXPECT_TRUE(put(0) && put(0));
    EXPECT_TRUE(put(0) && put(0) &&
                put(0));  // as headers: the queue of headers admits what fits before a frame
    EXPECT_FALSE(put(0));
    EXPECT_EQ(channel.losses.trimmed, 3u);
    EXPECT_EQ(channel.losses.refused_full, 1u);
    EXPECT_EQ(channel.lanes[2].queue.size(), 3u);
    EXPECT_TRUE(put(4) && put(4));
    EXPECT_FALSE(put(4));
    EXPECT_EQ(channel.losses.refused_full, 2u);
    EXPECT_EQ(channel.losses.trimmed, 3u);
}

PausePolicy pauses_of(Time watchdog = Time()) {
    return {.xoff = Bytes(1000),
            .xon = Bytes(400),
            .headroom = Bytes(300),
            .watchdog = watchdog,
            .restore = Time(50),
            .lanes = 0x3FFF};
}

TEST(PausesOfALink, AskOnceAboveXoffAndOnceDownAtXonForEachClass) {
    Pauses pauses(pauses_of());
    EXPECT_TRUE(pauses.take(Lane(0), Bytes(1000)) && pauses.take(Lane(1), Bytes(1000)));
    EXPECT_FALSE(pauses.due());
    EXPECT_TRUE(pauses.take(Lane(1), Bytes(200)));
    auto order = pauses.due();
    ASSERT_TRUE(order);
    EXPECT_EQ(order->stop, 2);
    EXPECT_EQ(order->go, 0);
    EXPECT_TRUE(pauses.take(Lane(1), Bytes(100)));
    EXPECT_FALSE(pauses.take(Lane(1), Bytes(1)));  // XOFF and headroom are full
    EXPECT_EQ(pauses.overruns, 1u);
    pauses.free(Lane(1), Bytes(899));
    EXPECT_FALSE(pauses.due());
    pauses.free(Lane(1), Bytes(1));
    order = pauses.due();
    ASSERT_TRUE(order);
    EXPECT_EQ(order->go, 2);
}

TEST(PausesOfALink, TravelAsFramesOf8021Qbb) {
    FramePool pool;
    const FrameHandle frame = pause_frame(pool, {.stop = 0x05, .go = 0x80});
    EXPECT_EQ(frame->length, 64u);
    const std::string_view bytes = frame->view();
    EXPECT_EQ(bytes.substr(0, 6), std::string_view("\x01\x80\xC2\x00\x00\x01", 6));
    EXPECT_EQ(bytes.substr(12, 6), std::string_view("\x88\x08\x01\x01\x00\x85", 6));
    const auto order = pause_order(*frame);
    ASSERT_TRUE(order);
    EXPECT_EQ(order->stop, 0x05);
    EXPECT_EQ(order->go, 0x80);
    EXPECT_FALSE(pause_order(*data_frame(pool, 100, 0)));
}

TEST(PausesOfALink, EndByTheWatchdogAndLeaveTheClassDeafForATime) {
    Pauses pauses(pauses_of(Time(100)));
    pauses.obey({.stop = 1, .go = 0}, Time(10));
    EXPECT_TRUE(pauses.stops(Lane(0)));
    EXPECT_FALSE(pauses.stops(Lane(1)) || pauses.stops(Lane(14)));
    pauses.obey({.stop = 1, .go = 0}, Time(90));  // a pause is as old as its first frame
    EXPECT_EQ(pauses.next_expiry(), Time(110));
    EXPECT_EQ(pauses.expire(Time(109)), 0);
    EXPECT_EQ(pauses.expire(Time(110)), 1);
    pauses.obey({.stop = 1, .go = 0}, Time(159));
    EXPECT_FALSE(pauses.stops(Lane(0)));
    pauses.obey({.stop = 1, .go = 0}, Time(160));
    EXPECT_TRUE(pauses.stops(Lane(0)));
    EXPECT_EQ(pauses.expired, 1u);
}

}  // namespace
}  // namespace railyard::network
