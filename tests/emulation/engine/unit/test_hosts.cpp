// SPDX-License-Identifier: Apache-2.0
// Hosts: headers of frames, reliable connections under loss and reordering, choice of paths, schedules, sums.
#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "common.h"
#include "hosts/messages/codec.h"
#include "hosts/messages/payloads.h"
#include "hosts/paths/idle_ratios.h"
#include "hosts/paths/spray.h"
#include "hosts/random/python_random.h"
#include "hosts/random/random_elements.h"
#include "hosts/reduction/reduce.h"
#include "hosts/reduction/reduction.h"
#include "hosts/saturator.h"
#include "hosts/schedule/schedule.h"
#include "hosts/schedule/tasks.h"
#include "hosts/transport/path_sender.h"
#include "hosts/transport/receiver.h"

namespace railyard {
namespace {

constexpr Time kUs = 1'000'000;

// Headers with the fields that no connection changes, as emulation/traffic makes them.
Templates templates() {
    Templates made;
    for (std::uint8_t* const header : {made.data.data(), made.ack.data()}) {
        header[12] = 0x88, header[13] = 0xB5;
        header[15] = 0x06;  // LPH.cfg: CNA16
    }
    made.data[26] = kOpcodeData;
    made.ack[26] = kOpcodeAck;
    return made;
}

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

TEST(Codec, ADataFrameReadsBackAsItWasWritten) {
    FramePool pool;
    const std::string array(3000, 'x');
    Payload* const payload = pool.share(reinterpret_cast<const std::uint8_t*>(array.data()), 2000);
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

// A sender and a receiver, and between them a medium that loses, delays and repeats frames by a seed.
struct Weather {
    unsigned loss = 0, jitter_us = 0, repeats = 0;
    std::uint32_t frames = 300, first_psn = 0;
    bool paths = false;
};

class Connection {
   public:
    explicit Connection(const Weather& weather, std::uint64_t seed,
                        const TransportParameters& parameters = transport())
        : weather_(weather),
          parameters_(parameters),
          random_(seed),
          array_(std::make_shared<Bytes>()),
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

    // Until all frames are acknowledged or the connection is given up.
    void run() {
        while (!sender->failed_psn && (next_ < weather_.frames || sender->in_flight() > 0)) {
            ASSERT_LE(sender->in_flight(), parameters_.window);
            ASSERT_LT(++steps_, 100'000U);
            Actions actions(pool_);
            if (next_ < weather_.frames && sender->has_room()) {
                const std::uint32_t number = next_++;
                Message message;
                message.chunk = static_cast<std::uint16_t>(number);
                message.size = 8;
                sender->send(message, 0, 0, next_ == weather_.frames, now, actions);
                carry(actions, true);
                now += 10'000;
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
    Time now = 0;

   private:
    std::shared_ptr<Bytes> make() {
        array_->resize(4096);
        return array_;
    }
    void carry(Actions& actions, bool) {
        for (Actions::Departure& departure : actions.departures) {
            if (random_.chance(weather_.loss)) continue;
            const auto delay = [&] {
                return 5 * kUs + static_cast<Time>(random_.below(weather_.jitter_us + 1)) * kUs;
            };
            if (random_.chance(weather_.repeats)) wire_.emplace(now + delay(), pool_.copy(*departure.frame));
            wire_.emplace(now + delay(), std::move(departure.frame));
        }
    }
    void take(FrameHandle frame, Actions& actions) {
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
    std::shared_ptr<Bytes> array_;
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
        EXPECT_EQ(connection.sender->unfinished, 0U);
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
    // 100, 200, 400, 800, then 1000 us, for ten retries; the last timeout gives up.
    EXPECT_EQ(connection.now, (100 + 200 + 400 + 800 + 7 * 1000) * kUs);
    EXPECT_EQ(connection.sender->retransmitted, 10U);
}

struct Receiving : testing::Test {
    TransportParameters parameters = transport();
    FramePool pool;
    Receiver receiver{parameters, AckWriter(parameters.templates, {1, 2, 0, 0}, 1), 0, std::nullopt};
    Fields acknowledge(Time now) {
        Actions actions(pool);
        receiver.acknowledge(now, actions);
        Fields fields;
        EXPECT_EQ(scan(actions.departures[0].frame->data(), kAckBytes, fields), nullptr);
        return fields;
    }
};

TEST_F(Receiving, HolesAreBitsOfTheSelectiveAcknowledgement) {
    for (const std::uint32_t psn : {0, 2, 3, 5})
        EXPECT_EQ(receiver.accept(psn, 0, 0), Receiver::Accepted::New);
    const Fields fields = acknowledge(0);
    EXPECT_EQ(fields.psn, 1U);
    EXPECT_EQ(fields.sack, 0b1011U);  // 2, 3 and 5
    EXPECT_EQ(receiver.accept(1, 0, 0), Receiver::Accepted::New);
    EXPECT_EQ(acknowledge(0).psn, 4U);
}

TEST_F(Receiving, TellsDuplicatesFromFramesBeyondTheWindow) {
    EXPECT_EQ(receiver.accept(0, 0, 0), Receiver::Accepted::New);
    EXPECT_EQ(receiver.accept(0, 0, 0), Receiver::Accepted::Duplicate);
    EXPECT_EQ(receiver.accept(1 + kMaxWindow, 0, 0), Receiver::Accepted::New);
    EXPECT_EQ(receiver.accept(2 + kMaxWindow, 0, 0), Receiver::Accepted::Beyond);
    EXPECT_EQ(receiver.accept(kPsnMask, 0, 0), Receiver::Accepted::Duplicate);  // the one before the first
    EXPECT_EQ(receiver.duplicates, 2U);
}

TEST_F(Receiving, GoBackNGivesUpFramesBehindAGapAndAsksOnceForTheFirst) {
    parameters.go_back = true;
    EXPECT_EQ(receiver.accept(0, 0, 0), Receiver::Accepted::New);
    Actions actions(pool);
    for (const std::uint32_t psn : {2, 3}) {
        EXPECT_EQ(receiver.accept(psn, 0, 0), Receiver::Accepted::Early);
        receiver.ask_back(0, actions);
    }
    ASSERT_EQ(actions.departures.size(), 1U);
    Fields fields;
    EXPECT_EQ(scan(actions.departures[0].frame->data(), kAckBytes, fields), nullptr);
    EXPECT_EQ(std::tuple(fields.opcode, fields.psn, fields.nacked), std::tuple(kOpcodeNack, 1U, 1U));
    for (const std::uint32_t psn : {1, 2}) EXPECT_EQ(receiver.accept(psn, 0, 0), Receiver::Accepted::New);
    EXPECT_EQ(acknowledge(0).psn, 3U);
    EXPECT_EQ(receiver.accept(4, 0, 0), Receiver::Accepted::Early);
    receiver.ask_back(0, actions);
    EXPECT_EQ(actions.departures.size(), 2U);  // another gap
}

TEST_F(Receiving, WaitsForMoreFramesOrTheDelay) {
    receiver.accept(0, 0, 100);
    EXPECT_EQ(receiver.ack_at, 100 + parameters.ack_delay);
    receiver.accept(1, 0, 200);
    EXPECT_EQ(receiver.ack_at, 100 + parameters.ack_delay);
    receiver.accept(2, 0, 300);
    receiver.accept(3, 0, 400);  // the fourth
    EXPECT_EQ(receiver.ack_at, 400);
    acknowledge(400);
    EXPECT_EQ(receiver.ack_at, kNever);
}

TEST_F(Receiving, AFrameMayAskForAnAnswerAtOnce) {
    receiver.accept(0, kAckNow, 100);
    EXPECT_EQ(receiver.ack_at, 100);
}

TEST_F(Receiving, AnswersAgainOnceEarlierFramesAreIn) {
    receiver.accept(2, kAckNow, 100);  // asks, but 0 and 1 are missing
    acknowledge(100);
    receiver.accept(0, 0, 200);
    EXPECT_EQ(receiver.ack_at, 200 + parameters.ack_delay);
    receiver.accept(1, 0, 300);
    EXPECT_EQ(receiver.ack_at, 300);
    EXPECT_EQ(acknowledge(300).psn, 3U);
}

TEST_F(Receiving, EchoesMarksAndRetransmissionsOnce) {
    receiver.accept(0, kRetransmission, 0);
    receiver.note_mark(3);
    receiver.note_mark(19);  // the same bucket
    receiver.note_mark(4);
    const Fields first = acknowledge(0);
    EXPECT_EQ(first.flags, kRetransmission);
    EXPECT_EQ(first.marks, 0b11000);
    const Fields second = acknowledge(0);
    EXPECT_EQ(second.flags, 0);
    EXPECT_EQ(second.marks, 0);
    EXPECT_EQ(receiver.marked, 3U);
}

struct Health : testing::Test {
    std::array<std::uint32_t, kBuckets> paths{};
    Health() {
        for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) paths[bucket] = bucket / 4;
    }
};

TEST_F(Health, APathIsAvoidedAfterThreeLossesInARow) {
    PathHealth health(paths);
    health.lost(1, 0);
    health.lost(1, 0);
    health.acknowledged(1);  // begins anew
    health.lost(1, 0);
    health.lost(1, 0);
    EXPECT_TRUE(health.whole());
    health.lost(1, 0);
    EXPECT_FALSE(health.works(1));
    EXPECT_EQ(health.suspects(), 0b11110000);
    health.acknowledged(1);
    EXPECT_TRUE(health.whole());
}

TEST_F(Health, AnAvoidedPathIsTriedAfterATimeThatDoubles) {
    PathHealth health(paths);
    health.suspect(1, 0);
    EXPECT_FALSE(health.may_try(1, 49 * kUs));
    EXPECT_TRUE(health.may_try(1, 50 * kUs));
    EXPECT_FALSE(health.may_try(1, 51 * kUs));  // one trial at a time
    EXPECT_FALSE(health.may_try(1, 149 * kUs));
    EXPECT_TRUE(health.may_try(1, 150 * kUs));
    EXPECT_TRUE(health.may_try(0, 0));
}

TEST_F(Health, TheLastPathStaysInUse) {
    PathHealth health(paths);
    for (std::uint32_t path = 0; path < 4; ++path) health.suspect(path, 0);
    EXPECT_TRUE(health.works(3));
    for (std::uint32_t path = 0; path < 3; ++path) EXPECT_FALSE(health.works(path));
}

TEST_F(Health, SplitBucketsHaveAPathOfTheirOwn) {
    PathHealth health(paths);
    health.suspect(0, 0);
    health.split(0b0010);
    EXPECT_EQ(health.path_of(1), 4U);
    EXPECT_EQ(health.path_of(17), 4U);
    EXPECT_EQ(health.path_of(0), 0U);
    EXPECT_TRUE(health.works(4));
}

TEST_F(Health, SprayTakesAllBucketsInTurnWithoutWeights) {
    const auto health = std::make_shared<PathHealth>(paths);
    PathShares shares{paths, {}, {}};
    Spray spray(shares, 250, health);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(spray.next_lb(0), static_cast<std::uint8_t>(250 + i));
}

TEST_F(Health, SprayFollowsTheWeights) {
    const auto health = std::make_shared<PathHealth>(paths);
    PathShares shares{paths, std::vector<double>(kBuckets), {}};
    shares.weights[0] = 0.5;
    shares.weights[5] = 0.375;
    shares.weights[9] = 0.125;
    Spray spray(shares, 0, health);
    std::map<int, int> taken;
    for (int i = 0; i < 800; ++i) ++taken[spray.next_lb(0)];
    EXPECT_NEAR(taken[0], 400, 1);
    EXPECT_NEAR(taken[5], 300, 1);
    EXPECT_NEAR(taken[9], 100, 1);
    EXPECT_EQ(taken.size(), 3U);
}

TEST_F(Health, SprayLeavesOutAPathThatIsAvoided) {
    const auto health = std::make_shared<PathHealth>(paths);
    Spray spray({paths, {}, {}}, 0, health);
    health->suspect(2, 0);
    for (int i = 0; i < 64; ++i) EXPECT_NE(health->path_of(spray.next_lb(10 * kUs)), 2U);
    std::vector<std::uint32_t> taken;  // a trial is due
    for (int i = 0; i < 64; ++i) taken.push_back(health->path_of(spray.next_lb(60 * kUs)));
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 2U), 1);
}

TEST_F(Health, ALostFrameGoesByAnotherPath) {
    const auto health = std::make_shared<PathHealth>(paths);
    Spray spray({paths, {}, {}}, 0, health);
    health->suspect(1, 0);
    ByPath<Time> silent(-1);
    silent.of(3) = 5;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(spray.path_of(spray.other_lb(0, &silent)), 2U);
}

TEST_F(Health, WithoutAnotherPathALostFrameGoesByItsOwn) {
    std::array<std::uint32_t, kBuckets> one{};
    const auto health = std::make_shared<PathHealth>(one);
    Spray spray({one, {}, {}}, 0, health);
    EXPECT_EQ(spray.other_lb(7), 7);
}

TEST(ByPath, HasTheInitialValueUntilAPathGetsItsOwn) {
    ByPath<int> values(5);
    EXPECT_EQ(values[1000], 5);
    values.of(3) = 7;
    EXPECT_EQ(values.size(), 4U);
    EXPECT_EQ(values[2], 5);
    EXPECT_EQ(values[3], 7);
}

TEST(RoundTrips, ThePeakDecaysSlowly) {
    RoundTrips trips;
    trips.add(1'024'000);
    trips.add(1);
    EXPECT_EQ(trips.peak, 1'023'000);
    trips.add(2'000'000);
    EXPECT_EQ(trips.peak, 2'000'000);
    EXPECT_EQ(trips.typical(), 0);
}

TEST(SliceTable, FindsSlicesAtTheirOffsetsOnly) {
    const SliceTable dense({0, 100, 200}, {100, 100, 50}, {0, 0, 1}, {0, 1, 2}, 2);
    EXPECT_EQ(dense.find(100), 1U);
    EXPECT_EQ(dense.find(150), kNone);
    EXPECT_EQ(dense.find(300), kNone);
    EXPECT_EQ(dense.count, (std::vector<std::uint32_t>{2, 1}));
    const SliceTable sparse({0, 7, 1'000'000'007}, {1, 1, 1}, {0, 0, 0}, {0, 1, 2}, 1);
    EXPECT_EQ(sparse.find(1'000'000'007), 2U);
    EXPECT_EQ(sparse.find(8), kNone);
}

TEST(SliceTable, RefusesListsThatDoNotFit) {
    EXPECT_THROW(SliceTable({0, 1}, {1}, {0, 0}, {0, 1}, 1), std::invalid_argument);
    EXPECT_THROW(SliceTable({0}, {1}, {1}, {0}, 1), std::invalid_argument);
    EXPECT_THROW(SliceTable({0}, {1}, {0}, {1}, 1), std::invalid_argument);
}

TEST(RankPlan, CountsWhatArrivesAndLeaves) {
    const SliceTable table({0, 4, 8}, {4, 4, 4}, {0, 0, 1}, {0, 1, 2}, 2);
    const CellPlan reduce{{{1, kReduce, {0}, kNone}}, {{0}, {1}}}, quiet{{}, {{1}}};
    const RankPlan plan(table, 1, {{0, 0, kReduce, 0, kNone}, {1, 0, kCopy, 0, kNone}}, {reduce, quiet},
                        {0, 1});
    EXPECT_EQ(plan.phases, 2U);
    EXPECT_EQ(plan.due, (std::map<std::uint16_t, std::size_t>{{1, 2}}));
    EXPECT_EQ(plan.leaving, (std::vector<std::uint32_t>{2, 3}));
}

TEST(RankPlan, RefusesNumbersThatNameNothing) {
    const SliceTable table({0}, {4}, {0}, {0}, 1);
    EXPECT_THROW(RankPlan(table, 1, {{0, 1, kCopy, 0, kNone}}, {{{}, {{0}}}}, {0}),
                 std::invalid_argument);                                                // peer
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{0}}}}, {0}), std::invalid_argument);    // send
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{}}}}, {1}), std::invalid_argument);     // plan
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {}}}, {0}), std::invalid_argument);       // releases
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{}}}}, {0, 0}), std::invalid_argument);  // cells
}

