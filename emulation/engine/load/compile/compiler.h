// SPDX-License-Identifier: Apache-2.0
// Compiler of the JSON's expressions and primitives into instructions over slots.
#pragma once

#include <string>
#include <vector>

#include "load/compile/json.h"
#include "load/compile/names.h"
#include "load/compile/slots.h"
#include "load/program/program.h"

namespace railyard::load {

// Location of a value: an unbounded integer in n limbs, zero-extended, or sign-extended if it may be
// negative. A raw value is correct only modulo 2^(64 n); its consumer masks it.
struct Operand {
    Slot slot = 0;
    unsigned bits = 64;  // enough bits for the value, with its sign
    unsigned n = 1;
    bool negative = false, raw = false;  // negative: it may be negative
    bool constant = false;
    std::uint64_t value = 0;  // constant: its lowest limb
};

// Reference to a header or union: `layout` itself, or if `dynamic`, an instance of the type of `layout` whose
// index is in `slot` at run time.
template <typename T>
struct Reference {
    bool dynamic = false;
    Slot slot = 0;
    Index<T> layout;

    // Return the operand for an instruction: the slot or the index.
    [[nodiscard]] Slot operand() const { return dynamic ? slot : static_cast<Slot>(layout.at()); }
};
using HeaderRef = Reference<Header>;
using UnionRef = Reference<HeaderUnion>;

class Compiler {
   public:
    explicit Compiler(Program& program) : p_(program), names_(program), slots_(program) {}

    [[nodiscard]] Names& names() { return names_; }
    [[nodiscard]] const Names& names() const { return names_; }
    [[nodiscard]] Slots& slots() { return slots_; }
    [[nodiscard]] const Slots& slots() const { return slots_; }
    Operand wide_constant(const std::vector<std::uint64_t>& value, unsigned bits);

    // Append the code of an expression; return its value. action: owner of the runtime data; null outside of
    // an action. demand: number of low bits that the consumer uses; 0: all.
    Operand expression(const Json& node, const Action* action, Code& code, const std::string& where,
                       unsigned demand = 0);
    void assign(const Json& target, const Json& source, const Action* action, Code& code,
                const std::string& where);
    void store(const Field& target, Operand value, Code& code);
    void branch(const Json& node, bool wanted, Code& code, std::vector<std::size_t>& taken,
                const std::string& where);
    void primitive(const Json& call, const Action& action, Code& code, const std::string& where);
    Code sequence(const Json& calls, const Action& action,
                  const std::string& where);  // jump targets are relative to its start
    // Optimise code and append it to the program's code, with `end` as the last instruction; return its
    // address. The caller fills in jumps to kNowhere. End: the code may leave results in temporaries. Jump:
    // no last instruction, since the caller appends the successor.
    Place append(Code code, Op end);
    // Register a note of a traced program, with its source position, and return its instruction.
    Instruction note(Note note, const Json& node);

   private:
    void shorten(Code& code, bool results) const;  // optimise.cpp
    [[nodiscard]] bool fresh(const Operand& operand, const Code& code) const;
    Slot widen(const Operand& operand, unsigned n, Code& code);
    Operand constant_operand(const Json& value, const std::string& where);
    Operand operation(const Json& node, const Action* action, Code& code, const std::string& where,
                      unsigned demand);
    Operand arithmetic(Op op, Operand left, Operand right, Code& code, unsigned demand);
    Operand shift(bool left, Operand value, Operand by, Code& code, unsigned demand);
    Operand compare(const std::string& op, Operand left, Operand right, Code& code);
    Operand unary(const std::string& op, Operand value, Code& code, unsigned demand);
    Operand cast(const std::string& op, const Json& node, const Action* action, Code& code,
                 const std::string& where);
    Operand truth(const Json& node, const Action* action, Code& code, const std::string& where);
    Operand load(const HeaderRef& from, Index<Field> index, Code& code);
    Slot single(const Json& node, const Action* action, Code& code, const std::string& where);
    HeaderRef header_ref(const Json& node, const Action* action, Code& code, const std::string& where);
    UnionRef union_ref(const Json& node, const Action* action, Code& code, const std::string& where);
    Operand equal_headers(const Json& node, const Action* action, Code& code, const std::string& where);
    void assign_variable(const Json& target, const Json& source, Code& code, const std::string& where);
    bool header_primitive(const std::string& op, const Json& arguments, const Action& action, Code& code,
                          const std::string& where);
    bool extern_primitive(const std::string& op, const Json& arguments, const Action& action, Code& code,
                          const std::string& where);
    void mark_to_drop(const Json& arguments, Code& code, const std::string& where);
    void log_message(const Json& arguments, const Action& action, Code& code, const std::string& where);
    void note_statement(const Json& call, Code& code, const std::string& where);

    Program& p_;
    Names names_;
    Slots slots_;
};

}  // namespace railyard::load
