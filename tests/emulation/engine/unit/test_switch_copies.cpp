// SPDX-License-Identifier: Apache-2.0
// Copies of frames: multicast, clones, resubmission, recirculation; digests; ingress and egress in two steps.
#include <set>

#include "switch.h"

namespace railyard::switching {
namespace {

using unit::digits;
using unit::hex;
using unit::Running;

// Frames of copies.p4 begin with an operation, a session, a number of rounds and a port. Egress writes its
// metadata into them.
struct Copying : Running {
    Copying() { start("tests/programs/build/copies.json"); }
    static std::string order(int what, int session = 0, int rounds = 0, int port = 3) {
        const std::string head{static_cast<char>(what), static_cast<char>(session), static_cast<char>(rounds),
                               static_cast<char>(port)};
        return head + std::string(13, '\0') + "payload";
    }
    struct Seen {
        std::uint32_t port;
        int instance, rid, kept;
    };
    std::vector<Seen> seen(const std::string& given) {
        std::vector<Seen> result;
        for (const auto& [port, text] : process(given)) {
            const std::string bytes = hex(text);
            const std::size_t at = bytes.size() - 7 - 17;  // the order header, behind any note header
            const auto byte = [&](std::size_t offset) {
                return static_cast<unsigned char>(bytes[at + offset]);
            };
            result.push_back({port, byte(4), byte(5) << 8 | byte(6), byte(7) << 8 | byte(8)});
        }
        return result;
    }
};

TEST_F(Copying, MulticastGivesEachReplicaItsPortAndNumber) {
    sw->set_multicast(4, {{Port(1), 10}, {Port(2), 20}, {Port(1), 11}});
    const auto out = seen(order(1, 4));
    ASSERT_EQ(out.size(), 3U);
    EXPECT_EQ(std::tuple(out[0].port, out[0].rid, out[0].instance), std::tuple(1U, 10, 5));
    EXPECT_EQ(std::tuple(out[1].port, out[1].rid), std::tuple(2U, 20));
    EXPECT_EQ(std::tuple(out[2].port, out[2].rid), std::tuple(1U, 11));
}

TEST_F(Copying, AGroupThatIsNotThereDropsTheFrame) {
    EXPECT_TRUE(process(order(1, 4)).empty());
    sw->set_multicast(4, {{Port(1), 1}});
    EXPECT_EQ(process(order(1, 4)).size(), 1U);
    sw->set_multicast(4, {});
    EXPECT_TRUE(process(order(1, 4)).empty());
}

TEST_F(Copying, ACloneKeepsTheMetadataOfItsFieldList) {
    sw->set_clone(2, {{Port(9), 1}}, 0);
    const auto with = seen(order(2, 2)), without = seen(order(3, 2));
    ASSERT_EQ(with.size(), 2U);
    const auto clone_of = [](const std::vector<Seen>& frames) {
        return frames[0].port == 9 ? frames[0] : frames[1];
    };
    EXPECT_EQ(clone_of(with).instance, 1);
    EXPECT_EQ(clone_of(with).kept, 0x1234);
    EXPECT_EQ(clone_of(without).kept, 0);
}

TEST_F(Copying, ACloneOfASessionMayBeTruncated) {
    sw->set_clone(2, {{Port(9), 1}}, 12);
    for (const auto& [port, bytes] : process(order(3, 2)))
        EXPECT_EQ(bytes.size() / 2, port == 9 ? 12U : 17 + 7 + 4U) << port;
}

TEST_F(Copying, ADroppedFramesCloneLeaves) {
    sw->set_clone(2, {{Port(9), 1}}, 0);
    const auto out = seen(order(5, 2));
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].port, 9U);
}

TEST_F(Copying, AResubmittedFrameGoesRoundAsOftenAsItAsks) {
    const auto out = seen(order(4, 0, 3));
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].kept, 0x1234 + 3);
}

TEST_F(Copying, ARecirculatedFrameIsParsedAgain) {
    const auto out = seen(order(9, 0, 2));
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].kept, 0x1434);
    EXPECT_EQ(out[0].instance, 0);  // egress sees a normal frame, as in BMv2
}

