// SPDX-License-Identifier: Apache-2.0
// Action profile: members to which table entries refer, and groups from which a hash selects a member.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "load/program/program.h"

namespace railyard::tables {

class Profile {
   public:
    struct Member {
        Index<load::Action> action;
        std::vector<std::uint64_t> parameters;
        std::size_t handle = 0;  // smallest number free at insertion; orders the members of a group
        std::size_t users = 0;   // number of entries and groups that refer to it
    };
    // The target of an entry: a member, or a group with `count` choices. Neither: the group is empty.
    struct Reference {
        const Member* member = nullptr;
        const Member* const* choices = nullptr;
        std::uint32_t count = 0;
        bool known = false;

        // Return the member, chosen by hash() in a group; null if there is none.
        template <typename Hash>
        const Member* pick(const Hash& hash) const {
            return count > 0 ? choices[hash() % count] : member;
        }
    };
    using GroupMembers = std::vector<std::pair<std::int64_t, int>>;  // member, weight

    Profile(const load::Program& program, const load::ProfileSpec& spec) : program_(program), spec_(spec) {}

    Status insert(std::int64_t id, Index<load::Action> action, std::vector<std::uint64_t> parameters);
    Status modify(std::int64_t id, Index<load::Action> action, std::vector<std::uint64_t> parameters);
    Status erase(std::int64_t id);
    Status set_group(std::int64_t id, const GroupMembers& members);
    Status erase_group(std::int64_t id);

    // Return a member; null if it does not exist.
    [[nodiscard]] const Member* member(std::int64_t id) const {
        const auto at = members_.find(id);
        return at == members_.end() ? nullptr : &at->second;
    }
    // Return the target of a reference by an id. The result is valid until changes() changes.
    [[nodiscard]] Reference refer(Target target, std::int64_t id) const;
    // Return the number of calls that removed something or changed a group.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    [[nodiscard]] bool exists(Target target, std::int64_t id) const {
        return target == Target::Member ? members_.contains(id) : groups_.contains(id);
    }
    void count_users(Target target, std::int64_t id, int by);
    [[nodiscard]] const load::ProfileSpec& spec() const { return spec_; }

   private:
    struct Group {
        GroupMembers members;
        std::vector<const Member*> choices;  // sorted by handle, each repeated `weight` times
        std::size_t users = 0;
    };
    [[nodiscard]] bool valid(Index<load::Action> action, const std::vector<std::uint64_t>& parameters) const;

    const load::Program& program_;
    const load::ProfileSpec& spec_;
    std::unordered_map<std::int64_t, Member> members_;
    std::unordered_map<std::int64_t, Group> groups_;
    std::vector<bool> handles_;
    std::uint64_t changes_ = 0;
};

}  // namespace railyard::tables
