// SPDX-License-Identifier: Apache-2.0
// Parser, copies of frames, deparser, programs that do not load; wide integers and hashes.
#include <map>
#include <set>

#include "common.h"
#include "load/compile/json.h"
#include "switch/stages/wide.h"
#include "switch/switch.h"

namespace railyard {
namespace {

using unit::digits;
using unit::hex;

struct Running : testing::Test {
    FramePool pool;
    ProgramShares shares;
    std::unique_ptr<Switch> sw;

    void start(const std::string& program) {
        sw = std::make_unique<Switch>("s", 510, pool, shares);
        sw->set_program(unit::program(program));
    }
    // Frames that leave, in hexadecimal digits, by port.
    std::vector<std::pair<std::uint32_t, std::string>> process(const std::string& bytes,
                                                               std::uint32_t port = 7) {
        Outputs out;
        sw->process(pool.acquire(bytes.data(), bytes.size()), port, 0, out);
        std::vector<std::pair<std::uint32_t, std::string>> result;
        for (const Output& o : out) result.emplace_back(o.port, digits(o.frame->view()));
        return result;
    }
};

// parsing.p4: the frame comes back behind a report of 7 bytes: error, labels (4), ahead, found.
struct Parsing : Running {
    Parsing() { start("tests/programs/build/parsing.json"); }
    std::string answer(const std::string& given) {
        const auto out = process(hex(given));
        return out.size() == 1 ? out[0].second : "frames: " + std::to_string(out.size());
    }
    std::string parser_error(const std::string& given) { return answer(given).substr(0, 2); }
};

TEST_F(Parsing, AFrameOfOneHeaderKeepsItsPayload) {
    EXPECT_EQ(answer("0908 aabbcc"),
              "00000000000000"
              "0908"
              "aabbcc");
}

TEST_F(Parsing, AShortFrameIsAnErrorAndLeavesWhole) {
    EXPECT_EQ(answer("09"),
              "01000000000000"
              "09");
    EXPECT_EQ(answer("0108 0000"),
              "01000000000000"
              "0108"
              "0000");
}

TEST_F(Parsing, AStackTakesLabelsUpToTheLast) {
    // value 1, not last; value 2, last, 1 hop: the report has the first value, and the hops of the second in
    // it.
    EXPECT_EQ(answer("0108 00001000 00002101 ee"),
              "00000000000000"
              "0108"
              "00001000"
              "00002101"
              "ee");
}

TEST_F(Parsing, MoreLabelsThanTheStackHoldsAreAnError) {
    EXPECT_EQ(parser_error("0108 00001000 00002000 00003000 00004100"), "02");
    EXPECT_EQ(parser_error("0108 00001000 00002000 00003100"), "00");
}

TEST_F(Parsing, VerifyEndsWithTheErrorOfTheProgram) {
    EXPECT_EQ(parser_error("0108 00001f00"), "03");
    EXPECT_EQ(parser_error("0108 00001d00"), "00");
}

TEST_F(Parsing, ATransitionComparesSeveralFieldsAndMasks) {
    // Label 0x10..0x1F with the last bit leads to the union, whatever the port.
    EXPECT_EQ(answer("0108 00015100 02 010203"), answer("0108 00015100 02010203"));
    EXPECT_EQ(parser_error("0108 00015100 03"), "00");  // no kind of union: the parser ends
    EXPECT_EQ(parser_error("0108 00015100"), "01");     // no byte to look at
}

TEST_F(Parsing, OfAUnionOneHeaderIsValid) {
    // small (1) gives way to large, which the program sets; a copy of small follows.
    EXPECT_EQ(answer("0308 01 77 99"),
              "00000000000000"
              "0308"
              "02010203"
              "0177"
              "99");
    // large (2) gives way to small.
    EXPECT_EQ(answer("0308 02 aabbcc 99"),
              "00000000000000"
              "0308"
              "01ee"
              "99");
}

TEST_F(Parsing, AFieldOfVariableLengthTakesTheBytesItsHeaderNames) {
    // version 4, 2 words: 2 * 32 - 16 bits of data, then a byte that the program increases in the copy.
    EXPECT_EQ(answer("0208 42 112233445566 10 ee"),
              "00000000000000"
              "0208"
              "42112233445566"
              "10"
              "42112233445566"
              "11"
              "ee");
}

TEST_F(Parsing, AFieldOfVariableLengthBeyondItsWidthIsAnError) {
    EXPECT_EQ(parser_error("0208 4f " + std::string(160, '1')), "09");
    EXPECT_EQ(parser_error("0208 40 " + std::string(160, '1')), "09");  // of less than no bit
    EXPECT_EQ(parser_error("0208 42 1122"), "01");
}

TEST_F(Parsing, LookaheadReadsWithoutTaking) {
    EXPECT_EQ(answer("0408 a1234f"),
              "00000000003400"
              "0408"
              "a1234f");
}

TEST_F(Parsing, AdvanceSkipsBytesThatTheDeparserLosesWithTheirHeader) {
    EXPECT_EQ(parser_error("0501 ff 02 aabbcc"), "00");
    EXPECT_EQ(parser_error("0507 ffff"), "01");
}

TEST_F(Parsing, AValueSetOfTheControlPlaneDecidesATransition) {
    EXPECT_EQ(answer("7708 00001100").substr(12, 2), "00");
    sw->set_value_set(0, {{{0x77}, {0xFF}}});
    EXPECT_EQ(answer("7708 00001100").substr(12, 2), "01");
    EXPECT_EQ(answer("7808 00001100").substr(12, 2), "00");
    sw->set_value_set(0, {});
    EXPECT_EQ(answer("7708 00001100").substr(12, 2), "00");
}

TEST_F(Parsing, PushFrontShiftsTheLabelsBack) {
    // Port 1 pushes label 0xABCDE, class 5; the former first label follows.
    const std::string out = answer("0101 00001109");
    EXPECT_EQ(out.substr(14),
              "0101"
              "abcdea00"
              "00001109");
}

TEST_F(Parsing, PopFrontTakesTheFirstLabels) {
    EXPECT_EQ(answer("0102 00001000 00002109").substr(14),
              "0102"
              "00002108");
    EXPECT_EQ(answer("0104 00001000 00002109").substr(14), "0104");
}

TEST_F(Parsing, AnInvalidHeaderIsNotEmitted) {
    EXPECT_EQ(answer("0106 00001109"),
              "00000000010000"
              "00001108");
}

TEST_F(Parsing, ManyHeadersMoreThanTheHeadroomMoveTheFrame) {
    // The report and a copy of the longest options: more than the headroom of a frame of a small pool block.
    const std::string given = "0208 42 112233445566 10 " + std::string(2 * 1400, '5');
    EXPECT_EQ(answer(given).size(), 2 * 7 + (4 + 14 + 2) + (14 + 2) + 2 * 1400U);
}

// copies.p4: what, session, rounds, port; egress notes what it saw.
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
            const std::size_t at = bytes.size() - 7 - 17;  // of the order, behind the note if there is one
            const auto byte = [&](std::size_t offset) {
                return static_cast<unsigned char>(bytes[at + offset]);
            };
            result.push_back({port, byte(4), byte(5) << 8 | byte(6), byte(7) << 8 | byte(8)});
        }
        return result;
    }
};

