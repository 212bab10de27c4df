// SPDX-License-Identifier: Apache-2.0
// Loading of arrays, calculations, checksums and field lists (of digests and of copies).
#include <algorithm>

#include "load/loader.h"
#include "tables/meter.h"

namespace railyard::load {

namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 30;

}  // namespace

void Loader::arrays() {
    const auto common = [](const Json& node, ArraySpec& a, const char* kind) {
        a.name = text(node, "name", kind);
        a.size =
            flag(node, "is_direct") ? 0 : number(node, "size", std::string(kind) + " " + a.name, 1u << 24);
    };
    for (const Json& node : list_or_none(json_, "counter_arrays", "program"))
        common(node, p_.counters.emplace_back(), "counter_arrays");
    for (const Json& node : list_or_none(json_, "register_arrays", "program")) {
        ArraySpec& a = p_.registers.emplace_back();
        common(node, a, "register_arrays");
        a.bits = number(node, "bitwidth", "register " + a.name, 2048);
        if (a.bits == 0) throw ProgramError("register " + a.name + ": a cell has 0 bits");
    }
    for (const Json& node : list_or_none(json_, "meter_arrays", "program")) {
        MeterSpec& m = p_.meters.emplace_back();
        common(node, m, "meter_arrays");
        const std::string type = text(node, "type", "meter " + m.name);
        if (type != "bytes" && type != "packets")
            throw ProgramError("meter " + m.name + ": it counts '" + type + "', neither bytes nor packets");
        m.bytes = type == "bytes";
        if (number(node, "rate_count", "meter " + m.name) != 2)
            throw ProgramError("meter " + m.name + ": two rates are supported");
        if (flag(node, "is_direct") && node.contains("result_target") && !node["result_target"].is_null()) {
            const Field f = compile_.names().target_field(node["result_target"], "meter " + m.name);
            m.target = f.slot;
            m.target_bits = f.bits;
        }
    }
    std::uint64_t bytes = 0;
    for (const ArraySpec& a : p_.counters) bytes += 2 * sizeof(std::uint64_t) * a.size;
    for (const ArraySpec& a : p_.registers) bytes += sizeof(std::uint64_t) * limbs(a.bits) * a.size;
    for (const MeterSpec& m : p_.meters) bytes += sizeof(tables::Meter) * m.size;
    if (bytes > kMostBytes)
        throw ProgramError("program: its counters, registers and meters would take " + std::to_string(bytes) +
                           " bytes of every switch; the engine gives " + std::to_string(kMostBytes));
}

void Loader::bind_direct() {
    const auto bound = [&](const Json& node, const std::string& where) {
        const std::string name = text(node, "binding", where);
        if (const Index<TableSpec> at = p_.tables.named(name)) return at;
        throw ProgramError(where + ": table '" + name + "' is unknown");
    };
    std::size_t i = 0;
    for (const Json& node : list_or_none(json_, "counter_arrays", "program")) {
        ArraySpec& a = p_.counters[i++];
        if (!flag(node, "is_direct")) continue;
        a.table = bound(node, "counter " + a.name);
        p_.tables[a.table].counted = true;
    }
    i = 0;
    for (const Json& node : list_or_none(json_, "meter_arrays", "program")) {
        MeterSpec& m = p_.meters[i++];
        if (!flag(node, "is_direct")) continue;
        m.table = bound(node, "meter " + m.name);
        p_.tables[m.table].meter = Index<MeterSpec>(i - 1);
    }
}

Piece Loader::piece(const Json& node, const std::string& where) {
    const std::string type = text(node, "type", where);
    const Json& value = member(node, "value", where);
    Piece out{};
    if (type == "field") {
        const Field f = compile_.names().field(value, where);
        out.kind = Piece::Kind::Field;
        out.slot = f.slot;
        out.bits = f.bits;
        out.variable = f.variable;
        const Header& h = p_.headers[compile_.names().header(value[0], where)];
        if (!h.metadata) out.valid = h.valid;
    } else if (type == "hexstr") {
        out.kind = Piece::Kind::Constant;
        out.bits = node.contains("bitwidth")
                       ? number(node, "bitwidth", where, 2048)
                       : static_cast<unsigned>(4 * (text(node, "value", where).size() - 2));
        if (out.bits == 0) throw ProgramError(where + ": a constant has 0 bits");
        out.slot = compile_.wide_constant(hex_limbs(value, std::max(64u, out.bits), where), out.bits).slot;
    } else if (type == "header") {
        out.kind = Piece::Kind::Header;
        out.header = compile_.names().header(value, where);
        const Header& h = p_.headers[out.header];
        if (h.metadata) throw ProgramError(where + ": metadata cannot be hashed as a header");
        out.valid = h.valid;
    } else {
        throw ProgramError(where + ": input of type '" + type + "' is not supported");
    }
    return out;
}

void Loader::calculations() {
    for (const Json& node : list_or_none(json_, "calculations", "program")) {
        Calculation c{text(node, "name", "calculations"), {}, {}, false};
        const std::string where = "calculation " + c.name, algorithm = text(node, "algo", where);
        const auto known = switching::hash_algorithm(algorithm);
        if (!known) throw ProgramError(where + ": algorithm '" + algorithm + "' is not supported");
        c.algorithm = *known;
        for (const Json& i : list(node, "input", where)) {
            if (text(i, "type", where) == "payload") c.payload = true;
            else c.input.push_back(piece(i, where));
        }
        p_.calculations.push_back(std::move(c));
    }
}

Code Loader::condition(const Json& node, Slot& result, const std::string& where) {
    Code code;
    compile_.slots().free_temporaries();
    result = compile_.expression(node, nullptr, code, where).slot;
    return code;
}

void Loader::checksums() {
    for (const Json& node : list_or_none(json_, "checksums", "program")) {
        Checksum c;
        const std::string where = "checksum " + text(node, "name", "checksums"),
                          wanted = text(node, "calculation", where);
        const Json& target = member(node, "target", where);
        const Field f = compile_.names().field(target, where);
        if (f.bits > 64 || f.variable || f.name == "$valid$")
            throw ProgramError(where + ": a checksum cannot have " + std::to_string(f.bits) + " bits");
        const Index<Header> h = compile_.names().header(target[0], where);
        c.header_valid = p_.headers[h].metadata ? kNoSlot : p_.headers[h].valid;
        c.target = f.slot;
        c.bits = f.bits;
        c.calculation = p_.calculations.named(wanted);
        if (!c.calculation) throw ProgramError(where + ": calculation '" + wanted + "' is unknown");
        c.verify = flag(node, "verify");
        c.update = flag(node, "update");
        if (node.contains("if_cond") && !node["if_cond"].is_null())
            c.condition = compile_.append(condition(node["if_cond"], c.result, where), Op::End);
        if (c.update) compile_.names().written(h, f.name);
        p_.verifies = p_.verifies || c.verify;
        p_.checksums.push_back(c);
    }
}

void Loader::field_lists() {
    const auto read = [&](const char* key, List<FieldList>& out) {
        for (const Json& node : list_or_none(json_, key, "program")) {
            FieldList l;
            const std::string where = std::string(key) + " " + node.value("name", std::string("?"));
            l.id = static_cast<int>(number(node, "id", where));
            l.name = node.value("name", std::string());
            for (const Json& e : list(node, "elements", where)) l.fields.push_back(piece(e, where));
            out.push_back(std::move(l));
        }
    };
    read("learn_lists", p_.digests);
    read("field_lists", p_.field_lists);
}

}  // namespace railyard::load
