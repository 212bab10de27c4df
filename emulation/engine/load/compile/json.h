// SPDX-License-Identifier: Apache-2.0
// Access to JSON values with errors that name the place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace railyard {

using Json = nlohmann::json;

// Json::exception for malformed JSON, ProgramError for JSON so deeply nested that recursive readers overflow
// the stack.
Json parse_json(const std::string& text);

const Json& member(const Json& object, const char* key, const std::string& where);
std::string text(const Json& object, const char* key, const std::string& where);
std::string text(const Json& value, const std::string& where);
unsigned number(const Json& object, const char* key, const std::string& where, unsigned limit = 1u << 30);
bool flag(const Json& object, const char* key);
const Json& list(const Json& object, const char* key, const std::string& where);
const Json& list_or_none(const Json& object, const char* key, const std::string& where);
// A hexadecimal number in 64-bit words, least significant first, as many as `bits` ask for.
std::vector<std::uint64_t> hex_limbs(const Json& value, unsigned bits, const std::string& where);
// A hexadecimal number in bytes, most significant first.
std::vector<std::uint8_t> hex_bytes(const Json& value, std::size_t bytes, const std::string& where);

}  // namespace railyard