TEST(StepBarrier, HoldsSendsUntilEarlierStepsHaveArrived) {
    StepBarrier gate({{1, 2}, {2, 1}});
    EXPECT_FALSE(gate.hold(1, {10, 0}));
    EXPECT_TRUE(gate.hold(2, {20, 0}));
    EXPECT_TRUE(gate.hold(3, {30, 0}));
    EXPECT_TRUE(gate.arrived(1).empty());
    EXPECT_EQ(gate.arrived(1), (std::vector<StepBarrier::Item>{{20, 0}}));
    EXPECT_EQ(gate.arrived(2), (std::vector<StepBarrier::Item>{{30, 0}}));
    EXPECT_FALSE(gate.hold(9, {90, 0}));
}

TEST(StepBarrier, ALaterStepThatArrivesFirstFreesNothing) {
    StepBarrier gate({{1, 1}, {2, 1}});
    EXPECT_TRUE(gate.hold(2, {20, 0}));
    EXPECT_TRUE(gate.hold(3, {30, 0}));
    EXPECT_TRUE(gate.arrived(2).empty());
    EXPECT_EQ(gate.arrived(1), (std::vector<StepBarrier::Item>{{20, 0}, {30, 0}}));
}

// Tasks 0 (computes), 1 (a send of two slices, after 0), 2 (computes, after 1, on the unit of 0), 3 (free).
struct Graph : testing::Test {
    std::shared_ptr<std::vector<Task>> tasks = std::make_shared<std::vector<Task>>(4);
    Graph() {
        (*tasks)[0] = {.needs = 0,
                       .at = 10,
                       .delay = 0,
                       .duration = 100,
                       .unit = 0,
                       .slices = 0,
                       .free = false,
                       .followers = {1}};
        (*tasks)[1] = {.needs = 1,
                       .at = 0,
                       .delay = 5,
                       .duration = -1,
                       .unit = 0,
                       .slices = 2,
                       .free = false,
                       .followers = {2}};
        (*tasks)[2] = {.needs = 1,
                       .at = 0,
                       .delay = 0,
                       .duration = 50,
                       .unit = 0,
                       .slices = 0,
                       .free = false,
                       .followers = {}};
        (*tasks)[3] = {.needs = 0,
                       .at = 0,
                       .delay = 0,
                       .duration = -1,
                       .unit = 0,
                       .slices = 1,
                       .free = true,
                       .followers = {}};
    }
};

