// SPDX-License-Identifier: Apache-2.0
// The loader: mutated programs are refused with a ProgramError, or load; those that load are then driven for
// a while.
#include <cstdint>
#include <string>

#include "drive.h"
#include "mutate.h"

namespace {

using railyard::load::Program;

// Programs with more state than this are loaded, and not driven: filling memory with zeros finds nothing.
constexpr std::size_t kMostCells = 1u << 16;

std::size_t cells(const Program& program) {
    std::size_t sum = 0;
    for (const auto& a : program.counters) sum += a.size;
    for (const auto& a : program.registers) sum += a.size * railyard::load::limbs(a.bits);
    for (const auto& a : program.meters) sum += a.size;
    return sum;
}

// Bytes that depend on the input and are as good as random.
std::vector<std::uint8_t> noise(const std::uint8_t* data, std::size_t size) {
    std::uint64_t state = 0xCBF29CE484222325ULL;
    for (std::size_t i = 0; i < size; ++i) state = (state ^ data[i]) * 0x100000001B3ULL;
    std::vector<std::uint8_t> out(1024);
    for (std::uint8_t& byte : out) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<std::uint8_t>(state >> 56);
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    railyard::fuzz::Programs loaded;
    try {
        loaded.push_back(Program::load(std::string(reinterpret_cast<const char*>(data), size)));
    } catch (const railyard::load::ProgramError&) {
        return 0;
    }
    if (cells(*loaded[0]) > kMostCells) return 0;
    const auto bytes = noise(data, size);
    FuzzedDataProvider in(bytes.data(), bytes.size());
    railyard::fuzz::Drive(in, loaded).run(40);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    const std::string out = railyard::fuzz::mutated({reinterpret_cast<const char*>(data), size}, {}, seed);
    if (out.empty() || out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    out.copy(reinterpret_cast<char*>(data), out.size());
    return out.size();
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2,
                                                 std::uint8_t* to, std::size_t max_size, unsigned seed) {
    const std::string out = railyard::fuzz::mutated({reinterpret_cast<const char*>(data1), size1},
                                                    {reinterpret_cast<const char*>(data2), size2}, seed);
    if (out.size() > max_size) return 0;
    out.copy(reinterpret_cast<char*>(to), out.size());
    return out.size();
}
