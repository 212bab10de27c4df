// SPDX-License-Identifier: Apache-2.0
// A switch without a program, a change of programs, registers, constant entries; programs that do not load.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load/compile/json.h"
#include "switch.h"

namespace railyard::switching {
namespace {

using unit::Running;

TEST_F(Running, ASwitchWithoutAProgramDropsAll) {
    sw = std::make_unique<Switch>("s", Port(510), pool, shares);
    EXPECT_TRUE(process("frame").empty());
}

TEST_F(Running, RandomNumbersDependOnNameAndSeed) {
    const auto drawn = [&](const std::string& name, std::optional<std::uint64_t> seed) {
        SwitchState state(name, pool);
        if (seed) state.set_seed(*seed);
        std::vector<std::uint64_t> numbers;
        for (int i = 0; i < 8; ++i) numbers.push_back(state.random(0, 0xFFFF));
        return numbers;
    };
    EXPECT_EQ(drawn("s", 1), drawn("s", 1));
    EXPECT_NE(drawn("s", 1), drawn("s", 2));
    EXPECT_NE(drawn("s", 1), drawn("t", 1));
    EXPECT_EQ(drawn("s", {}), drawn("s", SwitchState::kUnseeded));
}

TEST_F(Running, ANewProgramForgetsEntriesAndCounters) {
    start("tests/programs/build/every_match.json");
    const std::string kind5 = std::string(1, '\5') + std::string(28, '\0');
    process(kind5);
    std::size_t counter = 0;
    while (sw->program()->counters[counter].name.find("by_kind") == std::string::npos) ++counter;
    EXPECT_EQ(sw->counter(counter).get(5).packets, 1U);
    EXPECT_EQ(sw->counter(counter).get(5).bytes, CountedBytes(29));
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

// Programs that must not load: the error names the cause.
struct Loading : testing::Test {
    nlohmann::json json = [] {
        std::ifstream in(RAILYARD_ROOT "/tests/programs/build/wire.json");
        return nlohmann::json::parse(in);
    }();
    std::string error() const {
        try {
            static_cast<void>(Program::load(json.dump()));
        } catch (const load::ProgramError& e) {
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
    EXPECT_THROW(static_cast<void>(Program::load(deep + std::string(100'000, ']'))), load::ProgramError);
}

TEST(Json, HexadecimalNumbersBecomeLimbsAndBytes) {
    EXPECT_EQ(load::hex_limbs("0x0102030405060708090a", 80, "here"),
              (std::vector<std::uint64_t>{0x030405060708090a, 0x0102}));
    EXPECT_EQ(load::hex_bytes("0x01ff", 3, "here"), (std::vector<std::uint8_t>{0, 1, 0xff}));
    EXPECT_THROW(static_cast<void>(load::hex_limbs("0xzz", 8, "here")), load::ProgramError);
}

TEST(Json, NumbersBeyondTheirLimitNameThePlace) {
    const load::Json object = {{"size", 4097}};
    EXPECT_EQ(load::number(object, "size", "table t", 4097), 4097U);
    try {
        static_cast<void>(load::number(object, "size", "table t", 4096));
        FAIL() << "no exception";
    } catch (const load::ProgramError& error) {
        EXPECT_NE(std::string(error.what()).find("table t"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace railyard::switching
