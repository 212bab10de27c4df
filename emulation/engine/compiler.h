// SPDX-License-Identifier: Apache-2.0
// Turns the JSON's expressions and primitives into instructions over slots.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "program.h"

namespace railyard {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key, const std::string& where);
std::string text(const Json& object, const char* key, const std::string& where);
unsigned number(const Json& object, const char* key, const std::string& where, unsigned limit = 1u << 30);
const Json& list(const Json& object, const char* key, const std::string& where);
std::vector<std::uint64_t> hex_limbs(const Json& value, unsigned bits, const std::string& where);

// Where a value is and how wide it is.
struct Operand {
    Slot slot;
    unsigned bits;
    bool constant = false;
    std::uint64_t value = 0;
};

class Compiler {
   public:
    explicit Compiler(Program& program) : program_(program) {}

    Slot new_slots(unsigned count, std::uint64_t initial = 0);
    Slot constant(std::uint64_t value);
    Operand wide_constant(const Json& value, unsigned bits, const std::string& where);
    Slot parameter_slot(unsigned limb);

    void index_headers();
    int header(const Json& name, const std::string& where) const;
    const Field& field(const Json& reference, const std::string& where) const;

    // `action` gives meaning to runtime data; null outside an action.
    Operand expression(const Json& node, const Action* action, Code& code, const std::string& where);
    void assign(const Field& target, const Json& source, const Action* action, Code& code, const std::string& where);
    void primitive(const Json& call, const Action& action, Code& code, const std::string& where);
    void start_code() { temporaries_ = 0; }

   private:
    Slot temporary();
    Operand operation(const Json& node, const Action* action, Code& code, const std::string& where);
    Operand binary(const std::string& op, Operand left, Operand right, Code& code, const std::string& where);
    Operand single(const Json& node, const Action* action, Code& code, const std::string& where);
    int array(const std::vector<ArraySpec>& arrays, const Json& node, const std::string& where) const;

    Program& program_;
    std::unordered_map<std::string, int> header_by_name_;
    std::vector<std::unordered_map<std::string, Field>> fields_;
    std::map<std::uint64_t, Slot> constants_;
    std::vector<Slot> temporary_slots_;
    std::vector<Slot> parameter_slots_;
    std::size_t temporaries_ = 0;
};

}  // namespace railyard
