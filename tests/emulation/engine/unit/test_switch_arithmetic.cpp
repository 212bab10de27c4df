// SPDX-License-Identifier: Apache-2.0
// Arithmetic of wide integers; hashes and checksums.
#include "common.h"
#include "switch/hash.h"
#include "switch/stages/wide.h"

namespace railyard::switching {
namespace {

using unit::hex;

// Wide integers, compared with the compiler's arithmetic of 128 bits.
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

// The expected values are the check values of the catalogue of CRC algorithms, for "123456789".
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

// Check of reflected input, bit by bit: `polynomial` is reflected too.
std::uint64_t by_bits(const std::uint8_t* data, std::size_t length, std::uint64_t polynomial,
                      std::uint64_t initial) {
    std::uint64_t value = initial;
    for (std::size_t i = 0; i < length; ++i) {
        value ^= data[i];
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1U) != 0 ? polynomial : 0);
    }
    return value;
}

TEST(Hash, ChecksOfEveryLengthAreThoseOfSingleBits) {
    std::vector<std::uint8_t> data(40);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(37 * i + 201);
    for (std::size_t length = 0; length <= data.size(); ++length) {
        EXPECT_EQ(hash(HashAlgorithm::Crc16, data.data(), length), by_bits(data.data(), length, 0xA001, 0));
        EXPECT_EQ(hash(HashAlgorithm::Crc32, data.data(), length),
                  ~by_bits(data.data(), length, 0xEDB88320, 0xFFFFFFFF) & 0xFFFFFFFF);
        EXPECT_EQ(hash(HashAlgorithm::Crc64Custom, data.data(), length),
                  by_bits(data.data(), length, std::uint64_t{0xD8} << 56, 0));
    }
}

TEST(Hash, TheInternetChecksumIsTheExampleOfRfc1071) {
    const std::string bytes = hex("0001f203f4f5f6f7");
    EXPECT_EQ(hash(HashAlgorithm::Checksum16, reinterpret_cast<const std::uint8_t*>(bytes.data()), 8),
              0x220DU);
    EXPECT_EQ(hash(HashAlgorithm::Checksum16, reinterpret_cast<const std::uint8_t*>(bytes.data()), 7),
              0x2304U);
}

}  // namespace
}  // namespace railyard::switching
