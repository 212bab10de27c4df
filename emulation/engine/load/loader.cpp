// SPDX-License-Identifier: Apache-2.0
#include "load/loader.h"

#include <algorithm>

namespace railyard::load {

void Loader::load() {
    p_.name = json_.value("program", std::string());
    if (!list_or_none(json_, "extern_instances", "program").empty())
        throw ProgramError("program: extern objects are for other architectures; compile for v1model");
    // Instructions hold indices of 16 bits.
    for (const char* many :
         {"counter_arrays", "register_arrays", "meter_arrays", "calculations", "header_unions"})
        if (const std::size_t count = list_or_none(json_, many, "program").size(); count >= kNoSlot)
            throw ProgramError("program: " + std::to_string(count) + " " + many + "; the engine takes " +
                               std::to_string(kNoSlot - 1));
    headers();
    errors();
    arrays();
    calculations();
    field_lists();
    actions();
    checksums();
    parser();
    for (const Json& node : list(json_, "pipelines", "program")) profiles(node);
    p_.ingress = p_.egress = compile_.append({}, Op::End);
    std::unordered_set<std::string> names;
    for (const Json& node : list(json_, "pipelines", "program")) {
        const std::string name = text(node, "name", "pipelines");
        if (!names.insert(name).second)
            throw ProgramError("pipelines: two pipelines are named '" + name + "'");
        if (name == "ingress") pipeline(node, p_.ingress);
        else if (name == "egress") pipeline(node, p_.egress);
        else throw ProgramError("pipelines: '" + name + "' is neither ingress nor egress");
    }
    bind_direct();
    deparser();
    lay_out();
    order_tables();
    p_.constants.resize(p_.image.size(), false);
}

// Give the tables positions in the order of their lookups; the others follow.
void Loader::order_tables() {
    std::vector<bool> placed(p_.tables.size());
    std::uint16_t next = 0;
    for (Instruction& i : p_.code) {
        if (i.op != Op::Apply) continue;
        TableSpec& spec = p_.tables[Index<TableSpec>(i.a)];
        if (!placed[i.a]) spec.position = next++;
        placed[i.a] = true;
        i.b = spec.position;
    }
    p_.looked_up = next;
    for (std::size_t at = 0; at < placed.size(); ++at)
        if (!placed[at]) p_.tables[Index<TableSpec>(at)].position = next++;
}

std::shared_ptr<const Program> Program::load(const std::string& bmv2_json, bool traced) {
    auto program = std::make_shared<Program>();
    program->traced = traced;
    try {
        const Json json = parse_json(bmv2_json);
        Loader(*program, json).load();
    } catch (const Json::exception& e) {
        // The message quotes the input, which may not be ASCII or UTF-8.
        std::string reason = e.what();
        std::replace_if(
            reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) > 126; }, '?');
        throw ProgramError("program: it is not the JSON of a BMv2 program: " + reason);
    }
    const Translation* const translation = find_translation(fingerprint(bmv2_json));
    if (translation != nullptr && !traced) program->translation = *translation;
    return program;
}

}  // namespace railyard::load
