// SPDX-License-Identifier: Apache-2.0
// Parser and deparser: stacks, unions, fields of variable length, errors.
#include "switch.h"

namespace railyard::switching {
namespace {

using unit::hex;
using unit::Running;

// With parsing.p4, a frame comes back behind a report of 7 bytes: error, labels (4 bytes), ahead, found.
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
    // Labels: value 1, not the last; value 2, the last, with 1 hop. The report has the value of the first
    // label XOR the hops of the second: 0.
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
    // A last label of 0x10 to 0x1F leads to the union, for every port.
    EXPECT_EQ(answer("0108 00015100 02 010203"), answer("0108 00015100 02010203"));
    EXPECT_EQ(parser_error("0108 00015100 03"), "00");  // no member of the union: the parser ends
    EXPECT_EQ(parser_error("0108 00015100"), "01");     // the lookahead finds no byte
}

TEST_F(Parsing, OfAUnionOneHeaderIsValid) {
    // The program sets large, which makes small (1) invalid; a copy of small follows.
    EXPECT_EQ(answer("0308 01 77 99"),
              "00000000000000"
              "0308"
              "02010203"
              "0177"
              "99");
    // The program sets small, which makes large (2) invalid.
    EXPECT_EQ(answer("0308 02 aabbcc 99"),
              "00000000000000"
              "0308"
              "01ee"
              "99");
}

TEST_F(Parsing, AFieldOfVariableLengthTakesTheBytesItsHeaderNames) {
    // Version 4, 2 words: 2 * 32 - 16 bits of data, then a byte that is larger by one in the copy.
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
    EXPECT_EQ(parser_error("0208 40 " + std::string(160, '1')), "09");  // a negative length
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
    // Port 1 pushes a label of value 0xABCDE and class 5; the former first label follows.
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
    // The report and the copy of the options take more than the headroom of a frame in a small pool block.
    const std::string given = "0208 42 112233445566 10 " + std::string(2 * 1400, '5');
    EXPECT_EQ(answer(given).size(), 2 * 7 + (4 + 14 + 2) + (14 + 2) + 2 * 1400U);
}

}  // namespace
}  // namespace railyard::switching
