// SPDX-License-Identifier: Apache-2.0
#include "switch/hash.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace railyard::switching {

namespace {

template <typename T>
constexpr T reflect(T value) {
    T out = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit, value = static_cast<T>(value >> 1))
        out = static_cast<T>((out << 1) | (value & 1u));
    return out;
}

// Return the check of a byte, before and after it.
template <typename T, T kPolynomial, bool kReflected>
constexpr T crc_of(unsigned byte) {
    constexpr unsigned kWidth = 8 * sizeof(T);
    T value = kReflected ? static_cast<T>(byte) : static_cast<T>(static_cast<T>(byte) << (kWidth - 8));
    for (int bit = 0; bit < 8; ++bit) {
        if constexpr (kReflected)
            value = static_cast<T>((value >> 1) ^ ((value & 1u) != 0 ? reflect<T>(kPolynomial) : T{0}));
        else
            value = static_cast<T>(static_cast<T>(value << 1) ^
                                   ((value >> (kWidth - 1)) != 0 ? kPolynomial : T{0}));
    }
    return value;
}

// Return a cyclic redundancy check; the input and the output are not reflected.
template <typename T, T kPolynomial, T kInitial, T kFinal>
T crc(const std::uint8_t* data, std::size_t length) {
    constexpr unsigned kWidth = 8 * sizeof(T);
    static constexpr auto kTable = [] {
        std::array<T, 256> table{};
        for (unsigned byte = 0; byte < 256; ++byte) table[byte] = crc_of<T, kPolynomial, false>(byte);
        return table;
    }();
    T value = kInitial;
    for (std::size_t i = 0; i < length; ++i)
        value = static_cast<T>(kTable[static_cast<std::uint8_t>((value >> (kWidth - 8)) ^ data[i])] ^
                               (kWidth > 8 ? static_cast<T>(static_cast<std::uint64_t>(value) << 8) : T{0}));
    return static_cast<T>(value ^ kFinal);
}

// Return a cyclic redundancy check; the input and the output are reflected. Eight bytes at once: their checks
// come from tables of their own, so no byte waits for the check of the byte before.
template <typename T, T kPolynomial, T kInitial, T kFinal>
T reflected_crc(const std::uint8_t* data, std::size_t length) {
    static constexpr std::size_t kStep = sizeof(std::uint64_t);
    // kTables[n]: checks of a byte that n zero bytes follow.
    static constexpr auto kTables = [] {
        std::array<std::array<T, 256>, kStep> tables{};
        for (unsigned byte = 0; byte < 256; ++byte) {
            T value = tables[0][byte] = crc_of<T, kPolynomial, true>(byte);
            for (std::size_t zeros = 1; zeros < kStep; ++zeros)
                value = tables[zeros][byte] = static_cast<T>((static_cast<std::uint64_t>(value) >> 8) ^
                                                             crc_of<T, kPolynomial, true>(value & 0xFF));
        }
        return tables;
    }();
    T value = reflect<T>(kInitial);
    for (; length >= kStep; data += kStep, length -= kStep) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < kStep; ++i) word |= static_cast<std::uint64_t>(data[i]) << (8 * i);
        word ^= value;
        value = 0;
        for (std::size_t i = 0; i < kStep; ++i)
            value = static_cast<T>(value ^ kTables[kStep - 1 - i][word >> (8 * i) & 0xFF]);
    }
    for (; length > 0; ++data, --length)
        value = static_cast<T>((static_cast<std::uint64_t>(value) >> 8) ^
                               kTables[0][static_cast<std::uint8_t>(value ^ *data)]);
    return static_cast<T>(value ^ kFinal);
}

// Return the 16-bit Internet checksum (RFC 1071).
std::uint64_t internet_checksum(const std::uint8_t* data, std::size_t length) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 1 < length; i += 2)
        sum += static_cast<std::uint64_t>(data[i] << 8 | data[i + 1]);
    if (length % 2 != 0) sum += static_cast<std::uint64_t>(data[length - 1] << 8);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    return ~sum & 0xFFFF;
}

// Return the XOR of words of `width` bytes, the last padded with zeros.
std::uint64_t xor_words(const std::uint8_t* data, std::size_t length, std::size_t width) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < length; ++i)
        out ^= static_cast<std::uint64_t>(data[i]) << (8 * (width - 1 - i % width));
    return out;
}

std::uint64_t identity(const std::uint8_t* data, std::size_t length) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(length, 8); ++i) out = out << 8 | data[i];
    return out;
}

}  // namespace

std::optional<HashAlgorithm> hash_algorithm(const std::string& name) {
    static const std::unordered_map<std::string, HashAlgorithm> kByName = {
        {"crc8_custom", HashAlgorithm::Crc8Custom},
        {"crc16", HashAlgorithm::Crc16},
        {"crc16_custom", HashAlgorithm::Crc16},
        {"crcCCITT", HashAlgorithm::CrcCcitt},
        {"crc32", HashAlgorithm::Crc32},
        {"crc32_custom", HashAlgorithm::Crc32},
        {"crc64_custom", HashAlgorithm::Crc64Custom},
        {"csum16", HashAlgorithm::Checksum16},
        {"cksum16", HashAlgorithm::Checksum16},
        {"identity", HashAlgorithm::Identity},
        {"xor16", HashAlgorithm::Xor16},
        {"xor32", HashAlgorithm::Xor32}};
    const auto found = kByName.find(name);
    return found == kByName.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t hash(HashAlgorithm algorithm, const std::uint8_t* data, std::size_t length) {
    switch (algorithm) {
        case HashAlgorithm::Crc8Custom: return crc<std::uint8_t, 0x07, 0, 0>(data, length);
        case HashAlgorithm::Crc16: return reflected_crc<std::uint16_t, 0x8005, 0, 0>(data, length);
        case HashAlgorithm::CrcCcitt: return crc<std::uint16_t, 0x1021, 0xFFFF, 0>(data, length);
        case HashAlgorithm::Crc32:
            return reflected_crc<std::uint32_t, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF>(data, length);
        case HashAlgorithm::Crc64Custom: return reflected_crc<std::uint64_t, 0x1B, 0, 0>(data, length);
        case HashAlgorithm::Checksum16: return internet_checksum(data, length);
        case HashAlgorithm::Xor16: return xor_words(data, length, 2);
        case HashAlgorithm::Xor32: return xor_words(data, length, 4);
        case HashAlgorithm::Identity: return identity(data, length);
    }
    return 0;
}

}  // namespace railyard::switching
