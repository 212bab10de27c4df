// SPDX-License-Identifier: Apache-2.0
#include "load/compile/json.h"

#include "load/program/program.h"

namespace railyard::load {

namespace {

// Most levels of nested brackets. p4c's tests need fewer than 80.
constexpr int kMostDepth = 512;

}  // namespace

Json parse_json(const std::string& text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') quoted = !quoted;
        else if (quoted) i += c == '\\';
        else if (c == '[' || c == '{') ++depth;
        else if (c == ']' || c == '}') --depth;
        if (depth > kMostDepth)
            throw ProgramError("program: nested deeper than the " + std::to_string(kMostDepth) +
                               " levels that the engine reads");
    }
    return Json::parse(text);
}

const Json& member(const Json& object, const char* key, const std::string& where) {
    if (!object.is_object()) throw ProgramError(where + ": an object was expected");
    const auto at = object.find(key);
    if (at == object.end()) throw ProgramError(where + ": '" + key + "' is missing");
    return *at;
}

std::string text(const Json& value, const std::string& where) {
    if (!value.is_string()) throw ProgramError(where + ": a string was expected, not " + value.dump());
    return value.get<std::string>();
}

std::string text(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_string()) throw ProgramError(where + ": '" + key + "' is no string");
    return value.get<std::string>();
}

unsigned number(const Json& object, const char* key, const std::string& where, unsigned limit) {
    const Json& value = member(object, key, where);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > limit)
        throw ProgramError(where + ": '" + key + "' is " + value.dump() + ", not a number from 0 to " +
                           std::to_string(limit));
    return value.get<unsigned>();
}

bool flag(const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_boolean() && at->get<bool>();
}

const Json& list(const Json& object, const char* key, const std::string& where) {
    const Json& value = member(object, key, where);
    if (!value.is_array()) throw ProgramError(where + ": '" + key + "' is no list");
    return value;
}

const Json& list_or_none(const Json& object, const char* key, const std::string& where) {
    static const Json kNothing = Json::array();
    return object.is_object() && object.contains(key) ? list(object, key, where) : kNothing;
}

std::vector<std::uint64_t> hex_limbs(const Json& value, unsigned bits, const std::string& where) {
    if (!value.is_string())
        throw ProgramError(where + ": a hexadecimal string was expected, not " + value.dump());
    const auto& s = value.get_ref<const std::string&>();
    if (s.size() < 3 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X') ||
        s.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos)
        throw ProgramError(where + ": '" + s + "' is no hexadecimal number");
    std::vector<std::uint64_t> out(limbs(bits), 0);
    unsigned nibble = 0;
    bool wider = false;
    for (std::size_t i = s.size(); i-- > 2; ++nibble) {
        const auto digit = static_cast<std::uint64_t>(std::stoi(s.substr(i, 1), nullptr, 16));
        if (nibble / 16 < out.size()) out[nibble / 16] |= digit << (4 * (nibble % 16));
        else wider = wider || digit != 0;
    }
    if (wider || (bits % 64 != 0 && out.back() >> (bits % 64) != 0))
        throw ProgramError(where + ": " + s + " does not fit " + std::to_string(bits) + " bits");
    return out;
}

std::vector<std::uint8_t> hex_bytes(const Json& value, std::size_t bytes, const std::string& where) {
    const auto words = hex_limbs(value, static_cast<unsigned>(8 * bytes), where);
    std::vector<std::uint8_t> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        out[bytes - 1 - i] = static_cast<std::uint8_t>(words[i / 8] >> (8 * (i % 8)));
    return out;
}

const Json& unwrap(const Json& node, const std::string& where) {
    const Json* at = &node;
    while (at->is_object() && at->value("type", "") == "expression") at = &member(*at, "value", where);
    return *at;
}

}  // namespace railyard::load
