// SPDX-License-Identifier: Apache-2.0
// Reliable connections: delivery under loss, reordering and repeats; retries; acknowledgements of a receiver.
#include <algorithm>
#include <map>

#include "hosts.h"
#include "hosts/messages/codec.h"
#include "hosts/messages/payloads.h"
#include "hosts/paths/spray.h"
#include "hosts/transport/path_sender.h"
#include "hosts/transport/peer.h"
#include "hosts/transport/receiver.h"

namespace railyard::hosts {
namespace {

using unit::kUs;
using unit::templates;

TransportParameters transport(std::uint32_t window = 16) {
    TransportParameters made;
    made.window = window;
    made.ack_every = 4;
    made.ack_delay = 2 * kUs;
    made.initial_rto = 100 * kUs;
    made.min_rto = 20 * kUs;
    made.path_rto = 20 * kUs;
    made.max_rto = 1000 * kUs;
    made.templates = templates();
    return made;
}

// Settings of a medium that loses, delays and repeats frames: percentages, and a number of frames to send.
struct Weather {
    unsigned loss = 0, jitter_us = 0, repeats = 0;
    std::uint32_t frames = 300, first_psn = 0;
    bool paths = false;
};

// A sender and a receiver on such a medium. A seed decides what happens to each frame.
class Connection {
   public:
    explicit Connection(const Weather& weather, std::uint64_t seed,
                        const TransportParameters& parameters = transport())
        : weather_(weather),
          parameters_(parameters),
          random_(seed),
          array_(std::make_shared<ByteArray>()),
          payloads_(make(), 1) {
        parameters_.first_psn = weather.first_psn;
        const DataWriter writer(parameters_.templates, {1, 2, 0, 0}, 1, 0, kInt32);
        const AckWriter acks(parameters_.templates, {2, 1, 0, 0}, 1);
        PathShares shares;
        for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) shares.paths[bucket] = bucket % 4;
        const auto health = std::make_shared<PathHealth>(shares.paths);
        if (weather.paths)
            sender = std::make_unique<PathSender>(parameters_, writer, Spray(shares, 0, health), nullptr,
                                                  std::vector<PathTiming>{}, trips_, payloads_);
        else sender = std::make_unique<Sender>(parameters_, writer, 0, nullptr, payloads_);
        receiver = std::make_unique<Receiver>(
            parameters_, acks, 0, weather.paths ? std::optional(Spray(shares, 0, health)) : std::nullopt);
    }
    ~Connection() {
        wire_.clear();
        sender->detach();
    }