TEST_F(Graph, TasksOpenAfterWhatTheyNeed) {
    Progress progress(tasks);
    progress.start(1000);
    EXPECT_EQ(progress.deadline(), 1010);
    EXPECT_EQ(progress.next_due(1010), std::nullopt);
    EXPECT_EQ(progress.deadline(), 1110);
    EXPECT_TRUE(progress.computing());
    EXPECT_EQ(progress.next_due(1110), std::nullopt);
    EXPECT_EQ(progress.next_due(1115), 1U);
    EXPECT_TRUE(progress.open(1));
    progress.slice_done(1, 1200);
    EXPECT_EQ(progress.deadline(), kNever);
    progress.slice_done(1, 1300);
    EXPECT_EQ(progress.next_due(1300), std::nullopt);
    EXPECT_EQ(progress.deadline(), 1350);
    EXPECT_EQ(progress.next_due(1350), std::nullopt);
    EXPECT_FALSE(progress.computing());
    EXPECT_EQ(progress.times()[2].opened, 1300);
    EXPECT_EQ(progress.times()[2].ended, 1350);
    EXPECT_EQ(progress.times()[1].opened, 1115);
}

TEST_F(Graph, ComputationsOfAUnitFollowEachOther) {
    (*tasks)[2].needs = 0;
    (*tasks)[1].followers.clear();
    Progress progress(tasks);
    progress.start(0);
    EXPECT_EQ(progress.next_due(0), std::nullopt);
    EXPECT_EQ(progress.next_due(10), std::nullopt);
    const auto spans = progress.times();
    EXPECT_EQ(spans[2].opened, 0);
    EXPECT_EQ(spans[0].opened, 50);  // after task 2, which was due first
}