TEST_F(Copying, MulticastGivesEachReplicaItsPortAndNumber) {
    sw->set_multicast(4, {{1, 10}, {2, 20}, {1, 11}});
    const auto out = seen(order(1, 4));
    ASSERT_EQ(out.size(), 3U);
    EXPECT_EQ(std::tuple(out[0].port, out[0].rid, out[0].instance), std::tuple(1U, 10, 5));
    EXPECT_EQ(std::tuple(out[1].port, out[1].rid), std::tuple(2U, 20));
    EXPECT_EQ(std::tuple(out[2].port, out[2].rid), std::tuple(1U, 11));
}

TEST_F(Copying, AGroupThatIsNotThereDropsTheFrame) {
    EXPECT_TRUE(process(order(1, 4)).empty());
    sw->set_multicast(4, {{1, 1}});
    EXPECT_EQ(process(order(1, 4)).size(), 1U);
    sw->set_multicast(4, {});
    EXPECT_TRUE(process(order(1, 4)).empty());
}

TEST_F(Copying, ACloneKeepsTheMetadataOfItsFieldList) {
    sw->set_clone(2, {{9, 1}}, 0);
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
    sw->set_clone(2, {{9, 1}}, 12);
    for (const auto& [port, bytes] : process(order(3, 2)))
        EXPECT_EQ(bytes.size() / 2, port == 9 ? 12U : 17 + 7 + 4U) << port;
}

