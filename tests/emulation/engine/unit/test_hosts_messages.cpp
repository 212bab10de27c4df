// SPDX-License-Identifier: Apache-2.0
// Data frames and acknowledgements are written, read back and refused; payloads outlive a change of their
// slice.
#include <algorithm>

#include "hosts.h"
#include "hosts/messages/codec.h"
#include "hosts/messages/payloads.h"

namespace railyard::hosts {
namespace {

using unit::templates;

TEST(Codec, ADataFrameReadsBackAsItWasWritten) {
    FramePool pool;
    const std::string array(3000, 'x');
    frames::Payload* const payload = pool.share(reinterpret_cast<const std::uint8_t*>(array.data()), 2000);
    {
        const DataWriter writer(templates(), {0x0102, 0x0304, 5, 6}, 1, 77, kFloat32);
        const FrameHandle frame =
            writer.frame(pool, 0xAB, kAckNow, 0xFEDCBA, {kReduce, 12, 34, 0x01020304, 2000}, *payload);
        EXPECT_EQ(frame->length, kDataHeaderBytes + 2000);
        arrange(*frame);
        Fields fields;
        EXPECT_EQ(scan(frame->data(), frame->length, fields), nullptr);
        EXPECT_EQ(fields.opcode, kOpcodeData);
        EXPECT_EQ(fields.flags, kAckNow);
        EXPECT_EQ(fields.lb, 0xAB);
        EXPECT_EQ(fields.op, kReduce);
        EXPECT_EQ(fields.dtype, kFloat32);
        EXPECT_EQ(std::tuple(fields.scna, fields.dcna, fields.src_q, fields.dst_q),
                  std::tuple(0x0102, 0x0304, 5, 6));
        EXPECT_EQ(std::tuple(fields.job, fields.step, fields.chunk), std::tuple(77, 12, 34));
        EXPECT_EQ(std::tuple(fields.psn, fields.offset, fields.length),
                  std::tuple(0xFEDCBAU, 0x01020304U, 2000U));
        const Preview next = preview(frame->data());
        EXPECT_EQ(std::tuple(next.data, next.copied, next.scna, next.offset),
                  std::tuple(true, false, 0x0102, 0x01020304U));
    }
    FramePool::drop(payload);
}

TEST(Codec, AnAcknowledgementReadsBackAsItWasWritten) {
    FramePool pool;
    const AckWriter writer(templates(), {9, 8, 7, 6}, 0);
    const FrameHandle frame = writer.frame(pool, 3, 0x123456, 0x8000000000000001, kRetransmission, 0xBEEF);
    Fields fields;
    EXPECT_EQ(scan(frame->data(), frame->length, fields), nullptr);
    EXPECT_EQ(fields.opcode, kOpcodeAck);
    EXPECT_EQ(std::tuple(fields.psn, fields.sack, fields.flags, fields.marks),
              std::tuple(0x123456U, 0x8000000000000001U, kRetransmission, 0xBEEF));
    EXPECT_FALSE(preview(frame->data()).data);
}

TEST(Codec, SaysWhyAFrameIsJunk) {
    FramePool pool;
    const AckWriter writer(templates(), {9, 8, 7, 6}, 0);
    const std::string good(writer.frame(pool, 3, 1, 0, 0, 0)->view());
    const auto word = [&](std::size_t at, int value, std::size_t size = kAckBytes) {
        std::string bytes = good;
        if (value >= 0) bytes[at] = static_cast<char>(value);
        Fields fields;
        const char* const junk = scan(reinterpret_cast<const std::uint8_t*>(bytes.data()), size, fields);
        return std::string(junk == nullptr ? "" : junk);
    };
    EXPECT_EQ(word(0, -1), "");
    EXPECT_EQ(word(0, -1, 45), "short");
    EXPECT_EQ(word(12, 0x08), "ethertype");
    EXPECT_EQ(word(15, 0x07), "cfg");
    EXPECT_EQ(word(17, 0xFF), "length");
    EXPECT_EQ(word(16, 0x3F), "length");
    EXPECT_EQ(word(25, 0x08), "management");
    EXPECT_EQ(word(26, 0x09), "opcode");
    EXPECT_EQ(word(26, kOpcodeData), "length");
}

TEST(Payloads, AChangeOfASliceKeepsWhatFramesCarry) {
    FramePool pool;
    const auto array = std::make_shared<ByteArray>(16, std::uint8_t{'a'});
    {
        Payloads payloads(array, 2);
        Sent first, second;
        first.message.size = second.message.size = 4;
        first.slice = 0;
        second.slice = 1;
        second.start = 8;
        payloads.refer(first, pool);
        payloads.refer(second, pool);
        EXPECT_EQ(first.payload->bytes, array->data());
        payloads.keep(0);
        std::fill(array->begin(), array->end(), std::uint8_t{'z'});
        EXPECT_EQ(first.payload->bytes[0], 'a');
        EXPECT_EQ(second.payload->bytes[0], 'z');  // the frame of the other slice has no copy
        Payloads::drop(first);
        Payloads::drop(second);
        EXPECT_EQ(first.payload, nullptr);
        Payloads::drop(first);  // a second call has no effect
    }
}

}  // namespace
}  // namespace railyard::hosts