TEST_F(Copying, ACloneOfEgressHasTheHeadersOfItsTime) {
    sw->set_clone(2, {{Port(9), 0}}, 0);
    const auto out = seen(order(10, 2));
    ASSERT_EQ(out.size(), 2U);
    std::set<int> instances;
    for (const Seen& s : out) instances.insert(s.instance);
    EXPECT_EQ(instances, (std::set<int>{0, 2}));
}

TEST_F(Copying, ADigestHasTheBytesOfItsFields) {
    EXPECT_EQ(process(order(6), Port(0x105)).size(), 1U);
    ASSERT_EQ(sw->digests().size(), 1U);
    EXPECT_EQ(digits(sw->digests()[0].fields),
              "06"
              "0105"
              "1234");
}

TEST_F(Copying, TruncateCutsTheFrameThatLeaves) {
    const auto out = process(order(7));
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].second.size(), 2 * 20U);
}

TEST_F(Copying, NoMoreFramesThanItsBudgetOfCopies) {
    sw->set_multicast(4, std::vector<Replica>(1 << 16, {Port(1), 0}));
    EXPECT_EQ(process(order(1, 4)).size(), 1U << 16);
    sw->set_multicast(4, std::vector<Replica>((1 << 16) + 1, {Port(1), 0}));
    EXPECT_THROW(process(order(1, 4)), std::runtime_error);
    EXPECT_EQ(process(order(0)).size(), 1U);  // the next frame passes
}

TEST_F(Running, AProgramThatGoesRoundWithoutEndIsStopped) {
    start("tests/programs/build/departures.json");
    sw->set_clone(1, {{Port(5), 0}}, 0);
    const std::string endless{static_cast<char>(31 << 3), '\0'};
    try {
        process(endless);
        FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("resubmitted"), std::string::npos) << error.what();
    }
    EXPECT_EQ(process(std::string{static_cast<char>(4 << 3), '\0'}).size(), 1U);
}

TEST_F(Running, IngressAndEgressInTwoStepsGiveTheFramesOfOne) {
    start("tests/programs/build/copies.json");
    sw->set_multicast(4, {{Port(1), 10}, {Port(2), 20}});
    const std::string given = Copying::order(1, 4);
    const auto whole = process(given);
    Outputs pending, left;
    sw->ingress(pool.acquire(given.data(), given.size()), Port(7), Time(0), pending);
    ASSERT_EQ(pending.size(), 2U);
    for (Output& o : pending) {
        EXPECT_TRUE(o.frame->pending);
        sw->egress(std::move(o.frame), o.port, {}, Time(0), left);
    }
    ASSERT_EQ(left.size(), whole.size());
    for (std::size_t at = 0; at < left.size(); ++at)
        EXPECT_EQ(std::pair(left[at].port.value(), digits(left[at].frame->view())), whole[at]);
}

// Ingress adds a note of four bytes in front, and leaves the order and the payload as they came.
TEST_F(Running, BitsOfAPendingFrameAreThoseOfItsFieldsAndItsPayload) {
    start("tests/programs/build/copies.json");
    const std::string given = Copying::order(0, 0xA5, 3, 0x5A);
    Outputs pending;
    sw->ingress(pool.acquire(given.data(), given.size()), Port(7), Time(0), pending);
    ASSERT_EQ(pending.size(), 1U);
    constexpr std::uint32_t kNote = 32;
    for (std::uint32_t bit = 0; bit < 8 * given.size(); ++bit) {
        const std::uint32_t at = bit / 8;
        if (at >= 4 && at < 17) continue;  // metadata of the copy
        const bool set = (static_cast<unsigned char>(given[at]) >> (7 - bit % 8) & 1) != 0;
        EXPECT_EQ(sw->pending_bit(*pending[0].frame, kNote + bit), set) << "bit " << bit;
    }
    const auto end = static_cast<std::uint32_t>(kNote + 8 * given.size());
    EXPECT_FALSE(sw->pending_bit(*pending[0].frame, end));
}

TEST_F(Running, PendingFramesOfAnEarlierProgramAreDropped) {
    start("tests/programs/build/copies.json");
    const std::string given = Copying::order(0);
    Outputs pending, left;
    sw->ingress(pool.acquire(given.data(), given.size()), Port(7), Time(0), pending);
    sw->set_program(unit::program("tests/programs/build/copies.json"));
    sw->egress(std::move(pending[0].frame), Port(3), {}, Time(0), left);
    EXPECT_TRUE(left.empty());
}

}  // namespace
}  // namespace railyard::switching
