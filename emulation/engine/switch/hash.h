// SPDX-License-Identifier: Apache-2.0
// Hash and checksum algorithms of v1model, by their names in BMv2's JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace railyard::switching {

enum class HashAlgorithm : std::uint8_t {
    Crc8Custom,
    Crc16,
    CrcCcitt,
    Crc32,
    Crc64Custom,
    Checksum16,
    Identity,
    Xor16,
    Xor32
};

std::optional<HashAlgorithm> hash_algorithm(const std::string& name);  // none: unknown name
std::uint64_t hash(HashAlgorithm algorithm, const std::uint8_t* data, std::size_t length);

}  // namespace railyard::switching
