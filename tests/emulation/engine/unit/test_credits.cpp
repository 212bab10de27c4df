// SPDX-License-Identifier: Apache-2.0
// Credits of receivers: grants at the rate of a link, in turn, and senders that spend them.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "hosts/congestion/rccc.h"
#include "hosts/transport/credits.h"
#include "hosts/transport/receiver.h"

namespace railyard::hosts {
namespace {

constexpr Time kUs = kMicrosecond;
constexpr Bytes kFrame{1000};
constexpr Rate kRate{8'000'000'000};  // a frame in 1 us

class Grants : public testing::Test {
   protected:
    Grants() {
        parameters_.templates.ack[12] = 0x88, parameters_.templates.ack[13] = 0xB5;
        parameters_.templates.ack[15] = 0x06;
        for (std::uint16_t sender = 0; sender < 2; ++sender)
            receivers_.push_back(std::make_unique<Receiver>(
                parameters_, AckWriter(parameters_.templates, Ends{9, sender, 0, 0}, 1), std::uint8_t{0},
                std::nullopt));
    }

    void ask(std::size_t sender, Bytes bytes, Time now, bool without = false) {
        hosts::Actions actions(pool_);
        grants_.ask(*receivers_[sender], static_cast<std::uint32_t>(bytes.value()), without, now, actions);
        note(actions);
    }
    // Let time pass until a time, and return the senders that got a grant, in turn.
    std::vector<int> until(Time end) {
        told_.clear();
        while (grants_.due() <= end) {
            now_ = std::max(now_, grants_.due());
            hosts::Actions actions(pool_);
            grants_.run(now_, actions);
            note(actions);
        }
        return told_;
    }
    void note(const hosts::Actions& actions) {
        for (const hosts::Actions::Departure& departure : actions.departures) {
            Fields fields;
            ASSERT_EQ(scan(departure.frame->data(), departure.frame->length, fields), nullptr);
            ASSERT_EQ(fields.opcode, kOpcodeCredit);
            ASSERT_EQ(Bytes(fields.sack), receivers_[fields.dcna]->credit.granted);
            told_.push_back(fields.dcna);
        }
    }

    FramePool pool_;
    TransportParameters parameters_;
    std::vector<std::unique_ptr<Receiver>> receivers_;
    CreditGrants grants_{{.initial = 2 * kFrame, .rate = kRate}, kFrame};
    std::vector<int> told_;
    Time now_{};
};

TEST_F(Grants, FollowEachOtherAtTheRateInTurn) {
    ask(0, 100 * kFrame, Time(0));
    ask(1, 100 * kFrame, Time(0));
    EXPECT_EQ(until(5 * kUs), (std::vector{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(receivers_[0]->credit.granted, (2 + 3) * kFrame);
}

TEST_F(Grants, EndAFrameAboveWhatIsAskedAndRestoreTheFirstCreditAfterAllOthers) {
    ask(0, 3 * kFrame, Time(0));
    ask(1, 6 * kFrame, Time(0));
    // Sender 0 needs two frames more than its first credit, one to spare included, and sender 1 five; then
    // each gets another spare frame.
    EXPECT_EQ(until(100 * kUs), (std::vector{0, 1, 0, 1, 1, 1, 1, 0, 1}));
    EXPECT_EQ(receivers_[0]->credit.granted, (3 + 2) * kFrame);
    EXPECT_EQ(receivers_[1]->credit.granted, (6 + 2) * kFrame);
}

TEST_F(Grants, CountTrimmedFramesAgain) {
    ask(0, kFrame, Time(0));
    until(100 * kUs);
    const Bytes before = receivers_[0]->credit.granted;
    grants_.refuse(*receivers_[0], Bytes(500));
    until(200 * kUs);
    EXPECT_EQ(receivers_[0]->credit.granted, before + Bytes(500));
}

TEST_F(Grants, AreToldAgainToASenderWithoutCreditAndNotLowered) {
    ask(0, 2 * kFrame, Time(0));
    until(100 * kUs);
    const Bytes granted = receivers_[0]->credit.granted;
    told_.clear();
    ask(0, 2 * kFrame, 101 * kUs, true);
    EXPECT_EQ(told_, (std::vector{0}));
    ask(0, kFrame, 102 * kUs);  // overtaken
    until(200 * kUs);
    EXPECT_EQ(receivers_[0]->credit.granted, granted);
}

TEST_F(Grants, GoOnWhenTheLowBitsBeginAnew) {
    for (std::uint32_t sent = 0; sent < 40'000'000; sent += 3'000'000) {
        ask(0, Bytes(sent & kPsnMask), Time(0));
        receivers_[0]->credit.granted = Bytes(sent);
    }
    EXPECT_EQ(receivers_[0]->credit.asked, Bytes(39'000'000));
}

class Spending : public testing::Test {
   protected:
    Allowance allowance{
        std::make_unique<Rccc>(CongestionParameters{"rccc", {{"share", 1}, {"start_frames", 2}}},
                               PathFacts{kUs, kRate, kFrame}),
        kFrame, 50 * kUs, 64};
};

TEST_F(Spending, SendsAsManyBytesAsWereGranted) {
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
        ASSERT_TRUE(allowance.admits(Bytes(10'000)));
        allowance.ask(Bytes(10'000));
        allowance.sent(slot, kFrame, Time(0), false);
    }
    EXPECT_FALSE(allowance.admits(Bytes(8000)));
    allowance.acknowledged(0, false, kUs);
    allowance.told(kUs);
    EXPECT_FALSE(allowance.admits(Bytes(8000)));  // an acknowledgement is no credit
    allowance.granted(kFrame, kUs);
    EXPECT_TRUE(allowance.admits(Bytes(8000)));
    allowance.sent(2, kFrame, kUs, false);
    EXPECT_FALSE(allowance.admits(Bytes(7000)));
}

TEST_F(Spending, AsksByOneFrameForNewDataAndAgainAfterLong) {
    allowance.ask(Bytes(2000));
    allowance.sent(0, kFrame, Time(0), false);
    allowance.sent(1, kFrame, Time(0), false);
    allowance.acknowledged(0, false, kUs);
    allowance.acknowledged(1, false, kUs);
    allowance.told(kUs);
    EXPECT_FALSE(allowance.admits(Bytes(0)));
    EXPECT_TRUE(allowance.admits(Bytes(5000)));  // more than it has asked for
    EXPECT_TRUE(allowance.exceeds());
    EXPECT_EQ(allowance.due(), 51 * kUs);
    allowance.open(51 * kUs);
    EXPECT_TRUE(allowance.admits(Bytes(0)));
    allowance.sent(2, kFrame, 51 * kUs, false);
    EXPECT_FALSE(allowance.admits(Bytes(100'000)));  // one frame under way without credit
}

TEST_F(Spending, LostFramesNeedCreditAgain) {
    allowance.sent(0, kFrame, Time(0), false);
    allowance.sent(1, kFrame, Time(0), false);
    ASSERT_TRUE(allowance.lost(0));
    allowance.tell_lost(Allowance::Cause::Trim, kUs);
    EXPECT_FALSE(allowance.admits(Bytes(0)));
    EXPECT_EQ(allowance.ask(Bytes(0)), 2 * kFrame);  // the receiver knows of the trimmed frame
    ASSERT_TRUE(allowance.lost(1));
    allowance.tell_lost(Allowance::Cause::Timeout, kUs);
    EXPECT_EQ(allowance.ask(Bytes(0)), 3 * kFrame);
}

}  // namespace
}  // namespace railyard::hosts
