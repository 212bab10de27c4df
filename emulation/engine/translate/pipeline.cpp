// SPDX-License-Identifier: Apache-2.0
// Translation of pipelines: each instruction becomes a statement, each table a block.
#include <algorithm>
#include <array>

#include "translate/text.h"
#include "translate/translator.h"

namespace railyard::translate {

std::string Translator::slot(std::size_t slot) const {
    if (!local_[slot]) return "v[" + std::to_string(slot) + "]";
    return slot < p_.first_temporary ? "m" + std::to_string(slot)
                                     : "x" + std::to_string(slot - p_.first_temporary);
}

std::string Translator::value(Slot of) const { return p_.constants[of] ? number(p_.image[of]) : slot(of); }

// Return the addresses at which execution may continue after a table.
std::vector<Place> Translator::following(const TableSpec& spec) const {
    std::vector<Place> out = spec.next_by_action;
    if (spec.by_hit) out = {spec.next_hit, spec.next_miss};
    out.push_back(spec.next_default);
    return out;
}

// Add all addresses from `first` up to `end` that execution can reach from `from` to `places`, and the
// targets of jumps and tables to `targets`.
void Translator::visit(Place from, Place first, Place end, std::set<Place>& places,
                       std::set<Place>& targets) const {
    std::vector<Place> open{from};
    const auto go = [&](Place to) {
        targets.insert(to);
        open.push_back(to);
    };
    while (!open.empty()) {
        const Place at = open.back();
        open.pop_back();
        if (at < first || at >= end || !places.insert(at).second) continue;
        const Instruction& i = p_.code[at];
        if (jumps(i.op)) go(static_cast<Place>(i.mask));
        if (i.op == Op::Apply)
            for (const Place next : following(p_.tables[Index<TableSpec>(i.a)])) go(next);
        const bool ends = i.op == Op::Jump || i.op == Op::JumpBack || i.op == Op::Apply ||
                          i.op == Op::Return || i.op == Op::Exit || i.op == Op::End;
        if (!ends) open.push_back(at + 1);
        // `places` is sorted and has every successor, so the next statement that run() writes is the one to
        // which an instruction falls through.
    }
}

// Return all code that runs from `start` on, with the actions of its tables.
std::set<Place> Translator::reachable(Place start) const {
    std::set<Place> places, targets;
    const auto size = static_cast<Place>(p_.code.size());
    visit(start, 0, size, places, targets);
    for (const Place place : std::set<Place>(places)) {
        if (p_.code[place].op != Op::Apply) continue;
        for (const Index<Action> action : p_.tables[Index<TableSpec>(p_.code[place].a)].actions)
            if (const Place code = p_.actions[action].code; code != kNowhere)
                visit(code, 0, size, places, targets);
    }
    return places;
}

// Return the slots that a pipeline keeps in local variables: temporaries, parameters of actions, and metadata
// of this pipeline alone. The switch and the other parts of the program do not access them.
std::vector<bool> Translator::locals(Place start) const {
    const std::set<Place> own = reachable(start);
    std::vector<Place> starts = {start == p_.ingress ? p_.egress : p_.ingress, p_.deparser_code};
    for (const ParserState& state : p_.states)
        for (const ParserOp& op : state.ops) starts.push_back(op.code);
    for (const load::Checksum& checksum : p_.checksums) starts.push_back(checksum.condition);
    Uses used(p_), shared(p_), elsewhere(p_);
    used.add_code(own);
    shared.add_shared(own);
    shared.add_lists();
    for (const Place other : starts)
        if (other != kNowhere) elsewhere.add_code(reachable(other));
    for (const Header& h : p_.headers)
        if (h.name == "standard_metadata") elsewhere.add(h.first, h.slots);
    std::vector<bool> local(p_.image.size(), false);
    const std::size_t end = p_.first_temporary + std::size_t{kTemporaries};
    for (std::size_t slot = 0; slot < end; ++slot) {
        const bool metadata = slot < p_.metadata_slots && !elsewhere.contains(slot);
        // Temporaries and parameters have no value before the pipeline writes them.
        local[slot] = (metadata || slot >= p_.cleared_slots) && used.contains(slot) && !shared.contains(slot);
    }
    return local;
}

std::string Translator::pipeline(Place start) {
    local_ = locals(start);
    std::string out = "        std::uint64_t* const v = slots(t);\n";
    for (std::size_t at = 0; at < local_.size(); ++at)
        if (local_[at]) out += "        std::uint64_t " + slot(at) + " = 0;\n";
    std::set<Place> places, targets{start};
    visit(start, 0, static_cast<Place>(p_.code.size()), places, targets);
    if (*places.begin() != start) out += "        goto L" + std::to_string(start) + ";\n";
    run(places, targets, "L", "", out);
    return out;
}

// Append the statements of the instructions at `places`. `prefix`: of their labels. `after`: label to which
// an action's code returns.
void Translator::run(const std::set<Place>& places, const std::set<Place>& targets, const std::string& prefix,
                     const std::string& after, std::string& out) {
    for (const Place place : places) {
        if (targets.contains(place)) out += "    " + prefix + std::to_string(place) + ":\n";
        instruction(place, prefix, after, out);
    }
}

void Translator::instruction(Place place, const std::string& prefix, const std::string& after,
                             std::string& out) {
    const Instruction& i = p_.code[place];
    const std::string a = value(i.a), b = value(i.b), to = "goto " + prefix + std::to_string(i.mask) + ";";
    const auto assign = [&](const std::string& expression) {
        const std::string mask = i.mask == ~0ULL ? "" : " & " + number(i.mask);
        out += "        " + slot(i.dst) + " = (" + expression + ")" + mask + ";\n";
    };
    const auto binary = [&](const char* sign) { assign(a + " " + sign + " " + b); };
    const auto truth = [&](const std::string& test) { assign("std::uint64_t{" + test + "}"); };
    const auto say = [&](const std::string& statement) { out += "        " + statement + "\n"; };
    const auto jump_if = [&](const std::string& test) { say("if (" + test + ") " + to); };
    switch (i.op) {
        case Op::Add: return binary("+");
        case Op::Sub: return binary("-");
        case Op::Mul: return binary("*");
        case Op::And: return binary("&");
        case Op::Or: return binary("|");
        case Op::Xor: return binary("^");
        case Op::ShlBy: return assign(a + " << " + std::to_string(i.b));
        case Op::ShrBy: return assign(a + " >> " + std::to_string(i.b));
        case Op::Shl: return assign(b + " > 63 ? 0 : " + a + " << " + b);
        case Op::Shr: return assign(b + " > 63 ? 0 : " + a + " >> " + b);
        case Op::Sar: return assign("shift_signed(" + a + ", " + b + ")");
        case Op::Eq: return truth(a + " == " + b);
        case Op::Ne: return truth(a + " != " + b);
        case Op::Lt: return truth(a + " < " + b);
        case Op::Le: return truth(a + " <= " + b);
        case Op::LtS: return truth("less_signed(" + a + ", " + b + ")");
        case Op::LeS: return truth("!less_signed(" + b + ", " + a + ")");
        case Op::LogicalAnd: return truth(a + " != 0 && " + b + " != 0");
        case Op::LogicalOr: return truth(a + " != 0 || " + b + " != 0");
        case Op::Move: return assign(a);
        case Op::Not: return assign("~" + a);
        case Op::LogicalNot: return truth(a + " == 0");
        case Op::Count: return say("count(t, " + std::to_string(i.a) + ", " + b + ");");
        case Op::Apply: return apply(p_.tables[Index<TableSpec>(i.a)], i.a, out);
        case Op::JumpBack: say("use_rounds(t, 1);"); return say(to);
        case Op::Jump: return say(to);
        case Op::JumpIf: return jump_if(a + " != 0");
        case Op::JumpUnless: return jump_if(a + " == 0");
        case Op::JumpEqual: return jump_if(a + " == " + b);
        case Op::JumpUnequal: return jump_if(a + " != " + b);
        case Op::JumpLess: return jump_if(a + " < " + b);
        case Op::JumpNotLess: return jump_if(a + " >= " + b);
        case Op::Return: return say("goto " + after + ";");
        case Op::Exit:
        case Op::End: return say("return;");
        case Op::MarkToDrop: return say("drop(" + slot(i.dst) + ", " + slot(i.a) + ");");
        default: break;
    }
    const auto h = i.n == 0 && i.a < p_.headers.size() ? &p_.headers[Index<Header>(i.a)] : nullptr;
    if (i.op == Op::AddHeader && h != nullptr && !h->header_union)
        return say("add_header(t, v + " + std::to_string(h->valid) + ", v + " + std::to_string(h->first) +
                   ", " + std::to_string(h->slots) + ", " + std::to_string(h->bytes) + ");");
    if (i.op == Op::RemoveHeader && h != nullptr && !h->variable)
        return say("remove_header(t, v + " + std::to_string(h->valid) + ", " + std::to_string(h->bytes) +
                   ");");
    say("operate(t, " + std::to_string(place) + ");");
}

// Append the statements of an action: copies of the entry's parameters to their targets, then its code.
void Translator::action(const Action& action, const std::string& prefix, std::string& out) {
    for (std::size_t limb = 0; limb < action.targets.size(); ++limb)
        out +=
            "        " + slot(action.targets[limb]) + " = result.parameters[" + std::to_string(limb) + "];\n";
    if (action.code == kNowhere) return;
    std::set<Place> places, targets;
    visit(action.code, 0, static_cast<Place>(p_.code.size()), places, targets);
    run(places, targets, prefix, prefix + "done", out);
    out += "    " + prefix + "done:\n";
}

void Translator::apply(const TableSpec& spec, std::size_t table, std::string& out) {
    std::string key;
    for (const Key& k : spec.keys) {
        const std::string limb =
            "(" + slot(k.slot) + " & " + number(k.mask.empty() ? low_mask(k.bits) : k.mask[0]) + ")";
        key = key.empty() ? limb : "(" + key + " << " + std::to_string(k.bits) + " | " + limb + ")";
    }
    const std::string position = std::to_string(spec.position);
    const WordKey word(spec);
    out += "    {  // table " + spec.name + "\n        const tables::Selection result = " +
           (word.exact    ? "look_up_word(t, " + position + ", " + key
            : word.prefix ? "look_up_prefix(t, " + position + ", " + key
                          : "look_up(t, " + std::to_string(table) + ", " + position) +
           ");\n";
    out += "        switch (result.action) {\n";
    for (std::size_t k = 0; k < spec.actions.size(); ++k) {
        const Action& a = p_.actions[spec.actions[k]];
        out += "        case " + std::to_string(k) + ":  // " + a.name + "\n";
        action(a, "T" + std::to_string(table) + "_" + std::to_string(k) + "_", out);
        out += spec.by_hit ? "        break;\n"
                           : "        goto L" + std::to_string(spec.next_by_action[k]) + ";\n";
    }
    out += "        default: break;\n        }\n";
    if (spec.by_hit)
        out += "        if (result.hit) goto L" + std::to_string(spec.next_hit) + ";\n        goto L" +
               std::to_string(spec.next_miss) + ";\n    }\n";
    else out += "        goto L" + std::to_string(spec.next_default) + ";\n    }\n";
}

}  // namespace railyard::translate
