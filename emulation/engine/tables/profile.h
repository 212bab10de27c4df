// SPDX-License-Identifier: Apache-2.0
// Action profiles: members that entries refer to, and groups in which a hash selects a member.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "load/program/program.h"

namespace railyard {

class Profile {
   public:
    struct Member {
        Index<Action> action;
        std::vector<std::uint64_t> parameters;
        std::size_t handle = 0;  // smallest free number; determines the order within a group
        std::size_t users = 0;   // entries and groups
    };
    using GroupMembers = std::vector<std::pair<std::int64_t, int>>;  // member, weight

    Profile(const Program& program, const ProfileSpec& spec) : program_(program), spec_(spec) {}

    Status insert(std::int64_t id, Index<Action> action, std::vector<std::uint64_t> parameters);
    Status modify(std::int64_t id, Index<Action> action, std::vector<std::uint64_t> parameters);
    Status erase(std::int64_t id);
    Status set_group(std::int64_t id, const GroupMembers& members);
    Status erase_group(std::int64_t id);

    // Null if the member does not exist; null if the group does not exist or is empty.
    const Member* member(std::int64_t id) const {
        const auto at = members_.find(id);
        return at == members_.end() ? nullptr : &at->second;
    }
    const Member* choose(std::int64_t group, std::uint64_t hash) const {
        const auto at = groups_.find(group);
        if (at == groups_.end() || at->second.choices.empty()) return nullptr;
        return at->second.choices[hash % at->second.choices.size()];
    }
    bool exists(Target target, std::int64_t id) const {
        return target == Target::Member ? members_.contains(id) : groups_.contains(id);
    }
    void count_users(Target target, std::int64_t id, int by);
    const ProfileSpec& spec() const { return spec_; }

   private:
    struct Group {
        GroupMembers members;
        std::vector<const Member*> choices;  // in the order of handles, each repeated by its weight
        std::size_t users = 0;
    };
    bool valid(Index<Action> action, const std::vector<std::uint64_t>& parameters) const;

    const Program& program_;
    const ProfileSpec& spec_;
    std::unordered_map<std::int64_t, Member> members_;
    std::unordered_map<std::int64_t, Group> groups_;
    std::vector<bool> handles_;
};

}  // namespace railyard
