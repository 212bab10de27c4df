// SPDX-License-Identifier: Apache-2.0
#include "mutate.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace railyard::fuzz {

namespace {

using Json = nlohmann::json;

// Words that mean something in a program of BMv2.
constexpr std::array kWords = {"ingress",
                               "egress",
                               "regular",
                               "stack",
                               "union_stack",
                               "field",
                               "hexstr",
                               "bool",
                               "header",
                               "expression",
                               "local",
                               "runtime_data",
                               "lookahead",
                               "stack_field",
                               "union_stack_field",
                               "header_union",
                               "header_stack",
                               "extract",
                               "extract_VL",
                               "verify",
                               "advance",
                               "shift",
                               "set",
                               "primitive",
                               "assign",
                               "assign_VL",
                               "assign_header",
                               "assign_union",
                               "assign_header_stack",
                               "assign_union_stack",
                               "add_header",
                               "remove_header",
                               "push",
                               "pop",
                               "mark_to_drop",
                               "count",
                               "register_read",
                               "register_write",
                               "execute_meter",
                               "modify_field_with_hash_based_offset",
                               "modify_field_rng_uniform",
                               "clone_ingress_pkt_to_egress",
                               "clone_egress_pkt_to_egress",
                               "resubmit",
                               "recirculate",
                               "generate_digest",
                               "truncate",
                               "log_msg",
                               "assert",
                               "assume",
                               "exit",
                               "_jump",
                               "_jump_if_zero",
                               "no_op",
                               "b2d",
                               "d2b",
                               "valid",
                               "valid_union",
                               "last_stack_index",
                               "size_stack",
                               "access_field",
                               "dereference_header_stack",
                               "dereference_stack",
                               "dereference_union_stack",
                               "access_union_header",
                               "two_comp_mod",
                               "usat_cast",
                               "sat_cast",
                               "?",
                               "~",
                               "not",
                               "and",
                               "or",
                               "==",
                               "!=",
                               "<",
                               "<=",
                               ">",
                               ">=",
                               "+",
                               "-",
                               "*",
                               "/",
                               "%",
                               "&",
                               "|",
                               "^",
                               "<<",
                               ">>",
                               "exact",
                               "lpm",
                               "ternary",
                               "range",
                               "optional",
                               "simple",
                               "indirect",
                               "indirect_ws",
                               "crc16",
                               "crc32",
                               "crc32_custom",
                               "csum16",
                               "identity",
                               "xor16",
                               "crcCCITT",
                               "packets",
                               "bytes",
                               "default",
                               "parse_vset",
                               "payload",
                               "$valid$",
                               "standard_metadata",
                               "*",
                               "__HIT__",
                               "__MISS__",
                               "mask",
                               "if_cond",
                               "is_direct",
                               "binding"};
constexpr std::array kOperators = {
    "+",         "-",        "*",   "/",   "%",     "&",           "|",  "^",   "<<", ">>", "==",
    "!=",        "<",        "<=",  ">",   ">=",    "and",         "or", "not", "~",  "?",  "two_comp_mod",
    "usat_cast", "sat_cast", "b2d", "d2b", "valid", "access_field"};

// A node, with what it hangs from.
struct Position {
    Json* node;
    Json* parent;
    std::string key;  // of an object's member; of an array's element: the array's own
};

void collect(Json& node, Json* parent, const std::string& key, std::vector<Position>& out) {
    out.push_back({&node, parent, key});
    if (node.is_object())
        for (auto& [name, value] : node.items()) collect(value, &node, name, out);
    else if (node.is_array())
        for (Json& value : node) collect(value, &node, key, out);
}

class Mutator {
   public:
    Mutator(Json& json, Json& donor, unsigned seed) : json_(json), donor_(donor), random_(seed) {}

    void edit() {
        places_.clear();
        collect(json_, nullptr, "", places_);
        donors_.clear();
        collect(donor_.is_null() ? json_ : donor_, nullptr, "", donors_);
        const Position at = pick(places_);
        switch (below(11)) {
            case 0:
            case 1: *at.node = like(at); break;
            case 2: {
                const Position other = place_like(at);
                if (!holds(*at.node, other.node) && !holds(*other.node, at.node))
                    std::swap(*at.node, *other.node);
                break;
            }
            case 3: *at.node = Json(*pick(donors_).node); break;
            case 4: remove(at); break;
            case 5:
                if (at.parent != nullptr && at.parent->is_array()) {
                    Json copy = *at.node;
                    at.parent->insert(
                        at.parent->begin() + static_cast<std::ptrdiff_t>(below(at.parent->size() + 1)),
                        std::move(copy));
                }
                break;
            case 6: *at.node = odd(); break;
            case 7: wrap(*at.node); break;
            case 8:
                if (at.node->is_object()) {
                    const Position from = pick(donors_);
                    if (!from.key.empty()) (*at.node)[from.key] = Json(*from.node);
                }
                break;
            default: scalar(); break;
        }
    }

