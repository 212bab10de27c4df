// SPDX-License-Identifier: Apache-2.0
// Frames and their pool, payloads that several frames share, rings, lists, recent frames and capture files.
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "common.h"
#include "frames/cna24.h"
#include "frames/pages.h"
#include "frames/pcap_file.h"
#include "frames/recent.h"
#include "frames/ring.h"
#include "frames/stream.h"

namespace railyard::frames {
namespace {

using unit::digits;
using unit::hex;

TEST(Ring, KeepsTheOrderOfAQueueWhileItGrowsAndWrapsRound) {
    Ring<int> ring;
    std::deque<int> model;
    unit::Random random(1);
    for (int i = 0; i < 5000; ++i) {
        if (model.empty() || random.chance(52)) {
            ring.push_back(i);
            model.push_back(i);
        } else {
            ASSERT_EQ(ring.pop_front(), model.front());
            model.pop_front();
        }
        ASSERT_EQ(ring.size(), model.size());
    }
    for (std::size_t at = 0; at < model.size(); ++at) ASSERT_EQ(ring[at], model[at]);
}

TEST(Ring, PushFrontUndoesPopFront) {
    Ring<int> ring;
    for (int i = 0; i < 8; ++i) ring.push_back(i);
    ring.push_front(ring.pop_front());
    ring.push_front(-1);  // grows
    EXPECT_EQ(ring.size(), 9U);
    for (int i = -1; i < 8; ++i) EXPECT_EQ(ring.pop_front(), i);
}

TEST(Ring, ClearDestroysWhatItHolds) {
    const auto value = std::make_shared<int>(7);
    Ring<std::shared_ptr<int>> ring;
    for (int i = 0; i < 20; ++i) ring.push_back(value);
    ring.pop_front();
    EXPECT_EQ(value.use_count(), 20);
    ring.clear();
    EXPECT_TRUE(ring.empty());
    EXPECT_EQ(value.use_count(), 1);
}

TEST(Ring, MovesItsElementsAndDestroysEachOnce) {
    const auto value = std::make_shared<int>(7);
    {
        Ring<std::shared_ptr<int>> ring;
        for (int i = 0; i < 20; ++i) ring.push_back(value);
        Ring<std::shared_ptr<int>> moved(std::move(ring));
        EXPECT_EQ(moved.size(), 20U);
        EXPECT_EQ(value.use_count(), 21);
        ring = std::move(moved);
        EXPECT_EQ(ring.back(), value);
        ring.pop_front();
        EXPECT_EQ(value.use_count(), 20);
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(Index, IsNoneUntilItGetsAPosition) {
    EXPECT_FALSE(Index<int>());
    EXPECT_TRUE(Index<int>(0));
    EXPECT_NE(Index<int>(), Index<int>(0));
    EXPECT_LT(Index<int>(3), Index<int>(4));
}

TEST(List, NamesAnIndexFromOutsideThatItDoesNotHave) {
    List<int> list{4, 5};
    EXPECT_EQ(list.at(Index<int>(1)), 5);
    EXPECT_EQ(list.next(), Index<int>(2));
    try {
        list.at(Index<int>(2));
        FAIL() << "no exception";
    } catch (const std::out_of_range& error) {
        EXPECT_STREQ(error.what(), "number 2 is not below 2");
    }
    EXPECT_THROW(list.at(Index<int>()), std::out_of_range);
}

TEST(List, FindsTheFirstElementOfAName) {
    struct Named {
        std::string name;
    };
    const List<Named> list{{"a"}, {"b"}, {"b"}};
    EXPECT_EQ(list.named("b"), Index<Named>(1));
    EXPECT_FALSE(list.named("c"));
}

TEST(FramePool, GivesAFrameBackToTheNextOfItsSize) {
    FramePool pool;
    FrameHandle first = pool.acquire(100);
    const Frame* const address = first.get();
    first.reset();
    EXPECT_EQ(pool.acquire(110).get(), address);  // the same multiple of 64 bytes
    EXPECT_NE(pool.acquire(1000).get(), address);
}

TEST(FramePool, AReusedFrameKeepsNothingOfTheEarlierFrame) {
    FramePool pool;
    FrameHandle frame = pool.acquire("abc", 3);
    frame->set_lane(Lane(5));
    frame->pending = frame->lost = true;
    frame->held = {Index<network::Channel>(3), FrameBytes(9), {}, Lane(1)};
    pool.mark(*frame);
    const Frame* const address = frame.get();
    frame.reset();
    frame = pool.acquire(3);
    ASSERT_EQ(frame.get(), address);
    EXPECT_EQ(frame->lane(), Lane(0));
    EXPECT_FALSE(frame->pending || frame->lost || frame->controlled);
    EXPECT_FALSE(frame->held.channel);
    EXPECT_EQ(frame->start, Frame::kHeadroom);
}

TEST(FramePool, FramesOfTheirOwnDoNotOverlap) {
    FramePool pool;
    std::vector<FrameHandle> frames;
    unit::Random random(2);
    std::vector<std::string> contents;
    for (int i = 0; i < 300; ++i) {
        contents.emplace_back(random.below(3000), static_cast<char>(random.word()));
        frames.push_back(pool.acquire(contents.back().data(), contents.back().size()));
    }
    for (std::size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(frames[i]->view(), contents[i]);
}

TEST(FramePool, CountsFramesOfTheControlPlaneAndTheirCopies) {
    FramePool pool;
    FrameHandle frame = pool.acquire(10);
    pool.mark(*frame);
    pool.mark(*frame);  // counts once
    EXPECT_EQ(pool.controlled(), 1);
    FrameHandle copy = pool.copy(*frame);
    EXPECT_EQ(pool.controlled(), 2);
    frame.reset();
    copy.reset();
    EXPECT_EQ(pool.controlled(), 0);
}

TEST(FramePool, RefusesAFrameThatNoSizeClassHolds) {
    FramePool pool;
    EXPECT_THROW(static_cast<void>(pool.acquire(std::size_t{1} << 22)), std::length_error);
}

TEST(FramePool, AFrameMayGoToThePoolThatAdoptedIt) {
    FramePool from, to;
    from.exchanges = to.exchanges = true;
    FrameHandle frame = from.acquire(5000);
    const Frame* const address = frame.get();
    to.adopt(*frame);
    frame.reset();
    EXPECT_EQ(to.acquire(5000).get(), address);
    EXPECT_NE(from.acquire(5000).get(), address);
}

// A frame of a header and 8 bytes of a payload that stands in an array.
struct Shared : testing::Test {
    FramePool pool;
    std::string array = "payload!other";
    Payload* payload = pool.share(reinterpret_cast<const std::uint8_t*>(array.data()), 8);
    Payload* list = nullptr;

    FrameHandle frame(std::uint32_t length = 12) {
        FrameHandle frame = pool.acquire("head", 4);
        FramePool::carry(*frame, *payload, length);
        return frame;
    }
    void TearDown() override { FramePool::drop(payload); }
};

TEST_F(Shared, AFrameReadsThroughToThePayload) {
    const FrameHandle sent = frame();
    EXPECT_EQ(sent->length, 12U);
    EXPECT_EQ(sent->stored, 4U);
    EXPECT_EQ(sent->byte(3), 'd');
    EXPECT_EQ(sent->byte(4), 'p');
    EXPECT_EQ(sent->byte(11), '!');
    EXPECT_EQ(payload->users, 2U);
}

TEST_F(Shared, JoinCopiesThePayloadOnceAndGivesItUp) {
    const FrameHandle sent = frame();
    EXPECT_EQ(sent->view(), "headpayload!");
    EXPECT_EQ(sent->payload, nullptr);
    EXPECT_EQ(payload->users, 1U);
    EXPECT_EQ(sent->view(), "headpayload!");
}

TEST_F(Shared, ATruncatedFrameHasTheBeginningOfThePayload) {
    const FrameHandle sent = frame();
    sent->truncate(7);
    EXPECT_EQ(sent->view(), "headpay");
    const FrameHandle shorter = frame();
    shorter->truncate(2);
    EXPECT_EQ(shorter->view(), "he");
    shorter->truncate(9);  // does not lengthen
    EXPECT_EQ(shorter->length, 2U);
}

TEST_F(Shared, KeepSavesTheBytesFromAChangeOfTheArray) {
    payload->refer(list);
    const FrameHandle sent = frame();
    list->keep();
    EXPECT_EQ(list, nullptr);
    array.replace(0, 8, "changed!");
    EXPECT_EQ(sent->view(), "headpayload!");
}

TEST_F(Shared, ACopyOfAFrameSharesThePayload) {
    FrameHandle sent = frame();
    const FrameHandle copy = pool.copy(*sent);
    EXPECT_EQ(payload->users, 3U);
    sent.reset();
    EXPECT_EQ(payload->users, 2U);
    EXPECT_EQ(copy->view(), "headpayload!");
}

TEST_F(Shared, PayloadsLeaveTheirListFromAnyPosition) {
    payload->refer(list);
    Payload* const second = pool.share(payload->bytes, 1);
    Payload* const third = pool.share(payload->bytes, 1);
    second->refer(list);
    third->refer(list);
    FramePool::drop(second);  // the middle
    EXPECT_EQ(list, third);
    EXPECT_EQ(third->next, payload);
    EXPECT_EQ(payload->previous, third);
    FramePool::drop(third);  // the first
    EXPECT_EQ(list, payload);
    EXPECT_EQ(payload->previous, nullptr);
}

TEST_F(Shared, ADroppedPayloadIsUsedAgain) {
    Payload* const other = pool.share(payload->bytes, 3);
    FramePool::drop(other);
    Payload* const again = pool.share(payload->bytes, 2);
    EXPECT_EQ(again, other);
    EXPECT_EQ(again->users, 1U);
    EXPECT_EQ(again->first, nullptr);
    FramePool::drop(again);
}

TEST(Pages, BlocksBeginAtAPageFromItsSizeOn) {
    for (const std::size_t bytes : {std::size_t{64}, kPageBytes, kHugePageBytes}) {
        void* const block = allocate_pages(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % std::min(bytes, kHugePageBytes), 0U) << bytes;
        free_pages(block, bytes);
    }
}

TEST(Stream, CopiesAnyLengthToAnyAddress) {
    alignas(64) std::array<std::uint8_t, 512> from, to;
    std::iota(from.begin(), from.end(), std::uint8_t{3});
    for (const std::size_t at : {0, 1, 16, 33})
        for (const std::size_t bytes : {0, 1, 64, 100, 256}) {
            to.fill(0);
            stream(to.data() + at, from.data() + 5, bytes);
            end_streams();
            EXPECT_TRUE(std::equal(from.begin() + 5, from.begin() + 5 + static_cast<long>(bytes),
                                   to.begin() + static_cast<long>(at)));
            EXPECT_EQ(to[at + bytes], 0);
        }
}

TEST(Words, AreInNetworkByteOrder) {
    const std::string bytes = hex("0102030405060708");
    EXPECT_EQ(load_word(reinterpret_cast<const std::uint8_t*>(bytes.data())), 0x0102030405060708U);
    std::array<std::uint8_t, 8> out;
    store_word(out.data(), 0x1122334455667788);
    EXPECT_EQ(out[0], 0x11);
    EXPECT_EQ(out[7], 0x88);
}

TEST(RecentFrames, KeepsTheLastOfEachSizeInTheirOrder) {
    RecentFrames recent(3);
    for (int i = 0; i < 5; ++i)
        recent.put(Time(10 * i), kDirections[static_cast<std::size_t>(i % 2)],
                   std::string(1, static_cast<char>('a' + i)));
    const auto items = recent.list();
    ASSERT_EQ(items.size(), 3U);
    for (std::size_t at = 0; at < 3; ++at) {
        EXPECT_EQ(items[at].number, at + 2);
        EXPECT_EQ(items[at].time, static_cast<Time>(10 * (at + 2)));
        EXPECT_EQ(items[at].bytes, std::string(1, static_cast<char>('c' + at)));
        EXPECT_EQ(items[at].direction, kDirections[at % 2]);
    }
}

TEST(RecentFrames, HasNoMoreThanItGot) {
    RecentFrames recent(8);
    recent.put(Time(1), Direction::Forward, "x");
    EXPECT_EQ(recent.list().size(), 1U);
}

struct Capture : testing::Test {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("railyard-unit-" + std::to_string(::getpid()) + ".pcap");
    std::string content() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void TearDown() override { std::filesystem::remove(path); }
};

TEST_F(Capture, HasTheHeaderOfNanosecondsBeforeTheFirstFrame) {
    const PcapFile file(path.string());
    EXPECT_EQ(digits(content()),
              "4d3cb2a1"
              "02000400"
              "00000000"
              "00000000"
              "00000400"
              "01000000");
}

TEST_F(Capture, DividesATimeIntoSecondsAndNanoseconds) {
    PcapFile file(path.string());
    file.write("frame", std::chrono::nanoseconds(3'000'000'007));
    file.flush();
    EXPECT_EQ(digits(content().substr(24)),
              "03000000"
              "07000000"
              "05000000"
              "05000000" +
                  digits("frame"));
}

TEST_F(Capture, ReadersSeeFlushedFramesBeforeTheEnd) {
    PcapFile file(path.string());
    for (int i = 0; i < 10; ++i) file.write("0123456789", std::chrono::nanoseconds(i));
    file.flush();
    EXPECT_EQ(content().size(), 24U + 10 * (16 + 10));
}

TEST_F(Capture, NamesAFileThatCannotBeWritten) {
    try {
        PcapFile file("/no such folder/x.pcap");
        FAIL() << "no exception";
    } catch (const std::system_error& error) {
        EXPECT_NE(std::string(error.what()).find("/no such folder/x.pcap"), std::string::npos);
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    }
}

// Data frame of an agent: Ethernet, LPH (cfg 6), NTH with 16-bit addresses, TPH, and the rest as payload.
std::string data_frame(std::string_view lph = "00060022") {
    return hex("020000000002 020000000001 88b5") + hex(lph) + hex("0001 0002 1234 5600") +
           hex("01 01 0003 0004 000005 00000a") + std::string(10, 'x');
}

TEST(Cna24, AFrameComesBackAsItWas) {
    FramePool pool;
    const std::string original = data_frame();
    const FrameHandle frame = pool.acquire(original.data(), original.size());
    to_cna24(*frame);
    EXPECT_EQ(frame->length, original.size() + 8);  // 4 bytes each of network and transport header
    EXPECT_EQ(frame->data()[15] & 0xF, 0xD);
    from_cna24(*frame);
    EXPECT_EQ(digits(frame->view()), digits(original));
}

TEST(Cna24, LengthensTheLengthOfTheLinkHeader) {
    FramePool pool;
    const std::string original = data_frame();
    const FrameHandle frame = pool.acquire(original.data(), original.size());
    to_cna24(*frame);
    // 0x22: one flit of 20 bytes and 2; 8 bytes more are one flit and 10.
    EXPECT_EQ(frame->data()[17], 0x2A);
}

TEST(Cna24, LeavesOtherFramesAlone) {
    FramePool pool;
    std::string ip = data_frame();
    ip[12] = 0x08, ip[13] = 0x00;
    std::string unknown = data_frame();
    unknown[26] = 0x77;  // opcode of the transport header
    for (const std::string& other : {ip, unknown, std::string("short"), data_frame("00070022")}) {
        const FrameHandle frame = pool.acquire(other.data(), other.size());
        to_cna24(*frame);
        EXPECT_EQ(digits(frame->view()), digits(other));
        from_cna24(*frame);
        EXPECT_EQ(digits(frame->view()), digits(other));
    }
}

TEST(Cna24, LeavesAddressesOfMoreThan16BitsAlone) {
    FramePool pool;
    const std::string original = data_frame();
    const FrameHandle frame = pool.acquire(original.data(), original.size());
    to_cna24(*frame);
    frame->data()[19] = 1;  // upper byte of the source address
    const std::string wide(frame->view());
    from_cna24(*frame);
    EXPECT_EQ(digits(frame->view()), digits(wide));
}

}  // namespace
}  // namespace railyard::frames
