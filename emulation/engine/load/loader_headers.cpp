// SPDX-License-Identifier: Apache-2.0
// Loading of headers, stacks and unions, and assignment of slots to their fields.
#include <algorithm>

#include "load/loader.h"

namespace railyard::load {

namespace {

constexpr unsigned kMostFieldBits = 2048;
constexpr unsigned kMostHeaderBytes =
    2032;  // 254 limbs: with its length, a variable-length field has at most 255, the limit of Instruction::n

}  // namespace

// Record the fields that the program uses, and the headers that it uses as a whole; other fields need no
// slot.
void Loader::note_use(const Json& node) {
    if (node.is_array()) {
        for (const Json& n : node) note_use(n);
        return;
    }
    if (!node.is_object()) return;
    const std::string op = node.contains("op") && node["op"].is_string() ? node["op"].get<std::string>() : "";
    static const std::unordered_set<std::string> kNamesOnly = {"add_header", "remove_header", "mark_to_drop",
                                                               "valid", "extract"};
    const auto whole = [&](const Json& n) {
        const Json* at = &n;
        while (at->is_object() && at->value("type", Json()) == "expression" && at->contains("value"))
            at = &(*at)["value"];
        if (at->is_object() && at->value("type", Json()) == "header" &&
            at->value("value", Json()).is_string())
            whole_.insert((*at)["value"].get<std::string>());
    };
    for (const auto& [key, value] : node.items()) {
        const bool pair =
            value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string();
        if (pair && (key == "value" || key == "target" || key == "result_target"))
            used_[value[0]].insert(value[1].get<std::string>());
        if ((!op.empty() && !kNamesOnly.contains(op)) || key == "input") {
            if (value.is_array()) std::for_each(value.begin(), value.end(), whole);
            else whole(value);
        }
        note_use(value);
    }
}

bool Loader::used(const std::string& header, const std::string& field) const {
    if (whole_.contains(header)) return true;
    const auto at = used_.find(header);
    return at != used_.end() && at->second.contains(field);
}

void Loader::type(Header& h, const Json& node, const std::string& where) {
    unsigned bits = 0;
    for (const Json& f : list(node, "fields", where)) {
        if (!f.is_array() || f.size() < 2 || !f[0].is_string())
            throw ProgramError(where + ": " + f.dump() + " is no field");
        Field field;
        field.name = f[0];
        if (f[1] == "*") {
            if (h.variable) throw ProgramError(where + ": two fields have a variable length");
            h.variable = field.variable = true;
            h.max_bytes = number(node, "max_length", where, kMostHeaderBytes);
        } else if (f[1].is_number_unsigned() && f[1] > 0 && f[1] <= kMostFieldBits) {
            field.bits = f[1];
            field.is_signed = f.size() > 2 && f[2].is_boolean() && f[2].get<bool>();
        } else {
            throw ProgramError(where + ": field " + f.dump() + " is not supported (a name and 1 to " +
                               std::to_string(kMostFieldBits) + " bits)");
        }
        bits += field.bits;
        h.fields.push_back(std::move(field));
    }
    if (!h.metadata && bits % 8 != 0)
        throw ProgramError(where + ": " + std::to_string(bits) + " bits are no whole bytes");
    h.bytes = bits / 8;
    if (!h.metadata && h.bytes > kMostHeaderBytes)
        throw ProgramError(where + ": " + std::to_string(h.bytes) +
                           " bytes; the engine's headers have up to " + std::to_string(kMostHeaderBytes));
    if (!h.variable) {
        h.max_bytes = h.bytes;
        return;
    }
    if (h.max_bytes <= h.bytes)
        throw ProgramError(where + ": max_length leaves nothing for the field of variable length");
    for (Field& f : h.fields)
        if (f.variable) f.bits = 8 * (h.max_bytes - h.bytes);
}

void Loader::headers() {
    std::unordered_map<std::string, const Json*> types;
    for (const Json& node : list(json_, "header_types", "program"))
        types[text(node, "name", "header_types")] = &node;
    std::unordered_set<std::string> names;
    for (const Json& node : list(json_, "headers", "program")) {
        Header h;
        h.name = text(node, "name", "headers");
        const std::string where = "header " + h.name;
        if (!names.insert(h.name).second) throw ProgramError(where + ": the name is used twice");
        const auto found = types.find(text(node, "header_type", where));
        if (found == types.end()) throw ProgramError(where + ": the header_type is unknown");
        h.metadata = flag(node, "metadata");
        type(h, *found->second, where);
        header_by_id_[number(node, "id", where)] = p_.headers.next();
        p_.headers.push_back(std::move(h));
    }
    groups();
    note_use(json_);
    slots();
}

void Loader::groups() {
    const auto members = [&]<typename T>(const Json& node, const char* key,
                                         const std::unordered_map<unsigned, Index<T>>& among,
                                         const std::string& where) {
        std::vector<Index<T>> out;
        for (const Json& id : list(node, key, where)) {
            const auto at = id.is_number_unsigned() ? among.find(id.get<unsigned>()) : among.end();
            if (at == among.end()) throw ProgramError(where + ": id " + id.dump() + " is unknown");
            out.push_back(at->second);
        }
        if (out.empty()) throw ProgramError(where + ": there are no elements");
        return out;
    };
    for (const Json& node : list_or_none(json_, "header_unions", "program")) {
        HeaderUnion u{text(node, "name", "header_unions"), {}};
        u.headers = members(node, "header_ids", header_by_id_, "union " + u.name);
        for (const Index<Header> h : u.headers) {
            if (p_.headers[h].metadata)
                throw ProgramError("union " + u.name + ": metadata cannot be a member");
            p_.headers[h].header_union = p_.unions.next();
            whole_.insert(p_.headers[h].name);
        }
        union_by_id_[number(node, "id", "union " + u.name)] = p_.unions.next();
        p_.unions.push_back(std::move(u));
    }
    for (const Json& node : list_or_none(json_, "header_stacks", "program")) {
        Stack s{text(node, "name", "header_stacks"), {}, {}, 0};
        s.headers = members(node, "header_ids", header_by_id_, "stack " + s.name);
        for (const Index<Header> h : s.headers) {
            const Header &element = p_.headers[h], &first = p_.headers[s.headers[0]];
            if (element.metadata) throw ProgramError("stack " + s.name + ": metadata cannot be an element");
            if (!same_type(element, first))
                throw ProgramError("stack " + s.name + ": the elements have different types");
            whole_.insert(element.name);
        }
        p_.stacks.push_back(std::move(s));
    }
    for (const Json& node : list_or_none(json_, "header_union_stacks", "program")) {
        Stack s{text(node, "name", "header_union_stacks"), {}, {}, 0};
        s.unions = members(node, "header_union_ids", union_by_id_, "stack " + s.name);
        const auto members_of = [&](Index<HeaderUnion> u) -> const std::vector<Index<Header>>& {
            return p_.unions[u].headers;
        };
        const auto same = [&](Index<Header> a, Index<Header> b) {
            return same_type(p_.headers[a], p_.headers[b]);
        };
        for (const Index<HeaderUnion> u : s.unions)
            if (!std::equal(members_of(u).begin(), members_of(u).end(), members_of(s.unions[0]).begin(),
                            members_of(s.unions[0]).end(), same))
                throw ProgramError("stack " + s.name + ": the elements have different types");
        p_.stacks.push_back(std::move(s));
    }
}

// Assign slots to fields. Metadata comes first, so that it can be cleared alone; all slots that are cleared
// for each frame are adjacent.
void Loader::slots() {
    for (const bool metadata : {true, false}) {
        for (Header& h : p_.headers) {
            if (h.metadata != metadata) continue;
            h.first = static_cast<Slot>(p_.image.size());
            for (Field& f : h.fields) {
                if (f.variable) {
                    f.slot = static_cast<Slot>(compile_.slots().allocate(1 + limbs(f.bits)) + 1);
                } else if (h.variable || h.name == "standard_metadata" || used(h.name, f.name)) {
                    f.slot = compile_.slots().allocate(limbs(f.bits));
                }
                if (f.is_signed && f.slot != kNoSlot)
                    h.signed_fields.emplace_back(static_cast<std::size_t>(&f - h.fields.data()));
            }
            h.slots = static_cast<unsigned>(p_.image.size()) - h.first;
            h.valid = compile_.slots().allocate(2);
        }
        if (metadata) p_.metadata_slots = p_.image.size();
    }
    for (Stack& s : p_.stacks) s.next = compile_.slots().allocate(1);
    standard();
    p_.cleared_slots = p_.image.size();
    compile_.names().index();
    for (const Stack& s : p_.stacks) {
        for (const Index<Header> h : s.headers) compile_.names().written(h);
        for (const Index<HeaderUnion> u : s.unions)
            for (const Index<Header> h : p_.unions[u].headers) compile_.names().written(h);
    }
    for (const std::string& name : whole_)
        if (const Index<Header> h = p_.headers.named(name)) compile_.names().written(h);
}

void Loader::standard() {
    StandardSlots& s = p_.standard;
    struct Wanted {
        const char* name;
        Slot* slot;
        unsigned bits;  // bits that the switch writes
    };
    const Wanted wanted[] = {{"ingress_port", &s.ingress_port, kPortBits},
                             {"egress_spec", &s.egress_spec, kPortBits},
                             {"egress_port", &s.egress_port, kPortBits},
                             {"packet_length", &s.packet_length, 32},
                             {"parser_error", &s.parser_error, 32},
                             {"priority", &s.priority, 3},
                             {"mcast_grp", &s.mcast_grp, 16},
                             {"egress_rid", &s.egress_rid, 16},
                             {"instance_type", &s.instance_type, 32},
                             {"checksum_error", &s.checksum_error, 1},
                             {"ingress_global_timestamp", &s.ingress_time, 48},
                             {"egress_global_timestamp", &s.egress_time, 48},
                             {"enq_timestamp", &s.enq_timestamp, 32},
                             {"enq_qdepth", &s.enq_qdepth, 19},
                             {"deq_timedelta", &s.deq_timedelta, 32},
                             {"deq_qdepth", &s.deq_qdepth, 19},
                             {"qid", &s.qid, 5}};
    for (const Header& h : p_.headers)
        if (h.name == "standard_metadata" && h.metadata)
            for (const Field& f : h.fields)
                for (const auto& [name, slot, bits] : wanted) {
                    if (f.name != name) continue;
                    if (f.bits < bits || f.bits > 64 || f.is_signed || f.variable)
                        throw ProgramError("header standard_metadata: field " + f.name +
                                           " is not v1model's bit<" + std::to_string(bits) + ">");
                    *slot = f.slot;
                }
    if (s.egress_spec == kNoSlot || s.egress_port == kNoSlot || s.ingress_port == kNoSlot)
        throw ProgramError("program: v1model's standard_metadata is missing");
    // The switch writes all these fields: give fields that the program lacks a slot, too.
    for (const auto& [name, slot, bits] : wanted)
        if (*slot == kNoSlot) *slot = compile_.slots().allocate(1);
    for (const char* name : {"enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth"})
        p_.reads_queue = p_.reads_queue || used("standard_metadata", name);
}

void Loader::errors() {
    for (const Json& e : list_or_none(json_, "errors", "program")) {
        if (!e.is_array() || e.size() != 2 || !e[1].is_number_unsigned())
            throw ProgramError("errors: " + e.dump() + " is no error");
        if (e[0] == "PacketTooShort") p_.error_too_short = e[1];
        if (e[0] == "StackOutOfBounds") p_.error_stack = e[1];
        if (e[0] == "HeaderTooShort") p_.error_header_short = e[1];
        if (e[0] == "ParserInvalidArgument") p_.error_argument = e[1];
    }
}

// Compute the parts of the fields of each header. No part crosses the end of a 64-bit word of the header or
// of a 64-bit limb of the field.
void Loader::lay_out() {
    for (std::size_t i = 0; i < p_.headers.size(); ++i) {
        Header& h = p_.headers[i];
        if (h.metadata || h.variable) continue;
        unsigned at = 0;  // bit offset in the header
        for (std::size_t k = 0; k < h.fields.size(); ++k) {
            const Field& f = h.fields[k];
            for (unsigned left = f.bits; left > 0;) {
                const unsigned limb = (left - 1) / 64, limb_bits = std::min(64u, f.bits - 64 * limb),
                               in_limb = left - 64 * limb;  // bits of this limb still to assign
                const unsigned word = at / 64, room = 64 - at % 64, n = std::min(in_limb, room);
                const int shift = static_cast<int>(room - n) - static_cast<int>(in_limb - n);
                const FieldPart part{static_cast<Slot>(f.slot + limb), static_cast<std::uint16_t>(word),
                                     static_cast<std::uint8_t>(shift & 63), in_limb != limb_bits,
                                     low_mask(n) << (room - n)};
                if (f.slot != kNoSlot) {
                    h.read.push_back(part);
                    if (compile_.names().is_written(Index<Header>(i), k)) h.written.push_back(part);
                }
                at += n;
                left -= n;
            }
        }
    }
}

}  // namespace railyard::load