    // Run until all frames are acknowledged or the sender gives up.
    void run() {
        while (!sender->failed_psn && (next_ < weather_.frames || sender->in_flight() > 0)) {
            ASSERT_LE(sender->in_flight(), parameters_.window);
            ASSERT_LT(++steps_, 100'000U);
            hosts::Actions actions(pool_);
            if (next_ < weather_.frames && sender->has_room()) {
                const std::uint32_t number = next_++;
                Message message;
                message.chunk = static_cast<std::uint16_t>(number);
                message.size = 8;
                sender->send(message, 0, 0, next_ == weather_.frames, now, actions);
                carry(actions, true);
                now += Time(10'000);
                continue;
            }
            const Time arrival = wire_.empty() ? kNever : wire_.begin()->first;
            now = std::max(now, std::min({arrival, sender->timer, receiver->ack_at}));
            ASSERT_LT(now, kNever) << "nothing will happen any more";
            if (arrival <= now) {
                auto node = wire_.extract(wire_.begin());
                take(std::move(node.mapped()), actions);
            } else if (receiver->ack_at <= now) {
                receiver->acknowledge(now, actions);
                carry(actions, false);
            } else {
                sender->on_timeout(now, actions);
                carry(actions, true);
            }
        }
    }

    std::vector<int> delivered = std::vector<int>(65536);
    std::unique_ptr<Sender> sender;
    std::unique_ptr<Receiver> receiver;
    Time now{};

   private:
    std::shared_ptr<ByteArray> make() {
        array_->resize(4096);
        return array_;
    }
    void carry(hosts::Actions& actions, bool) {
        for (hosts::Actions::Departure& departure : actions.departures) {
            if (random_.chance(weather_.loss)) continue;
            const auto delay = [&] { return 5 * kUs + random_.below(weather_.jitter_us + 1) * kUs; };
            if (random_.chance(weather_.repeats)) wire_.emplace(now + delay(), pool_.copy(*departure.frame));
            wire_.emplace(now + delay(), std::move(departure.frame));
        }
    }
    void take(FrameHandle frame, hosts::Actions& actions) {
        arrange(*frame);
        Fields fields;
        ASSERT_EQ(scan(frame->data(), frame->length, fields), nullptr);
        if (fields.opcode == kOpcodeData) {
            if (receiver->accept(fields.psn, fields.flags, now) == Receiver::Accepted::New)
                ++delivered[fields.chunk];
            if (receiver->ack_at > now) return;
            receiver->acknowledge(now, actions);
            return carry(actions, false);
        }
        sender->on_ack(fields.psn, fields.sack, now, fields.flags, fields.marks);
        sender->resend_lost(now, actions);
        carry(actions, true);
    }

    Weather weather_;
    TransportParameters parameters_;
    unit::Random random_;
    FramePool pool_;
    std::shared_ptr<ByteArray> array_;
    Payloads payloads_;
    RoundTrips trips_;
    std::multimap<Time, FrameHandle> wire_;
    std::uint32_t next_ = 0;
    std::uint64_t steps_ = 0;
};

struct Case {
    const char* name;
    Weather weather;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Transport : public testing::TestWithParam<Case> {};

TEST_P(Transport, DeliversEachFrameOnceWhateverTheWireDoes) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Connection connection(GetParam().weather, seed);
        connection.run();
        ASSERT_FALSE(connection.sender->failed_psn) << "seed " << seed;
        for (std::uint32_t frame = 0; frame < GetParam().weather.frames; ++frame)
            ASSERT_EQ(connection.delivered[frame], 1) << "frame " << frame << ", seed " << seed;
        EXPECT_EQ(connection.sender->unfinished, Bytes(0));
        EXPECT_EQ(connection.sender->sent, GetParam().weather.frames);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Weathers, Transport,
    testing::Values(
        Case{"calm", {}}, Case{"loss", {.loss = 5}}, Case{"heavy_loss", {.loss = 25}},
        Case{"reordering", {.jitter_us = 30}}, Case{"repeats", {.repeats = 30}},
        Case{"all", {.loss = 10, .jitter_us = 20, .repeats = 10}},
        Case{"psn_wraps", {.loss = 5, .jitter_us = 10, .first_psn = kPsnMask - 100}},
        Case{"paths_calm", {.paths = true}}, Case{"paths_loss", {.loss = 10, .paths = true}},
        Case{"paths_reordering", {.jitter_us = 30, .paths = true}},
        Case{"paths_all",
             {.loss = 10, .jitter_us = 20, .repeats = 10, .first_psn = kPsnMask - 50, .paths = true}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(TransportCalm, SendsNothingTwiceWithoutLoss) {
    Connection connection({}, 1);
    connection.run();
    EXPECT_EQ(connection.sender->retransmitted, 0U);
    EXPECT_EQ(connection.receiver->duplicates, 0U);
    EXPECT_GE(connection.sender->rtt, 10 * kUs);
}

TEST(TransportCalm, AcknowledgesSeveralFramesAtOnce) {
    Connection connection({}, 1);
    connection.run();
    EXPECT_LE(connection.receiver->acks, 300U / 4 + 20);
    EXPECT_EQ(connection.sender->acks, connection.receiver->acks);
}

TEST(TransportGivenUp, NamesTheOldestFrameAfterTheLastRetry) {
    for (const bool paths : {false, true}) {
        Weather weather;
        weather.loss = 100;
        weather.paths = paths;
        Connection connection(weather, 1);
        connection.run();
        EXPECT_EQ(connection.sender->failed_psn, 0U);
        EXPECT_EQ(connection.sender->timer, kNever);
    }
}

TEST(TransportGivenUp, TimeoutsDoubleUpToTheLargest) {
    Weather weather;
    weather.loss = 100;
    weather.frames = 1;
    Connection connection(weather, 1);
    connection.run();
    // Ten retries, after 100, 200, 400, 800 and then 1000 us each; after the last timeout the sender gives
    // up.
    EXPECT_EQ(connection.now, (100 + 200 + 400 + 800 + 7 * 1000) * kUs);
    EXPECT_EQ(connection.sender->retransmitted, 10U);
}

struct Receiving : testing::Test {
    TransportParameters parameters = transport();
    FramePool pool;
    Receiver receiver{parameters, AckWriter(parameters.templates, {1, 2, 0, 0}, 1), 0, std::nullopt};
    Fields acknowledge(Time now) {
        hosts::Actions actions(pool);
        receiver.acknowledge(now, actions);
        Fields fields;
        EXPECT_EQ(scan(actions.departures[0].frame->data(), kAckBytes, fields), nullptr);
        return fields;
    }
};

TEST_F(Receiving, HolesAreBitsOfTheSelectiveAcknowledgement) {
    for (const std::uint32_t psn : {0, 2, 3, 5})
        EXPECT_EQ(receiver.accept(psn, 0, Time(0)), Receiver::Accepted::New);
    const Fields fields = acknowledge(Time(0));
    EXPECT_EQ(fields.psn, 1U);
    EXPECT_EQ(fields.sack, 0b1011U);  // frames 2, 3 and 5
    EXPECT_EQ(receiver.accept(1, 0, Time(0)), Receiver::Accepted::New);
    EXPECT_EQ(acknowledge(Time(0)).psn, 4U);
}

TEST_F(Receiving, TellsDuplicatesFromFramesBeyondTheWindow) {
    EXPECT_EQ(receiver.accept(0, 0, Time(0)), Receiver::Accepted::New);
    EXPECT_EQ(receiver.accept(0, 0, Time(0)), Receiver::Accepted::Duplicate);
    EXPECT_EQ(receiver.accept(1 + kMapFrames, 0, Time(0)), Receiver::Accepted::New);
    EXPECT_EQ(receiver.accept(2 + kMapFrames, 0, Time(0)), Receiver::Accepted::Beyond);
    EXPECT_EQ(receiver.accept(kPsnMask, 0, Time(0)),
              Receiver::Accepted::Duplicate);  // before the first frame
    EXPECT_EQ(receiver.duplicates, 2U);
}

TEST_F(Receiving, GoBackNGivesUpFramesBehindAGapAndAsksOnceForTheFirst) {
    parameters.go_back = true;
    EXPECT_EQ(receiver.accept(0, 0, Time(0)), Receiver::Accepted::New);
    hosts::Actions actions(pool);
    for (const std::uint32_t psn : {2, 3}) {
        EXPECT_EQ(receiver.accept(psn, 0, Time(0)), Receiver::Accepted::Early);
        receiver.ask_back(Time(0), actions);
    }
    ASSERT_EQ(actions.departures.size(), 1U);
    Fields fields;
    EXPECT_EQ(scan(actions.departures[0].frame->data(), kAckBytes, fields), nullptr);
    EXPECT_EQ(std::tuple(fields.opcode, fields.psn, fields.nacked), std::tuple(kOpcodeNack, 1U, 1U));
    for (const std::uint32_t psn : {1, 2})
        EXPECT_EQ(receiver.accept(psn, 0, Time(0)), Receiver::Accepted::New);
    EXPECT_EQ(acknowledge(Time(0)).psn, 3U);
    EXPECT_EQ(receiver.accept(4, 0, Time(0)), Receiver::Accepted::Early);
    receiver.ask_back(Time(0), actions);
    EXPECT_EQ(actions.departures.size(), 2U);  // a new gap
}

TEST_F(Receiving, WaitsForMoreFramesOrTheDelay) {
    receiver.accept(0, 0, Time(100));
    EXPECT_EQ(receiver.ack_at, Time(100) + parameters.ack_delay);
    receiver.accept(1, 0, Time(200));
    EXPECT_EQ(receiver.ack_at, Time(100) + parameters.ack_delay);
    receiver.accept(2, 0, Time(300));
    receiver.accept(3, 0, Time(400));  // the fourth frame
    EXPECT_EQ(receiver.ack_at, Time(400));
    acknowledge(Time(400));
    EXPECT_EQ(receiver.ack_at, kNever);
}

TEST_F(Receiving, AFrameMayAskForAnAnswerAtOnce) {
    receiver.accept(0, kAckNow, Time(100));
    EXPECT_EQ(receiver.ack_at, Time(100));
}

TEST_F(Receiving, AnswersAgainOnceEarlierFramesAreIn) {
    receiver.accept(2, kAckNow, Time(100));  // asks for an answer, but frames 0 and 1 are missing
    acknowledge(Time(100));
    receiver.accept(0, 0, Time(200));
    EXPECT_EQ(receiver.ack_at, Time(200) + parameters.ack_delay);
    receiver.accept(1, 0, Time(300));
    EXPECT_EQ(receiver.ack_at, Time(300));
    EXPECT_EQ(acknowledge(Time(300)).psn, 3U);
}

TEST_F(Receiving, EchoesMarksAndRetransmissionsOnce) {
    receiver.accept(0, kRetransmission, Time(0));
    receiver.note_mark(3);
    receiver.note_mark(19);  // the same bucket
    receiver.note_mark(4);
    const Fields first = acknowledge(Time(0));
    EXPECT_EQ(first.flags, kRetransmission);
    EXPECT_EQ(first.marks, 0b11000);
    const Fields second = acknowledge(Time(0));
    EXPECT_EQ(second.flags, 0);
    EXPECT_EQ(second.marks, 0);
    EXPECT_EQ(receiver.marked, 3U);
}

TEST(Peers, AreFoundByTheirAddress) {
    const TransportParameters parameters = transport();
    RoundTrips trips;
    Payloads payloads(std::make_shared<ByteArray>(), 1);
    for (const std::uint32_t stride : {1U, 16U, 256U})
        for (const std::uint32_t count : {0U, 1U, 7U, 64U}) {
            std::vector<std::unique_ptr<Peer>> peers;
            for (std::uint32_t i = 0; i < count; ++i) {
                PeerSpec spec;
                spec.address = static_cast<std::uint16_t>((i + 1) * stride);
                peers.push_back(std::make_unique<Peer>(spec, Peer::Pair{}, parameters, trips, payloads));
            }
            PeersByAddress by_address;
            by_address.set(peers);
            for (std::uint32_t address = 0; address <= 0xFFFF; ++address) {
                const bool known = address % stride == 0 && address > 0 && address / stride <= count;
                const Peer* const peer = known ? peers[address / stride - 1].get() : nullptr;
                ASSERT_EQ(by_address.find(static_cast<std::uint16_t>(address)), peer) << address;
            }
        }
}

}  // namespace
}  // namespace railyard::hosts