TEST_F(Graph, SlicesHeldForATaskAreReleasedOnce) {
    Progress progress(tasks);
    progress.hold(1, 7);
    progress.hold(1, 8);
    EXPECT_EQ(progress.release(1), (std::vector<std::uint32_t>{7, 8}));
    EXPECT_TRUE(progress.release(1).empty());
    EXPECT_TRUE(progress.open(3));  // free: open before the start
}

TEST(Sums, OfInt32WrapAndAreInOrder) {
    const std::vector<std::uint32_t> a{0xFFFFFFFF, 1, 5}, b{1, 2, 6}, c{1, 3, 7};
    std::vector<std::uint32_t> own(3);
    const auto bytes = [](const std::vector<std::uint32_t>& v) {
        return reinterpret_cast<const std::uint8_t*>(v.data());
    };
    std::vector<std::uint8_t> room;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(a), bytes(b), bytes(c)}, 12, kInt32,
                     kReduce, room);
    EXPECT_EQ(own, (std::vector<std::uint32_t>{1, 6, 18}));
}

TEST(Sums, OfFloatsDependOnTheOrderWhichIsKept) {
    const float big = 1e8F, small = 4.0F;
    std::vector<float> own{small};
    std::vector<std::uint8_t> room;
    const auto bytes = [](const float& f) { return reinterpret_cast<const std::uint8_t*>(&f); };
    const float minus = -big;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(big), bytes(own[0]), bytes(minus)},
                     4, kFloat32, kReduce, room);
    EXPECT_EQ(own[0], (big + small) + minus);
}

