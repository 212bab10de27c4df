// SPDX-License-Identifier: Apache-2.0
// Objects shared by the switches of a partition that run the same program: table layouts, table contents and
// idle traversals.
#pragma once

#include <memory>
#include <vector>

#include "load/program/program.h"
#include "switch/traversal.h"
#include "tables/content.h"

namespace railyard::switching {

class Switch;

struct ProgramShare {
    // Layout, content without entries, and contents of all switches, by table.
    std::vector<tables::TableLayout> layouts;
    std::vector<std::shared_ptr<tables::TableContent>> empty;
    std::vector<tables::SharedContents> contents;
    std::vector<std::unique_ptr<Traversal>> traversals;
    Traversal* idle = nullptr;  // first idle one; each refers to the next
};

class ProgramShares {
   public:
    std::shared_ptr<ProgramShare> of(const Program& program);
    // Let the changed switches share equal table contents.
    void share_contents();

    std::vector<Switch*> changed;  // switches whose tables may have changed since share_contents()

   private:
    struct Known {
        const Program* program;
        std::weak_ptr<ProgramShare> share;
    };
    std::vector<Known> known_;
};

}  // namespace railyard::switching