TEST_F(Copying, ADroppedFramesCloneLeaves) {
    sw->set_clone(2, {{9, 1}}, 0);
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
    sw->set_clone(2, {{9, 0}}, 0);
    const auto out = seen(order(10, 2));
    ASSERT_EQ(out.size(), 2U);
    std::set<int> instances;
    for (const Seen& s : out) instances.insert(s.instance);
    EXPECT_EQ(instances, (std::set<int>{0, 2}));
}

TEST_F(Copying, ADigestHasTheBytesOfItsFields) {
    EXPECT_EQ(process(order(6), 0x105).size(), 1U);
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
    sw->set_multicast(4, std::vector<Replica>(1 << 16, {1, 0}));
    EXPECT_EQ(process(order(1, 4)).size(), 1U << 16);
    sw->set_multicast(4, std::vector<Replica>((1 << 16) + 1, {1, 0}));
    EXPECT_THROW(process(order(1, 4)), std::runtime_error);
    EXPECT_EQ(process(order(0)).size(), 1U);  // the next frame works
}

TEST_F(Running, AProgramThatGoesRoundWithoutEndIsStopped) {
    start("tests/programs/build/departures.json");
    sw->set_clone(1, {{5, 0}}, 0);
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
    sw->set_multicast(4, {{1, 10}, {2, 20}});
    const std::string given = Copying::order(1, 4);
    const auto whole = process(given);
    Outputs pending, left;
    sw->ingress(pool.acquire(given.data(), given.size()), 7, 0, pending);
    ASSERT_EQ(pending.size(), 2U);
    for (Output& o : pending) {
        EXPECT_TRUE(o.frame->pending);
        sw->egress(std::move(o.frame), o.port, {}, 0, left);
    }
    ASSERT_EQ(left.size(), whole.size());
    for (std::size_t at = 0; at < left.size(); ++at)
        EXPECT_EQ(std::pair(left[at].port, digits(left[at].frame->view())), whole[at]);
}

TEST_F(Running, PendingFramesOfAnEarlierProgramAreDropped) {
    start("tests/programs/build/copies.json");
    const std::string given = Copying::order(0);
    Outputs pending, left;
    sw->ingress(pool.acquire(given.data(), given.size()), 7, 0, pending);
    sw->set_program(unit::program("tests/programs/build/copies.json"));
    sw->egress(std::move(pending[0].frame), 3, {}, 0, left);
    EXPECT_TRUE(left.empty());
}

TEST_F(Running, ASwitchWithoutAProgramDropsAll) {
    sw = std::make_unique<Switch>("s", 510, pool, shares);
    EXPECT_TRUE(process("frame").empty());
}

TEST_F(Running, ANewProgramForgetsEntriesAndCounters) {
    start("tests/programs/build/every_match.json");
    const std::string kind5 = std::string(1, '\5') + std::string(28, '\0');
    process(kind5);
    std::size_t counter = 0;
    while (sw->program()->counters[counter].name.find("by_kind") == std::string::npos) ++counter;
    EXPECT_EQ(sw->counter(counter).get(5).packets, 1U);
    EXPECT_EQ(sw->counter(counter).get(5).bytes, 29U);
    sw->set_program(sw->shared_program());
    EXPECT_EQ(sw->counter(counter).get(5).packets, 0U);
}

TEST_F(Running, ARegisterKeepsItsCellFromFrameToFrame) {
    start("tests/programs/build/every_match.json");
    const auto probe = [](unsigned number) {
        std::string bytes(29, '\0');
        bytes[0] = 6, bytes[1] = 3;
        bytes[6] = static_cast<char>(number >> 8), bytes[7] = static_cast<char>(number);
        return bytes;
    };
    const auto result = [](const auto& out) { return out[0].second.substr(2 * 26); };
    EXPECT_EQ(result(process(probe(0xABCD))), "000000");
    EXPECT_EQ(result(process(probe(0x0001))), "00abcd");
    EXPECT_EQ(result(process(probe(0))), "000001");
    EXPECT_EQ(sw->registers(0)[3], 0U);
    EXPECT_EQ(sw->registers(0)[2], 0U);
}

TEST_F(Running, ConstantEntriesGoByTheirOrder) {
    start("tests/programs/build/every_match.json");
    const auto result = [this](unsigned b) {
        std::string bytes(29, '\0');
        bytes[0] = 5;
        bytes[24] = static_cast<char>(b >> 8), bytes[25] = static_cast<char>(b);
        const auto out = process(bytes);
        return out.empty() ? "" : out[0].second.substr(2 * 26);
    };
    EXPECT_EQ(result(0x1F01), "000001");
    EXPECT_EQ(result(0x0F01), "000002");
    EXPECT_EQ(result(0x0F00), "000003");
    EXPECT_EQ(result(0x0100), "");
}

