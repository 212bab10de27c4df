# SPDX-License-Identifier: Apache-2.0
"""Random P4Runtime updates of action profiles: members and groups, some wrong in one way."""

import random
from collections import defaultdict
from collections.abc import Callable
from typing import final

from finsy.proto import p4i, p4r

__all__ = ["ProfileMaker"]

_INVALID = 0.15
_KINDS = (p4r.Update.INSERT, p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE)
# Few, so that entries and groups come upon those that are there.
_MEMBERS, _GROUPS = range(1, 7), range(1, 4)
_WEIGHTS = (1, 1, 1, 2, 3)


@final
class ProfileMaker:
    """`fill` gives an action the arguments it takes."""

    def __init__(
        self,
        info: p4i.P4Info,
        rng: random.Random,
        fill: Callable[[p4r.Action, p4i.Action], None],
    ) -> None:
        self._rng, self._fill = rng, fill
        used = {table.implementation_id for table in info.tables}
        self._profiles = [
            action_profile for action_profile in info.action_profiles if action_profile.preamble.id in used
        ]
        actions = {action.preamble.id: action for action in info.actions}
        tables = {table.preamble.id: table for table in info.tables}
        self._actions = {
            profile.preamble.id: [
                actions[action_ref.id]
                for action_ref in tables[profile.table_ids[0]].action_refs
                if action_ref.scope != p4i.ActionRef.DEFAULT_ONLY
            ]
            for profile in self._profiles
        }

        self.start()

    def start(self) -> None:
        """Anew; the entries of a profile's tables have all sets of their own, or all members and groups.

        PI, with the specification, lets nobody mix the two, and then does not even return the members.
        """
        self._members: dict[int, set[int]] = defaultdict(set)
        self.by_members = [
            profile for profile in self._profiles if not profile.with_selector or self._rng.random() < 0.6
        ]

    def update(self) -> tuple[p4r.Update, str]:
        """With what is wrong in it, if anything is."""
        rng = self._rng
        profile = rng.choice(self.by_members)
        update = p4r.Update(type=rng.choice(_KINDS))
        if rng.random() < 0.6 or not profile.with_selector:
            member = update.entity.action_profile_member
            member.action_profile_id, member.member_id = profile.preamble.id, rng.choice(_MEMBERS)
            if update.type != p4r.Update.DELETE:
                self._act(member.action, profile)
        else:
            group = update.entity.action_profile_group
            group.action_profile_id, group.group_id = profile.preamble.id, rng.choice(_GROUPS)
            if update.type != p4r.Update.DELETE:
                # Of members that are there: PI refuses a group with others, but has made it by then.
                held = sorted(self._members[profile.preamble.id])
                group.max_size = profile.max_group_size
                # PI gives every further share of a weight a place of its own among the members, and a hash
                # picks by place: P4Runtime asks for the proportion alone, so members weigh the same here.
                for id in rng.sample(held, min(len(held), rng.randrange(4))):
                    group.members.add(member_id=id, weight=1)
        return update, self._spoil(update) if rng.random() < _INVALID else ""

    def took(self, update: p4r.Update) -> None:
        """Both have carried it out."""
        member = update.entity.action_profile_member
        if update.entity.WhichOneof("entity") == "action_profile_member":
            held = self._members[member.action_profile_id]
            (held.discard if update.type == p4r.Update.DELETE else held.add)(member.member_id)

    def point(self, action: p4r.TableAction, table: p4i.Table) -> None:
        """An indirect table's entry to a member, a group or a set of its own."""
        rng = self._rng
        profile = next(
            profile for profile in self._profiles if profile.preamble.id == table.implementation_id
        )
        if profile in self.by_members:
            if profile.with_selector and rng.random() < 0.5:
                action.action_profile_group_id = rng.choice(_GROUPS)
            else:
                action.action_profile_member_id = rng.choice(_MEMBERS)
        else:
            for _ in range(rng.randrange(1, 4)):
                item = action.action_profile_action_set.action_profile_actions.add(
                    weight=rng.choice(_WEIGHTS)
                )
                self._act(item.action, profile)

    def _act(self, action: p4r.Action, profile: p4i.ActionProfile) -> None:
        self._fill(action, self._rng.choice(self._actions[profile.preamble.id]))

    def _spoil(self, update: p4r.Update) -> str:
        which, rng = self._rng.randrange(4), self._rng
        group, member = update.entity.action_profile_group, update.entity.action_profile_member
        is_group = update.entity.WhichOneof("entity") == "action_profile_group"
        if which == 0:
            (group if is_group else member).action_profile_id ^= 1 << rng.randrange(32)
            return "unknown profile"
        if which == 1 and not is_group:
            member.ClearField("action")
            return "no action"
        if which == 2 and not is_group:
            member.member_id = 0
            return "id 0"
        update.type = p4r.Update.UNSPECIFIED
        return "no update type"
