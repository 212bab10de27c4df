// SPDX-License-Identifier: Apache-2.0
// Action profile: members to which table entries refer, and groups from which a hash selects a member.
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
        std::size_t handle = 0;  // smallest number free at insertion; orders the members of a group
        std::size_t users = 0;   // number of entries and groups that refer to it
    };
    using GroupMembers = std::vector<std::pair<std::int64_t, int>>;  // member, weight

    Profile(const Program& program, const ProfileSpec& spec) : program_(program), spec_(spec) {}

    Status insert(std::int64_t id, Index<Action> action, std::vector<std::uint64_t> parameters);
    Status modify(std::int64_t id, Index<Action> action, std::vector<std::uint64_t> parameters);
    Status erase(std::int64_t id);
    Status set_group(std::int64_t id, const GroupMembers& members);
    Status erase_group(std::int64_t id);

    // Return a member; null if it does not exist.
    const Member* member(std::int64_t id) const {
        const auto at = members_.find(id);
        return at == members_.end() ? nullptr : &at->second;
    }
    // Return the member of a group that a hash selects; null if the group does not exist or is empty.
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
        std::vector<const Member*> choices;  // sorted by handle, each repeated `weight` times
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
