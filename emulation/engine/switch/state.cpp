// SPDX-License-Identifier: Apache-2.0
#include "switch/state.h"

#include <utility>

namespace railyard::switching {

namespace {

// SplitMix64 (Steele, Lea and Flood): the output for a state. Of state 0 it is 0.
std::uint64_t split_mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

}  // namespace

SwitchState::SwitchState(std::string of, FramePool& frames) : pool(frames), name(std::move(of)) {
    set_seed(kUnseeded);
}

void SwitchState::set_seed(std::uint64_t seed) {
    // A hash of the name (FNV-1a) gives each switch its own sequence.
    random_ = 0xCBF29CE484222325ULL;
    for (const char c : name) random_ = (random_ ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
    random_ ^= split_mix(seed - kUnseeded);
}

void SwitchState::clear() {
    tables.clear();
    contents.clear();
    profiles.clear();
    counters.clear();
    registers.clear();
    meters.clear();
    value_sets.clear();
    multicast.clear();
    clones.clear();
    digests.clear();
    program.reset();
    ++epoch;
}

void SwitchState::load(std::shared_ptr<const Program> of, const std::vector<tables::TableLayout>& layouts,
                       const std::vector<std::shared_ptr<tables::TableContent>>& empty) {
    program = std::move(of);
    for (const load::ProfileSpec& p : program->profiles)
        profiles.push_back(std::make_unique<tables::Profile>(*program, p));
    tables.reserve(program->tables.size());
    contents.resize(empty.size());
    for (std::size_t at = 0; at < empty.size(); ++at) {
        const TableSpec& spec = layouts[at].spec;
        std::shared_ptr<tables::TableContent>& content = contents[spec.position];
        content = empty[at];
        tables.emplace_back(layouts[at], content, spec.profile ? profiles[spec.profile.at()].get() : nullptr);
    }
    for (const load::ArraySpec& c : program->counters) counters.emplace_back(c.size);
    for (const load::ArraySpec& r : program->registers) registers.emplace_back(r.size * limbs(r.bits), 0);
    for (const load::MeterSpec& m : program->meters) meters.emplace_back(m.size);
    value_sets.resize(program->value_sets.size());
    ASSERT(tables.size() == contents.size());
}

std::uint64_t SwitchState::random(std::uint64_t low, std::uint64_t high) {
    random_ += 0x9E3779B97F4A7C15ULL;
    const unsigned __int128 span = static_cast<unsigned __int128>(high - low) + 1;
    return low + static_cast<std::uint64_t>((split_mix(random_) * span) >> 64);
}

}  // namespace railyard::switching
