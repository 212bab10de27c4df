// SPDX-License-Identifier: Apache-2.0
#include "switch/program_shares.h"

#include "switch/switch.h"

namespace railyard::switching {

std::shared_ptr<ProgramShare> ProgramShares::of(const Program& program) {
    std::erase_if(known_, [](const Known& known) { return known.share.expired(); });
    for (const Known& known : known_)
        if (known.program == &program) return known.share.lock();
    auto share = std::make_shared<ProgramShare>();
    share->layouts.reserve(program.tables.size());
    for (const TableSpec& spec : program.tables) share->layouts.emplace_back(program, spec);
    for (const tables::TableLayout& layout : share->layouts)
        share->empty.push_back(std::make_shared<tables::TableContent>(layout));
    share->contents.resize(program.tables.size());
    known_.push_back({&program, share});
    return share;
}

void ProgramShares::share_contents() {
    for (Switch* const owner : changed) owner->share_contents();
    changed.clear();
}

}  // namespace railyard::switching