// Programs that must not load: each names what is wrong.
struct Loading : testing::Test {
    nlohmann::json json = [] {
        std::ifstream in(RAILYARD_ROOT "/tests/programs/build/wire.json");
        return nlohmann::json::parse(in);
    }();
    std::string error() const {
        try {
            static_cast<void>(Program::load(json.dump()));
        } catch (const ProgramError& e) {
            return e.what();
        }
        return "";
    }
};

TEST_F(Loading, TheProgramItselfLoads) { EXPECT_EQ(error(), ""); }

TEST_F(Loading, NamesAMissingMember) {
    json["pipelines"][0]["tables"][0].erase("key");
    EXPECT_NE(error().find("key"), std::string::npos) << error();
}

TEST_F(Loading, RefusesAnUnknownMatchKind) {
    json["pipelines"][0]["tables"][0]["key"][0]["match_type"] = "fuzzy";
    EXPECT_NE(error().find("fuzzy"), std::string::npos) << error();
}

TEST_F(Loading, RefusesAnUnknownPrimitive) {
    json["actions"][0]["primitives"].push_back({{"op", "teleport"}, {"parameters", nlohmann::json::array()}});
    EXPECT_NE(error().find("teleport"), std::string::npos) << error();
}

TEST_F(Loading, RefusesAStateThatIsNotThere) {
    json["parsers"][0]["init_state"] = "nowhere";
    EXPECT_NE(error().find("nowhere"), std::string::npos) << error();
}

