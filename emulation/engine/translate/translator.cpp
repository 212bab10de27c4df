// SPDX-License-Identifier: Apache-2.0
// Translation of parser and deparser, and the generated file.
#include "translate/translator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "translate/text.h"

namespace railyard::translate {

namespace {

std::string v(std::size_t slot) { return "v[" + std::to_string(slot) + "]"; }

// Return true if the parser's states have no loop.
bool ends(const Program& p) {
    std::vector<unsigned> mark(p.states.size(), 0);  // 1: open, 2: done
    const auto visit = [&](const auto& self, Index<ParserState> at) -> bool {
        if (!at || mark[at.at()] == 2) return true;
        if (mark[at.at()] == 1) return false;
        mark[at.at()] = 1;
        const auto& transitions = p.states[at].transitions;
        const bool all = std::all_of(transitions.begin(), transitions.end(),
                                     [&](const Transition& t) { return self(self, t.next); });
        mark[at.at()] = 2;
        return all;
    };
    return visit(visit, p.first_state);
}

}  // namespace

void Translator::extract(const Header& h, std::string& out) const {
    const std::string bytes = std::to_string(h.bytes);
    out += "        if (lacks(frame, parsed, " + bytes +
           ")) {\n            error = " + number(p_.error_too_short) +
           ";\n            goto Done;\n        }\n";
    if (!h.read.empty()) {
        out += "        bytes = frame.data() + parsed;\n";
        std::size_t at = SIZE_MAX;
        for (const FieldPart& part : h.read) {
            if (part.word != at) {
                at = part.word;
                out += "        word = frames::load_word(bytes + " + std::to_string(8 * at) + ");\n";
            }
            out += "        " + v(part.slot) + (part.joins ? " |= " : " = ") +
                   rotated("word", part.mask, part.rotation) + ";\n";
        }
    }
    out += "        " + v(h.valid) + " = 1;\n        " + v(h.base()) + " = 1 + std::uint64_t{parsed};\n" +
           "        parsed += " + bytes + ";\n";
}

void Translator::transition(const ParserState& state, std::string& out) const {
    std::string key = "std::uint64_t{0}";
    bool first = true;
    for (const TransitionKey& k : state.key) {
        const std::string part = "(" + v(k.slot) + " & " + number(low_mask(k.bits)) + ")";
        key = first ? part : "(" + key + " << " + std::to_string(k.shift) + " | " + part + ")";
        first = false;
    }
    for (const Transition& t : state.transitions) {
        const std::string to = t.next ? "goto S" + std::to_string(t.next.at()) + ";\n" : "goto Done;\n";
        if (t.mask == 0) {
            out += "        " + to;
            return;
        }
        out += "        if ((" + key + " & " + number(t.mask) + ") == " + number(t.value) + ") " + to;
    }
    out += "        goto Done;\n";
}

std::string Translator::parser() const {
    const auto plain = [this](const ParserState& state) {
        return state.simple && std::all_of(state.ops.begin(), state.ops.end(), [this](const ParserOp& op) {
                   return op.kind == ParserOp::Kind::Extract && !p_.headers[op.header].header_union &&
                          p_.headers[op.header].signed_fields.empty();
               });
    };
    if (!p_.first_state || !ends(p_) || !std::all_of(p_.states.begin(), p_.states.end(), plain)) return {};
    std::string out =
        "        std::uint64_t* const v = slots(t);\n        std::uint32_t parsed = 0;\n"
        "        unsigned states = 0;\n        std::uint64_t error = 0, word = 0;\n"
        "        const std::uint8_t* bytes = nullptr;\n        goto S" +
        std::to_string(p_.first_state.at()) + ";\n";
    for (std::size_t at = 0; at < p_.states.size(); ++at) {
        const ParserState& state = p_.states[Index<ParserState>(at)];
        out += "    S" + std::to_string(at) + ":  // " + state.name + "\n        ++states;\n";
        for (const ParserOp& op : state.ops) extract(p_.headers[op.header], out);
        transition(state, out);
    }
    out += "    Done:\n        end_parse(t, parsed, states);\n";
    if (uses_.contains(p_.standard.parser_error))
        out += "        " + v(p_.standard.parser_error) + " = error & " + number(low_mask(32)) + ";\n";
    return out;
}

// Append statements that write changed fields into the header at `to`.
void Translator::overlay(const Header& h, std::string& out) const {
    for (auto part = h.written.begin(); part != h.written.end();) {
        const std::size_t at = part->word;
        const std::string word = "to + " + std::to_string(8 * at);
        std::uint64_t kept = ~std::uint64_t{0};
        std::string fields;
        for (; part != h.written.end() && part->word == at; ++part) {
            kept &= ~part->mask;
            fields +=
                " |\n                   " +
                rotated(v(part->slot), std::rotr(part->mask, part->rotation), (64 - part->rotation) % 64);
        }
        const std::string rest =
            kept == 0 ? "std::uint64_t{0}" : "(frames::load_word(" + word + ") & " + number(kept) + ")";
        out += "            frames::store_word(" + word + ", " + rest + fields + ");\n";
    }
}

std::string Translator::deparser() const {
    const bool plain = std::none_of(p_.deparser.begin(), p_.deparser.end(),
                                    [this](Index<Header> h) { return p_.headers[h].variable; });
    if (!plain || !p_.checksums.empty() || p_.deparser_code != kNowhere) return {};
    std::string out =
        "        const std::uint64_t* const v = slots(t);\n"
        "        unsigned bytes = 0;\n        bool in_place = true;\n";
    for (const Index<Header> number : p_.deparser) {
        const Header& h = p_.headers[number];
        out += "        if (" + v(h.valid) + " != 0) {  // " + h.name +
               "\n            in_place &= " + v(h.base()) +
               " == bytes + 1;\n            bytes += " + std::to_string(h.bytes) + ";\n        }\n";
    }
    // If all headers keep their positions, write only changed fields, in place.
    out += "        if (in_place && bytes == parsed(t)) {\n        std::uint8_t* to = frame.data();\n";
    for (const Index<Header> number : p_.deparser) {
        const Header& h = p_.headers[number];
        out += "        if (" + v(h.valid) + " != 0) {\n";
        overlay(h, out);
        out += "            to += " + std::to_string(h.bytes) + ";\n        }\n";
    }
    out +=
        "        return;\n        }\n        std::uint8_t* to = make_room(t, frame, bytes);\n"
        "        const std::uint8_t* const from = headers(t);\n";
    for (const Index<Header> number : p_.deparser) {
        const Header& h = p_.headers[number];
        const std::string size = std::to_string(h.bytes);
        out += "        if (" + v(h.valid) + " != 0) {\n            copy_header<" + size + ">(to, from, " +
               v(h.base()) + ");\n";
        overlay(h, out);
        out += "            to += " + size + ";\n        }\n";
    }
    return out;
}

std::string Translator::file(std::uint64_t fingerprint) {
    // Give each program its own namespace, since the build compiles all of them together.
    const std::string name_space = "railyard::switching::program_" + std::to_string(fingerprint);
    std::string out = "// Written by the engine's build, from the compiled program " + p_.name +
                      ".\n#include \"switch/stages/translated.h\"\n\nnamespace " + name_space +
                      " {\n\nnamespace {\n\nstruct Translated : TranslatedProgram {\n";
    std::string pointers;
    bool whole = !p_.reads_queue && !p_.verifies;
    const auto function = [&](const char* name, const std::string& body, bool of_frame) {
        whole = whole && !body.empty();
        pointers += body.empty() ? ", nullptr" : std::string(", &Translated::") + name;
        if (body.empty()) return;
        out += std::string("    [[gnu::always_inline]] static void ") + name + "(FrameState& t" +
               (of_frame ? ", Frame& frame" : "") + ") {\n" + body + "    }\n";
    };
    function("parse", parser(), true);
    function("ingress", pipeline(p_.ingress), false);
    function("egress", pipeline(p_.egress), false);
    function("deparse", deparser(), true);
    if (whole) {
        const load::StandardSlots& s = p_.standard;
        const std::pair<const char*, Slot> slots[] = {
            {"ingress_port", s.ingress_port},   {"egress_spec", s.egress_spec},
            {"egress_port", s.egress_port},     {"packet_length", s.packet_length},
            {"priority", s.priority},           {"mcast_grp", s.mcast_grp},
            {"instance_type", s.instance_type}, {"ingress_time", s.ingress_time},
            {"egress_time", s.egress_time},     {"qid", s.qid}};
        out += "    static constexpr StandardSlots kStandard = [] {\n        StandardSlots s;\n";
        for (const auto& [field, slot] : slots)
            if (uses_.contains(slot) || slot == s.egress_spec || slot == s.mcast_grp || slot == s.priority)
                out += std::string("        s.") + field + " = " + std::to_string(slot) + ";\n";
        out +=
            "        return s;\n    }();\n"
            "    static load::PassEnd pass(FrameState& t, Frame& frame, Port ingress_port, Time now) {\n"
            "        return run<Translated>(t, frame, ingress_port, now);\n    }\n";
    }
    return out + "};\n\nconst load::TranslationEntry kEntry(" + number(fingerprint) + ", load::Translation{" +
           (whole ? "&Translated::pass" : "nullptr") + pointers +
           "});\n\n}  // namespace\n\n}  // namespace " + name_space + "\n";
}

}  // namespace railyard::translate
