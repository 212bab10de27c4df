// SPDX-License-Identifier: Apache-2.0
#include "load/program/translation.h"

#include <unordered_map>

namespace railyard::load {

namespace {

std::unordered_map<std::uint64_t, Translation>& translations() {
    static std::unordered_map<std::uint64_t, Translation> all;
    return all;
}

}  // namespace

// FNV-1a (Fowler, Noll and Vo).
std::uint64_t fingerprint(std::string_view bmv2_json) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : bmv2_json)
        if (c != ' ' && c != '\n') hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
    return hash;
}

const Translation* find_translation(std::uint64_t fingerprint) {
    const auto at = translations().find(fingerprint);
    return at == translations().end() ? nullptr : &at->second;
}

TranslationEntry::TranslationEntry(std::uint64_t fingerprint, const Translation& translation) {
    translations()[fingerprint] = translation;
}

}  // namespace railyard::load
