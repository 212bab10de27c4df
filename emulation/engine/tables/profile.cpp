// SPDX-License-Identifier: Apache-2.0
#include "tables/profile.h"

#include <algorithm>

namespace railyard::tables {

namespace {

constexpr std::int64_t kMostWeight = 1
                                     << 16;  // most total weight of a group, which stores a pointer per unit

}  // namespace

bool Profile::valid(Index<load::Action> action, const std::vector<std::uint64_t>& parameters) const {
    return std::find(spec_.actions.begin(), spec_.actions.end(), action) != spec_.actions.end() &&
           parameters.size() == program_.actions[action].parameter_limbs;
}

Status Profile::insert(std::int64_t id, Index<load::Action> action, std::vector<std::uint64_t> parameters) {
    if (!valid(action, parameters)) return Status::Invalid;
    if (members_.contains(id)) return Status::AlreadyExists;
    if (members_.size() >= spec_.size) return Status::Exhausted;
    auto free =
        static_cast<std::size_t>(std::find(handles_.begin(), handles_.end(), false) - handles_.begin());
    if (free == handles_.size()) handles_.push_back(false);
    handles_[free] = true;
    members_.emplace(id, Member{action, std::move(parameters), free, 0});
    return Status::Ok;
}

Status Profile::modify(std::int64_t id, Index<load::Action> action, std::vector<std::uint64_t> parameters) {
    if (!valid(action, parameters)) return Status::Invalid;
    const auto at = members_.find(id);
    if (at == members_.end()) return Status::NotFound;
    at->second.action = action;
    at->second.parameters = std::move(parameters);
    return Status::Ok;
}

Status Profile::erase(std::int64_t id) {
    const auto at = members_.find(id);
    if (at == members_.end()) return Status::NotFound;
    if (at->second.users > 0) return Status::Invalid;
    ASSERT(handles_[at->second.handle]);
    handles_[at->second.handle] = false;
    ++changes_;
    members_.erase(at);
    return Status::Ok;
}

Status Profile::set_group(std::int64_t id, const GroupMembers& members) {
    if (!spec_.selector) return Status::Invalid;
    Group group;
    std::int64_t total = 0;
    for (const auto& [member, weight] : members) {
        total += weight;
        if (weight < 1 || total > kMostWeight) return Status::Invalid;
        const auto at = members_.find(member);
        if (at == members_.end()) return Status::NotFound;
        group.choices.insert(group.choices.end(), static_cast<std::size_t>(weight), &at->second);
    }
    std::stable_sort(group.choices.begin(), group.choices.end(),
                     [](const Member* a, const Member* b) { return a->handle < b->handle; });
    group.members = members;
    ++changes_;
    Group& place = groups_[id];
    for (const auto& [member, _] : place.members) --members_.at(member).users;
    for (const auto& [member, _] : members) ++members_.at(member).users;
    group.users = place.users;
    place = std::move(group);
    return Status::Ok;
}

Status Profile::erase_group(std::int64_t id) {
    const auto at = groups_.find(id);
    if (at == groups_.end()) return Status::NotFound;
    if (at->second.users > 0) return Status::Invalid;
    for (const auto& [member, _] : at->second.members) --members_.at(member).users;
    ++changes_;
    groups_.erase(at);
    return Status::Ok;
}

Profile::Reference Profile::refer(Target target, std::int64_t id) const {
    if (target == Target::Member) return {member(id), nullptr, 0, true};
    const auto at = groups_.find(id);
    if (at == groups_.end()) return {nullptr, nullptr, 0, true};
    const auto& choices = at->second.choices;
    return {nullptr, choices.data(), static_cast<std::uint32_t>(choices.size()), true};
}

void Profile::count_users(Target target, std::int64_t id, int by) {
    std::size_t& users = target == Target::Member ? members_.at(id).users : groups_.at(id).users;
    ASSERT(by >= 0 || users > 0);
    users += static_cast<std::size_t>(static_cast<std::int64_t>(by));
}

}  // namespace railyard::tables