TEST_F(Loading, RefusesJsonThatOverflowsTheStackOfReaders) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += '[';
    EXPECT_THROW(static_cast<void>(Program::load(deep)), std::exception);
    EXPECT_THROW(static_cast<void>(Program::load(deep + std::string(100'000, ']'))), ProgramError);
}

TEST(Json, HexadecimalNumbersBecomeLimbsAndBytes) {
    EXPECT_EQ(hex_limbs("0x0102030405060708090a", 80, "here"),
              (std::vector<std::uint64_t>{0x030405060708090a, 0x0102}));
    EXPECT_EQ(hex_bytes("0x01ff", 3, "here"), (std::vector<std::uint8_t>{0, 1, 0xff}));
    EXPECT_THROW(static_cast<void>(hex_limbs("0xzz", 8, "here")), ProgramError);
}

TEST(Json, NumbersBeyondTheirLimitNameThePlace) {
    const Json object = {{"size", 4097}};
    EXPECT_EQ(number(object, "size", "table t", 4097), 4097U);
    try {
        number(object, "size", "table t", 4096);
        FAIL() << "no exception";
    } catch (const ProgramError& error) {
        EXPECT_NE(std::string(error.what()).find("table t"), std::string::npos) << error.what();
    }
}

// Wide integers against arithmetic of 128 bits.
struct Wide : testing::Test {
    __extension__ using Word = unsigned __int128;
    __extension__ using Signed = __int128;
    struct Pair {
        std::uint64_t limbs[2];
    };
    unit::Random random{17};
    Word word() {
        Word value = static_cast<Word>(random.word()) << 64 | random.word();
        return value >> random.below(128);
    }
    static Pair split(Word value) {
        return {{static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64)}};
    }
    static Word joined(const Pair& p) { return static_cast<Word>(p.limbs[1]) << 64 | p.limbs[0]; }
};

TEST_F(Wide, AddSubtractAndMultiplyWrap) {
    for (int i = 0; i < 2000; ++i) {
        const Word a = word(), b = word();
        Pair out{};
        wide::add(out.limbs, split(a).limbs, split(b).limbs, 2, false);
        ASSERT_EQ(joined(out), a + b);
        wide::add(out.limbs, split(a).limbs, split(b).limbs, 2, true);
        ASSERT_EQ(joined(out), a - b);
        wide::multiply(out.limbs, split(a).limbs, split(b).limbs, 2);
        ASSERT_EQ(joined(out), a * b);
    }
}

TEST_F(Wide, DivideGivesQuotientAndRest) {
    for (int i = 0; i < 500; ++i) {
        const Word a = word(), b = word();
        Pair quotient{}, rest{};
        wide::divide(quotient.limbs, rest.limbs, split(a).limbs, split(b).limbs, 2);
        ASSERT_EQ(joined(quotient), b == 0 ? 0 : a / b);
        ASSERT_EQ(joined(rest), b == 0 ? 0 : a % b);
    }
}

TEST_F(Wide, ShiftsFillWithZerosOrTheSign) {
    for (int i = 0; i < 2000; ++i) {
        const Word a = word();
        const std::uint64_t by = random.below(140);
        Pair out{};
        wide::shift_left(out.limbs, split(a).limbs, by, 2);
        ASSERT_EQ(joined(out), by >= 128 ? 0 : a << by);
        wide::shift_right(out.limbs, split(a).limbs, by, 2, false);
        ASSERT_EQ(joined(out), by >= 128 ? 0 : a >> by);
        wide::shift_right(out.limbs, split(a).limbs, by, 2, true);
        const auto negative = static_cast<Signed>(a);
        ASSERT_EQ(joined(out), static_cast<Word>(by >= 128 ? (negative < 0 ? -1 : 0) : negative >> by));
    }
}

TEST_F(Wide, CompareOrdersSignedAndUnsigned) {
    for (int i = 0; i < 2000; ++i) {
        const Word a = word(), b = random.chance(10) ? a : word();
        const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
        ASSERT_EQ(wide::compare(split(a).limbs, split(b).limbs, 2, false), order(a, b));
        ASSERT_EQ(wide::compare(split(a).limbs, split(b).limbs, 2, true),
                  order(static_cast<Signed>(a), static_cast<Signed>(b)));
    }
}

TEST_F(Wide, ClampStaysWithinTheBits) {
    const auto clamped = [](Signed value, unsigned bits, bool sign) {
        Pair p = split(static_cast<Word>(value));
        wide::clamp(p.limbs, 2, bits, sign);
        return static_cast<Signed>(joined(p));
    };
    EXPECT_EQ(clamped(300, 8, false), 255);
    EXPECT_EQ(clamped(-5, 8, false), 0);
    EXPECT_EQ(clamped(255, 8, false), 255);
    EXPECT_EQ(clamped(127, 8, true), 127);
    EXPECT_EQ(clamped(128, 8, true), 127);
    EXPECT_EQ(clamped(-129, 8, true), -128);
    EXPECT_EQ(clamped(-3, 70, true), -3);
}

TEST_F(Wide, KeepCutsOrExtendsTheSign) {
    Pair p = split(static_cast<Word>(0x1FF) << 60);
    wide::keep(p.limbs, 2, 68, false);
    EXPECT_EQ(joined(p), static_cast<Word>(0xFF) << 60);
    wide::keep(p.limbs, 2, 68, true);
    EXPECT_EQ(static_cast<Signed>(joined(p)), -(static_cast<Signed>(1) << 60));
}

// Check values of the catalogue of CRC algorithms, over "123456789".
TEST(Hash, HasTheCheckValuesOfItsAlgorithms) {
    const std::string digits9 = "123456789";
    const auto of = [&](const std::string& name) {
        return hash(*hash_algorithm(name), reinterpret_cast<const std::uint8_t*>(digits9.data()),
                    digits9.size());
    };
    EXPECT_EQ(of("crc16"), 0xBB3DU);      // CRC-16/ARC
    EXPECT_EQ(of("crc32"), 0xCBF43926U);  // CRC-32/ISO-HDLC
    EXPECT_EQ(of("crcCCITT"), 0x29B1U);   // CRC-16/IBM-3740
    EXPECT_EQ(of("crc8_custom"), 0xF4U);  // CRC-8/SMBUS
    EXPECT_EQ(of("identity"), 0x3132333435363738U);
    EXPECT_EQ(of("xor16"), ('1' ^ '3' ^ '5' ^ '7' ^ '9') << 8 | ('2' ^ '4' ^ '6' ^ '8'));
    EXPECT_FALSE(hash_algorithm("md5"));
}

TEST(Hash, TheInternetChecksumIsTheExampleOfRfc1071) {
    const std::string bytes = hex("0001f203f4f5f6f7");
    EXPECT_EQ(hash(HashAlgorithm::Checksum16, reinterpret_cast<const std::uint8_t*>(bytes.data()), 8),
              0x220DU);
    EXPECT_EQ(hash(HashAlgorithm::Checksum16, reinterpret_cast<const std::uint8_t*>(bytes.data()), 7),
              0x2304U);
}

}  // namespace
}  // namespace railyard
