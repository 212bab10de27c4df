// SPDX-License-Identifier: Apache-2.0
// Layouts, contents and idle traversals, shared by the switches of a thread that run the same program.
#pragma once

#include <memory>
#include <vector>

#include "load/program/program.h"
#include "switch/traversal.h"
#include "tables/content.h"

namespace railyard {

class Switch;

struct ProgramShare {
    // Layouts, contents without entries, and contents of all switches, by table.
    std::vector<TableLayout> layouts;
    std::vector<std::shared_ptr<TableContent>> empty;
    std::vector<SharedContents> contents;
    std::vector<std::unique_ptr<Traversal>> idle;
};

class ProgramShares {
   public:
    std::shared_ptr<ProgramShare> of(const Program& program);
    // Let switches share their contents where these are equal.
    void share_contents();

    std::vector<Switch*> changed;  // switches whose tables may have changed since

   private:
    struct Known {
        const Program* program;
        std::weak_ptr<ProgramShare> share;
    };
    std::vector<Known> known_;
};

}  // namespace railyard
