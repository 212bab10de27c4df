// SPDX-License-Identifier: Apache-2.0
// Slots that the parts of a program access.
#pragma once

#include <set>
#include <vector>

#include "load/program/program.h"

namespace railyard::translate {

// Tells whether a translated program looks up a table by a key of one word, which it builds itself.
struct WordKey {
    explicit WordKey(const load::TableSpec& spec);

    bool exact = false, prefix = false;
};

// Set of slots.
class Uses {
   public:
    explicit Uses(const load::Program& program) : p_(program), used_(program.image.size(), false) {}
    // Return all slots that the program accesses, except in headers.
    static Uses all(const load::Program& program);

    [[nodiscard]] bool contains(std::size_t slot) const { return used_[slot]; }
    void add(std::size_t slot, std::size_t count = 1);
    // Add the slots that instructions at `places` access, with the keys and parameters of their tables.
    void add_code(const std::set<load::Place>& places);
    // Add slots whose address such instructions take, since they have no translation of their own.
    void add_shared(const std::set<load::Place>& places);
    // Add the slots that parser, checksums, hashes, field lists, messages and meters access.
    void add_lists();

   private:
    void add_wide(const load::Instruction& instruction);
    void add_fields(const std::vector<load::Piece>& fields);

    const load::Program& p_;
    std::vector<bool> used_;
};

}  // namespace railyard::translate
