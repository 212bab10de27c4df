// SPDX-License-Identifier: Apache-2.0
// Names of a program's headers, stacks, unions and fields in the JSON.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "load/compile/json.h"
#include "load/program/program.h"

namespace railyard::load {

// Finds what a name in the JSON stands for, and notes which fields the program writes. `where` is the place
// in the JSON for the ProgramError of an unknown name.
class Names {
   public:
    explicit Names(const Program& program) : p_(program) {}

    // Read the names of the program's headers, stacks and unions.
    void index();
    [[nodiscard]] Index<Header> header(const Json& name, const std::string& where) const;
    [[nodiscard]] Index<Stack> stack(const Json& name, const std::string& where) const;
    [[nodiscard]] Index<Stack> stack_of_headers(const Json& name, const std::string& where) const;
    [[nodiscard]] Index<HeaderUnion> header_union(const Json& name, const std::string& where) const;
    [[nodiscard]] Index<Field> field(Index<Header> header, const Json& name, const std::string& where) const;
    [[nodiscard]] const Field& field(const Json& reference, const std::string& where) const;
    // Return true if an operand of the JSON is a header, not a value.
    [[nodiscard]] static bool is_header(const Json& operand);

    // Return the target of an assignment, and mark it as written.
    Field target_field(const Json& reference, const std::string& where);
    void written(Index<Header> header, const std::string& name);
    void written(Index<Header> header);
    [[nodiscard]] bool is_written(Index<Header> header, std::size_t field) const {
        return written_[header.at()][field];
    }

   private:
    const Program& p_;
    std::unordered_map<std::string, Index<Header>> headers_;
    std::unordered_map<std::string, Index<Stack>> stacks_;
    std::unordered_map<std::string, Index<HeaderUnion>> unions_;
    std::vector<std::unordered_map<std::string, Index<Field>>> fields_;  // by header
    std::vector<std::vector<bool>> written_;                             // by header and field
};

}  // namespace railyard::load