TEST(Sums, TheOwnArrayMayBeALaterTerm) {
    std::vector<std::uint32_t> own{5, 6}, other{1, 2}, third{10, 20};
    const auto bytes = [](const std::vector<std::uint32_t>& v) {
        return reinterpret_cast<const std::uint8_t*>(v.data());
    };
    std::vector<std::uint8_t> room;
    combine_in_order(reinterpret_cast<std::uint8_t*>(own.data()), {bytes(other), bytes(third), bytes(own)}, 8,
                     kInt32, kReduce, room);
    EXPECT_EQ(own, (std::vector<std::uint32_t>{16, 28}));
}

TEST(ReductionUnit, DoesOneTaskAfterTheOther) {
    ReductionUnit unit({.ccu = true, .rate_bps = 8'000'000'000, .sram_bytes = 100});  // a byte a nanosecond
    EXPECT_EQ(unit.work(10, 2, 0), 20'000);
    EXPECT_EQ(unit.work(10, 1, 5'000), 30'000);
    EXPECT_EQ(unit.work(10, 1, 50'000), 60'000);
    EXPECT_EQ(unit.stats().busy, 40'000);
    EXPECT_EQ(unit.core(), 0);
}

TEST(ReductionUnit, CoresLoseTheirShareOfTheTime) {
    ReductionUnit unit(
        {.ccu = false, .rate_bps = 8'000'000'000, .sram_bytes = std::nullopt, .core_percent = 25});
    unit.work(100, 1, 0);
    EXPECT_EQ(unit.core(), 25'000);
    EXPECT_EQ(ReductionUnit(Reduction{}).work(1000, 5, 7), 7);  // without a rate no time passes
}

TEST(ReductionUnit, SpillsWhatSramDoesNotHold) {
    ReductionUnit unit({.ccu = true, .rate_bps = std::nullopt, .sram_bytes = 100});
    EXPECT_TRUE(unit.claim(60));
    EXPECT_FALSE(unit.claim(60));
    EXPECT_TRUE(unit.claim(40));
    unit.free(60);
    EXPECT_TRUE(unit.claim(60));
    EXPECT_EQ(unit.stats().spilled, 60U);
    EXPECT_EQ(unit.stats().sram_peak, 100U);
}

TEST(PythonRandom, EqualsPythonsGenerator) {
    PythonRandom random("\x01");  // random.seed(1)
    EXPECT_DOUBLE_EQ(random.uniform(), 0.13436424411240122);
    EXPECT_DOUBLE_EQ(random.uniform(), 0.8474337369372327);
    PythonRandom again("\x01");
    std::vector<std::uint32_t> below;
    for (int n = 0; n < 6; ++n) below.push_back(again.below(10));
    EXPECT_EQ(below, (std::vector<std::uint32_t>{2, 9, 1, 4, 1, 7}));  // random.randrange(10)
}

TEST(PythonRandom, TakesSeedsOfAnyLength) {
    // random.seed(0), random.seed(2**64 + 5) and random.seed(int.from_bytes(b"railyard" * 400))
    EXPECT_DOUBLE_EQ(PythonRandom("").uniform(), 0.8444218515250481);
    EXPECT_DOUBLE_EQ(PythonRandom(std::string_view("\0\1\0\0\0\0\0\0\0\5", 10)).uniform(),
                     0.5105783769365112);
    std::string seed;
    for (int n = 0; n < 400; ++n) seed += "railyard";
    EXPECT_DOUBLE_EQ(PythonRandom(seed).uniform(), 0.7595048041245068);
}

TEST(RandomElements, SumsAreThoseOfTheElements) {
    const RandomElements elements(12345, 6789 * 2 + 1, 7);  // an odd count: half of a word is left
    std::vector<std::uint32_t> filled(7), total(7, 1);
    elements.fill(filled.data());
    elements.add_to(total.data());
    for (std::size_t at = 0; at < 7; ++at) EXPECT_EQ(total[at], filled[at] + 1);
}

TEST(Saturator, AnswersEachFrameUntilTheBudgetIsSpent) {
    const auto budget = std::make_shared<SaturationBudget>(SaturationBudget{5, 0});
    Saturator saturator({"abc", "defg"}, 3, PythonRandom("seed"), budget);
    FramePool pool;
    Actions actions(pool);
    saturator.start(0, actions);
    EXPECT_EQ(actions.departures.size(), 3U);
    for (int i = 0; i < 4; ++i) saturator.on_frame(pool.acquire("x", 1), 1, actions);
    EXPECT_EQ(actions.departures.size(), 5U);
    EXPECT_EQ(budget->left, 0U);
    EXPECT_EQ(budget->received, 4U);
}

TEST(Saturator, NeedsFrames) {
    EXPECT_THROW(Saturator({}, 1, PythonRandom("seed"), nullptr), std::invalid_argument);
}

TEST(Payloads, AChangeOfASliceKeepsWhatFramesCarry) {
    FramePool pool;
    const auto array = std::make_shared<Bytes>(16, std::uint8_t{'a'});
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
        EXPECT_EQ(second.payload->bytes[0], 'z');  // another slice
        Payloads::drop(first);
        Payloads::drop(second);
        EXPECT_EQ(first.payload, nullptr);
        Payloads::drop(first);  // does nothing more
    }
}

}  // namespace
}  // namespace railyard
