// SPDX-License-Identifier: Apache-2.0
// Translator of a loaded program to C++, which the build compiles with the engine. The generated functions
// behave as the interpreter does with the program; tests compare them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "load/program/program.h"
#include "translate/uses.h"

namespace railyard::translate {

using load::Action, load::FieldPart, load::Header, load::Instruction, load::Key, load::MatchKind, load::Op,
    load::ParserOp, load::ParserState, load::Place, load::Program, load::Slot, load::TableSpec,
    load::Transition, load::TransitionKey;
using load::jumps, load::kMaxKeyLimbs, load::kNoSlot, load::kNowhere, load::kTemporaries, load::low_mask,
    load::of_one_limb;

class Translator {
   public:
    explicit Translator(const Program& program) : p_(program), uses_(Uses::all(program)) {}

    // Return the text of a C++ file that registers the translation under `fingerprint`.
    std::string file(std::uint64_t fingerprint);

   private:
    // translator.cpp. Return a function's body; empty if the program needs the interpreter for it.
    [[nodiscard]] std::string parser() const;
    [[nodiscard]] std::string deparser() const;
    void extract(const Header& header, std::string& out) const;
    void transition(const ParserState& state, std::string& out) const;
    void overlay(const Header& header, std::string& out) const;

    // pipeline.cpp
    std::string pipeline(Place start);
    void visit(Place from, Place first, Place end, std::set<Place>& places, std::set<Place>& targets) const;
    [[nodiscard]] std::set<Place> reachable(Place start) const;
    [[nodiscard]] std::vector<bool> locals(Place start) const;
    void run(const std::set<Place>& places, const std::set<Place>& targets, const std::string& prefix,
             const std::string& after, std::string& out);
    void instruction(Place place, const std::string& prefix, const std::string& after, std::string& out);
    void apply(const TableSpec& spec, std::size_t table, std::string& out);
    void action(const Action& action, const std::string& prefix, std::string& out);
    [[nodiscard]] std::vector<Place> following(const TableSpec& spec) const;
    [[nodiscard]] std::string value(Slot of) const;
    [[nodiscard]] std::string slot(std::size_t slot) const;

    const Program& p_;
    Uses uses_;                // slots that the program accesses
    std::vector<bool> local_;  // by slot: true for a local variable of the pipeline's function
};

}  // namespace railyard::translate
