// SPDX-License-Identifier: Apache-2.0
// Checked access to JSON values. ProgramError if a value is missing or has the wrong type; `where` names the
// object in the message.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace railyard::load {

using Json = nlohmann::json;

// Parse JSON. Json::exception if it is malformed; ProgramError if it is nested so deeply that recursive
// readers would overflow the stack.
Json parse_json(const std::string& text);

const Json& member(const Json& object, const char* key, const std::string& where);
std::string text(const Json& object, const char* key, const std::string& where);
std::string text(const Json& value, const std::string& where);
unsigned number(const Json& object, const char* key, const std::string& where, unsigned limit = 1u << 30);
bool flag(const Json& object, const char* key);
const Json& list(const Json& object, const char* key, const std::string& where);
const Json& list_or_none(const Json& object, const char* key, const std::string& where);
// Return a hexadecimal number of at most `bits` bits as limbs(bits) words, the least significant first.
std::vector<std::uint64_t> hex_limbs(const Json& value, unsigned bits, const std::string& where);
// Return a hexadecimal number as `bytes` bytes, the most significant first.
std::vector<std::uint8_t> hex_bytes(const Json& value, std::size_t bytes, const std::string& where);

// Return an operand without the "expression" objects around it.
const Json& unwrap(const Json& node, const std::string& where);

}  // namespace railyard::load