    std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }

   private:
    const Position& pick(const std::vector<Position>& among) { return among[below(among.size())]; }

    // A node under the same key, or else any.
    Position place_like(const Position& at) {
        for (int i = 0; i < 200; ++i)
            if (const Position& other = pick(donors_);
                other.key == at.key && other.node->type() == at.node->type())
                return other;
        return pick(donors_);
    }
    Json like(const Position& at) { return *place_like(at).node; }

    static bool holds(Json& node, const Json* part) {
        std::vector<Position> all;
        collect(node, nullptr, "", all);
        for (const Position& p : all)
            if (p.node == part) return true;
        return false;
    }

    static void remove(const Position& at) {
        if (at.parent == nullptr) return;
        if (at.parent->is_object()) {
            at.parent->erase(at.key);
            return;
        }
        for (std::size_t i = 0; i < at.parent->size(); ++i)
            if (&(*at.parent)[i] == at.node) {
                at.parent->erase(i);
                return;
            }
    }

    Json odd() {
        switch (below(14)) {
            case 0: return nullptr;
            case 1: return Json::object();
            case 2: return Json::array();
            case 3: return "";
            case 4: return "0x";
            case 5: return "-0x0";
            case 6: return -1;
            case 7: return 0;
            case 8: return 1ULL << below(64);
            case 9: return (1ULL << below(64)) - 1;
            case 10: return 1e300;
            case 11: return true;
            case 12: return Json{Json::array({nullptr}), 1};
            default: return kWords[below(kWords.size())];
        }
    }

    // Operands become operations.
    void wrap(Json& node) {
        const Position &left = pick(donors_), &right = pick(donors_);
        const auto operand = [](const Position& p) {
            return p.node->is_object() && p.node->contains("type") && p.node->contains("value");
        };
        if (!node.is_object() || !node.contains("type") || !node.contains("value")) return scalar();
        Json operation = {{"op", kOperators[below(kOperators.size())]},
                          {"left", operand(left) ? *left.node : node},
                          {"right", operand(right) ? *right.node : node}};
        if (operation["op"] == "?") operation["cond"] = node;
        if (below(2) == 0) node = operation;
        else node = Json{{"type", "expression"}, {"value", std::move(operation)}};
    }

    void scalar() {
        for (int i = 0; i < 100; ++i) {
            const Position& at = pick(places_);
            if (at.node->is_structured()) continue;
            if (at.node->is_boolean()) *at.node = !at.node->get<bool>();
            else if (at.node->is_number()) number(*at.node);
            else if (at.node->is_string()) word(at);
            else *at.node = below(2) == 0 ? Json(false) : like(at);
            return;
        }
    }

    void number(Json& node) {
        const auto v = node.is_number_integer() ? node.get<std::int64_t>() : 0;
        switch (below(6)) {
            case 0: node = static_cast<std::uint64_t>(v) + 1; break;
            case 1: node = static_cast<std::int64_t>(static_cast<std::uint64_t>(v) - 1); break;
            case 2: node = static_cast<std::uint64_t>(v) ^ (1ULL << below(below(2) == 0 ? 64 : 12)); break;
            case 3: node = below(8); break;
            case 4: node = 1ULL << below(24); break;
            default: node = static_cast<std::uint64_t>(v) * (1 + below(16)); break;
        }
    }

    void word(const Position& at) {
        auto& s = at.node->get_ref<std::string&>();
        if (s.starts_with("0x") && below(3) != 0) {
            std::string digits = "0x";
            for (std::size_t n = below(3) == 0 ? below(300) : 1 + below(18); n-- > 0;)
                digits.push_back("0123456789abcdef"[below(16)]);
            s = below(12) == 0 ? "-" + digits : digits;
        } else if (below(3) == 0) {
            s = kWords[below(kWords.size())];
        } else if (below(8) == 0) {
            s.resize(below(s.size() + 1));
        } else {
            for (int i = 0; i < 100; ++i)
                if (const Position& other = pick(donors_);
                    other.node->is_string() && (i > 40 || other.key == at.key)) {
                    *at.node = Json(*other.node);
                    return;
                }
        }
    }

    Json& json_;
    Json& donor_;
    std::minstd_rand random_;
    std::vector<Position> places_, donors_;
};

}  // namespace

std::string mutated(std::string_view text, std::string_view donor, unsigned seed) {
    Json json = Json::parse(text, nullptr, false),
         other = donor.empty() ? Json() : Json::parse(donor, nullptr, false);
    if (json.is_discarded() || other.is_discarded()) return {};
    Mutator mutator(json, other, seed);
    for (std::size_t edits = 1 + mutator.below(4); edits-- > 0;) mutator.edit();
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace railyard::fuzz
