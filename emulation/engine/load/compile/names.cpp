// SPDX-License-Identifier: Apache-2.0
#include "load/compile/names.h"

namespace railyard::load {

namespace {

template <typename Map>
auto find(const Map& map, const Json& name, const char* kind, const std::string& where) {
    const auto at = name.is_string() ? map.find(name.get<std::string>()) : map.end();
    if (at == map.end()) throw ProgramError(where + ": " + kind + " " + name.dump() + " is unknown");
    return at->second;
}

}  // namespace

void Names::index() {
    for (std::size_t i = 0; i < p_.headers.size(); ++i) {
        headers_[p_.headers[i].name] = Index<Header>(i);
        std::unordered_map<std::string, Index<Field>> fields;
        for (std::size_t f = 0; f < p_.headers[i].fields.size(); ++f)
            fields[p_.headers[i].fields[f].name] = Index<Field>(f);
        fields_.push_back(std::move(fields));
        written_.emplace_back(p_.headers[i].fields.size(), false);
    }
    for (std::size_t i = 0; i < p_.stacks.size(); ++i) stacks_[p_.stacks[i].name] = Index<Stack>(i);
    for (std::size_t i = 0; i < p_.unions.size(); ++i) unions_[p_.unions[i].name] = Index<HeaderUnion>(i);
}

Index<Header> Names::header(const Json& name, const std::string& where) const {
    return find(headers_, name, "header", where);
}
Index<Stack> Names::stack(const Json& name, const std::string& where) const {
    return find(stacks_, name, "header stack", where);
}
Index<Stack> Names::stack_of_headers(const Json& name, const std::string& where) const {
    const Index<Stack> s = stack(name, where);
    if (p_.stacks[s].of_unions()) throw ProgramError(where + ": " + name.dump() + " is a stack of unions");
    return s;
}

Index<HeaderUnion> Names::header_union(const Json& name, const std::string& where) const {
    return find(unions_, name, "header union", where);
}

Index<Field> Names::field(Index<Header> header, const Json& name, const std::string& where) const {
    return find(fields_[header.at()], name, "field", where + ", header " + p_.headers[header].name);
}

const Field& Names::field(const Json& reference, const std::string& where) const {
    if (!reference.is_array() || reference.size() != 2)
        throw ProgramError(where + ": " + reference.dump() + " names no field");
    const Index<Header> at = header(reference[0], where);
    const Header& h = p_.headers[at];
    static thread_local Field validity;
    if (reference[1] == "$valid$") {
        validity = Field{"$valid$", 1, h.valid};
        return validity;
    }
    return h.fields[field(at, reference[1], where)];
}

Field Names::target_field(const Json& reference, const std::string& where) {
    const Field f = field(reference, where);
    if (f.name == "$valid$" || f.variable)
        throw ProgramError(where + ": " + reference.dump() + " cannot be assigned to");
    written(header(reference[0], where), f.name);
    return f;
}

void Names::written(Index<Header> header, const std::string& name) {
    const auto& fields = fields_[header.at()];
    const auto at = fields.find(name);
    if (at != fields.end()) written_[header.at()][at->second.at()] = true;
}

void Names::written(Index<Header> header) {
    written_[header.at()].assign(written_[header.at()].size(), true);
}

bool Names::is_header(const Json& operand) {
    const Json& at = unwrap(operand, "expression");
    if (!at.is_object()) return false;
    const std::string kind = at.value("op", at.value("type", ""));
    return kind == "header" || kind == "header_union" || kind == "dereference_header_stack" ||
           kind == "access_union_header" || kind == "dereference_union_stack";
}

}  // namespace railyard::load
