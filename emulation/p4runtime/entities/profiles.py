# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors of one switch: members, groups, and the action sets of single entries.

An action set ("one shot") becomes members and a group with ids below 0, which no controller uses. A selector
holds either action sets or members and groups, never both.
"""

from collections.abc import Container, Iterable, Iterator, Sequence, Set
from itertools import count
from typing import final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.pipeline.layout import ActionLayout, ProfileLayout
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal, engine_refusal

__all__ = ["Profiles"]

_INVALID, _NOT_FOUND = rpc_code.INVALID_ARGUMENT, rpc_code.NOT_FOUND
_INSERT, _DELETE = p4r.Update.INSERT, p4r.Update.DELETE
_PORTS = 511  # v1model's port numbers are 9 bits wide, and 511 means drop

_Part = p4r.ActionProfileGroup.Member | p4r.ActionProfileAction
# A member's id, its weight, and the port that it watches (None: no port).
_Weighted = tuple[int, int, int | None]


# Most decoded action sets that a pipeline caches for each profile.
_MOST_KNOWN = 1 << 12


@final
class _ActionSet:
    """A decoded action set: actions with values, weights with watched ports, and the canonical message.

    Raises:
        Refusal: The profile does not allow an action, a weight, a port or the semantics.
    """

    def __init__(self, layout: ProfileLayout, sent: p4r.ActionProfileActionSet) -> None:
        _check_semantics(layout, sent)
        parts, what = sent.action_profile_actions, f"{layout.what}, action set"
        self.actions = [layout.action(part.action) for part in parts]
        self.shares = [_share(layout, part, what) for part in parts]
        self.message = p4r.ActionProfileActionSet()
        self.message.CopyFrom(sent)
        for part, (action, values) in zip(self.message.action_profile_actions, self.actions, strict=True):
            part.action.CopyFrom(_encoded(action, values))
        _shorten(self.message.action_profile_actions)


@final
class _Contents:
    """Members, groups and action sets of one profile, as the messages that a read returns."""

    def __init__(self, layout: ProfileLayout) -> None:
        self.layout = layout
        self.members: dict[int, p4r.Action] = {}
        self.groups: dict[int, p4r.ActionProfileGroup] = {}
        self.sets: dict[int, p4r.ActionProfileActionSet] = {}
        self.weighted: dict[int, list[_Weighted]] = {}
        self.fresh = count(-1, -1)
        self._total = 0  # sum of the sizes of all groups

    def check_mode(self, *, one_shot: bool) -> None:
        if one_shot and (self.members or self.groups):
            raise Refusal(_INVALID, f"{self.layout.what} has members, so it takes no action sets")
        if not one_shot and self.sets:
            raise Refusal(_INVALID, f"{self.layout.what} has action sets, so it takes no members and groups")

    def size(self, weighted: Iterable[_Weighted]) -> int:
        """Return a group's size: its number of members or sum of weights, by the profile's semantics."""
        return sum(1 if self.layout.by_members else weight for _, weight, _ in weighted)

    def put(self, group: int, weighted: list[_Weighted]) -> None:
        """Replace the members of a group."""
        self._total += self.size(weighted) - self.size(self.weighted.get(group, ()))
        self.weighted[group] = weighted

    def drop(self, group: int) -> list[_Weighted]:
        """Remove a group, and return its members."""
        weighted = self.weighted.pop(group)
        self._total -= self.size(weighted)
        return weighted

    def meaning(self, sent: p4r.ActionProfileActionSet) -> "_ActionSet":
        """Return the decoded action set, from the cache if possible; Refusal if the profile forbids it."""
        data, sets = sent.SerializeToString(), self.layout.known_sets
        known: _ActionSet | None = sets.get(data)
        if known is None:
            if len(sets) >= _MOST_KNOWN:
                sets.clear()
            known = sets[data] = _ActionSet(self.layout, sent)
        return known

    def check_total(self, weighted: Sequence[_Weighted], replaced: int | None) -> None:
        others = self._total - self.size(self.weighted.get(replaced, ()) if replaced is not None else ())
        if 0 < self.layout.size < others + self.size(weighted):
            raise Refusal(
                rpc_code.RESOURCE_EXHAUSTED,
                f"{self.layout.what}: the groups together exceed its size {self.layout.size}",
            )


@final
class Profiles:
    """P4Runtime writes and reads of the members and groups of a switch's action profiles.

    Groups leave out members that watch a port in `down`, the down ports.
    """

    def __init__(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline, down: Set[int]) -> None:
        self._network = network
        self._switch = switch
        self._down = down
        self._held = {id: _Contents(layout) for id, layout in pipeline.profiles.items()}

    def _profile(self, profile_id: int) -> _Contents:
        held = self._held.get(profile_id)
        if held is None:
            raise Refusal(_INVALID, f"there is no action profile with id {profile_id}")
        return held

    def _chosen(self, profile_id: int, id: int) -> Iterable[_Contents]:
        if not profile_id and id:
            raise Refusal(_INVALID, f"the request has id {id}, but no action profile id; give both")
        return [self._profile(profile_id)] if profile_id else self._held.values()

    # -- members

    def write_member(self, kind: int, member: p4r.ActionProfileMember) -> None:
        """Carry out an INSERT, MODIFY or DELETE of a member."""
        held, id = self._profile(member.action_profile_id), member.member_id
        what = f"{held.layout.what}, member {id}"
        held.check_mode(one_shot=False)
        _check_id(kind, id, held.members, what)
        if kind == _DELETE:
            self._delete_member(held, id, what)
            return
        if not member.HasField("action"):
            raise Refusal(_INVALID, f"{what} has no action; give one")
        action, values = held.layout.action(member.action)
        if kind == _INSERT and 0 < held.layout.size <= len(held.members):
            raise Refusal(
                rpc_code.RESOURCE_EXHAUSTED, f"{held.layout.what} is full: it has {held.layout.size} members"
            )
        operate = self._network.member_insert if kind == _INSERT else self._network.member_modify
        if status := operate(self._switch, held.layout.handle, id, action.handle, values):
            raise engine_refusal(status, what)
        held.members[id] = _encoded(action, values)

    def _delete_member(self, held: _Contents, id: int, what: str) -> None:
        for group in held.groups.values():
            if any(member.member_id == id for member in group.members):
                raise Refusal(
                    rpc_code.FAILED_PRECONDITION,
                    f"{what} cannot be deleted, because it is part of group {group.group_id}",
                )
        if self._network.member_delete(self._switch, held.layout.handle, id):
            raise Refusal(
                rpc_code.FAILED_PRECONDITION, f"{what} cannot be deleted, because a table entry uses it"
            )
        del held.members[id]

    def read_members(self, wanted: p4r.ActionProfileMember) -> Iterator[p4r.Entity]:
        """Yield the members of one profile or of all, with one id or with any."""
        for held in self._chosen(wanted.action_profile_id, wanted.member_id):
            for id, action in held.members.items():
                if wanted.member_id in (0, id):
                    member = p4r.ActionProfileMember(
                        action_profile_id=held.layout.id, member_id=id, action=action
                    )
                    yield p4r.Entity(action_profile_member=member)

    # -- groups

    def write_group(self, kind: int, group: p4r.ActionProfileGroup) -> None:
        """Carry out an INSERT, MODIFY or DELETE of a group."""
        held, id = self._profile(group.action_profile_id), group.group_id
        what = f"{held.layout.what}, group {id}"
        if not held.layout.selector:
            raise Refusal(_INVALID, f"{held.layout.what} has no selector, so it has no groups")
        held.check_mode(one_shot=False)
        _check_id(kind, id, held.groups, what)
        if kind == _DELETE:
            if self._network.group_delete(self._switch, held.layout.handle, id):
                raise Refusal(
                    rpc_code.FAILED_PRECONDITION, f"{what} cannot be deleted, because a table entry uses it"
                )
            del held.groups[id]
            held.drop(id)
            return
        weighted = self._members_of(held, group, what)
        before = held.groups.get(id)
        if before is not None and group.max_size != before.max_size:
            raise Refusal(
                _INVALID, f"{what}: max_size cannot change from {before.max_size} to {group.max_size}"
            )
        self._check_max_size(held, group.max_size, weighted, what)
        held.check_total(weighted, id)
        self._set(held, id, weighted)
        kept = p4r.ActionProfileGroup()
        kept.CopyFrom(group)
        _shorten(kept.members)
        held.groups[id] = kept

    def _members_of(self, held: _Contents, group: p4r.ActionProfileGroup, what: str) -> list[_Weighted]:
        weighted = []
        for member in group.members:
            if member.member_id not in held.members:
                raise Refusal(_NOT_FOUND, f"{what}: there is no member {member.member_id}")
            weighted.append((member.member_id, *_share(held.layout, member, what)))
        if len({id for id, _, _ in weighted}) != len(weighted):
            ids = [id for id, _, _ in weighted]
            raise Refusal(
                _INVALID,
                f"{what} lists the member {max(ids, key=ids.count)} more than once; "
                "list it once, with a larger weight",
            )
        return weighted

    @staticmethod
    def _check_max_size(held: _Contents, max_size: int, weighted: Sequence[_Weighted], what: str) -> None:
        limit = held.layout.max_group_size
        if max_size < 0 or 0 < limit < max_size:
            raise Refusal(_INVALID, f"{what}: max_size {max_size} is not within 0..{limit or 'its size'}")
        if 0 < (max_size or limit) < held.size(weighted):
            raise Refusal(
                rpc_code.RESOURCE_EXHAUSTED,
                f"{what} has size {held.size(weighted)}, above its largest size {max_size or limit}",
            )

    def read_groups(self, wanted: p4r.ActionProfileGroup) -> Iterator[p4r.Entity]:
        """Yield the groups of one selector or of all, with one id or with any."""
        for held in self._chosen(wanted.action_profile_id, wanted.group_id):
            for id, group in held.groups.items():
                if wanted.group_id in (0, id):
                    yield p4r.Entity(action_profile_group=group)

    # -- members and groups of table entries

    def require(self, profile_id: int, action: p4r.TableAction) -> None:
        """Refuse an entry with an unknown member or group, or with a group if the profile has no selector."""
        held = self._profile(profile_id)
        if action.WhichOneof("type") == "action_profile_member_id":
            id, among, kind = action.action_profile_member_id, held.members, "member"
        else:
            id, among, kind = action.action_profile_group_id, held.groups, "group"
            if not held.layout.selector:
                raise Refusal(_INVALID, f"{held.layout.what} has no selector, so it has no groups")
        if id not in among:
            raise Refusal(_NOT_FOUND, f"{held.layout.what} has no {kind} with id {id}")

    def insert_set(
        self, profile_id: int, sent: p4r.ActionProfileActionSet, replaced: int | None = None
    ) -> int:
        """Create the members and the group of an action set, and return the group's id, below 0.

        The group with id `replaced` does not count against the profile's size.
        """
        held = self._profile(profile_id)
        layout = held.layout
        what = f"{layout.what}, action set"
        if not layout.selector:
            raise Refusal(_INVALID, f"{layout.what} has no selector, so it takes no action sets")
        held.check_mode(one_shot=True)
        meant = held.meaning(sent)
        weighted: list[_Weighted] = [(next(held.fresh), *share) for share in meant.shares]
        if 0 < layout.max_group_size < held.size(weighted):
            raise Refusal(
                _INVALID, f"{what} has size {held.size(weighted)}, above the largest, {layout.max_group_size}"
            )
        held.check_total(weighted, replaced)
        for (id, _, _), (action, values) in zip(weighted, meant.actions, strict=True):
            if status := self._network.member_insert(self._switch, layout.handle, id, action.handle, values):
                for created, _, _ in weighted:
                    self._network.member_delete(self._switch, layout.handle, created)
                raise engine_refusal(status, what)
        group = next(held.fresh)
        self._set(held, group, weighted)
        held.sets[group] = meant.message
        return group

    def delete_set(self, profile_id: int, group: int) -> None:
        """Delete an unused action set's group and members; ignore a group that is not of an action set."""
        held = self._profile(profile_id)
        if group in held.sets:
            self._network.group_delete(self._switch, held.layout.handle, group)
            for member, _, _ in held.drop(group):
                self._network.member_delete(self._switch, held.layout.handle, member)
            del held.sets[group]

    def pointed(self, profile_id: int, is_group: bool, handle: int) -> p4r.TableAction:
        """Return the action of an entry that points to the member or group with the id `handle`.

        A group with a negative id stands for an action set.
        """
        if not is_group:
            return p4r.TableAction(action_profile_member_id=handle)
        if handle >= 0:
            return p4r.TableAction(action_profile_group_id=handle)
        return p4r.TableAction(action_profile_action_set=self._held[profile_id].sets[handle])

    # -- ports

    def port_changed(self, port: int) -> None:
        """Remove members watching `port` from their groups while it is down; put them back when it is up."""
        for held in self._held.values():
            for group, weighted in held.weighted.items():
                if any(watched == port for _, _, watched in weighted):
                    self._set(held, group, weighted)

    def _set(self, held: _Contents, group: int, weighted: list[_Weighted]) -> None:
        live = [(id, weight) for id, weight, watched in weighted if watched not in self._down]
        if status := self._network.group_set(self._switch, held.layout.handle, group, live):
            raise engine_refusal(status, f"{held.layout.what}, group {group}")
        held.put(group, weighted)


def _check_id(kind: int, id: int, among: Container[int], what: str) -> None:
    if id == 0:
        raise Refusal(_INVALID, f"{what}: id 0 is reserved; give 1 or more")
    if kind == _INSERT and id in among:
        raise Refusal(rpc_code.ALREADY_EXISTS, f"{what} exists already")
    if kind != _INSERT and id not in among:
        raise Refusal(_NOT_FOUND, f"{what} does not exist")


def _check_semantics(layout: ProfileLayout, sent: p4r.ActionProfileActionSet) -> None:
    """Refuse an action set whose semantics differ from its selector's."""
    own = sent.SUM_OF_MEMBERS if layout.by_members else sent.SUM_OF_WEIGHTS
    if sent.size_semantics not in (sent.DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR, own):
        raise Refusal(rpc_code.UNIMPLEMENTED, f"{layout.what} fixes size_semantics; leave it at its default")
    if sent.action_selection_mode not in (sent.DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR, sent.HASH):
        raise Refusal(
            rpc_code.UNIMPLEMENTED,
            f"{layout.what} selects by hash; leave action_selection_mode at its default",
        )


def _share(layout: ProfileLayout, part: _Part, what: str) -> tuple[int, int | None]:
    """Return the weight and the watched port of a member or of an action."""
    weight = part.weight
    if layout.weights_disallowed:
        if weight:
            raise Refusal(_INVALID, f"{what} has weight {weight}, but {layout.what} takes no weights")
        weight = 1
    if weight <= 0:
        raise Refusal(_INVALID, f"{what}: weight {weight} is not above 0")
    if layout.by_members and 0 < layout.max_member_weight < weight:
        raise Refusal(_INVALID, f"{what}: weight {weight} is above {layout.max_member_weight}")
    port: int | None = None
    if part.WhichOneof("watch_kind") == "watch":
        port = part.watch
    elif part.watch_port:
        port = int.from_bytes(part.watch_port)
    if port is not None and not 0 <= port < _PORTS:
        raise Refusal(_INVALID, f"{what}: watch port {port} is not a port from 0 to {_PORTS - 1}")
    return weight, port


def _shorten(parts: Iterable[_Part]) -> None:
    """Convert the watched ports of the parts, in place, to canonical bytestrings."""
    for part in parts:
        if part.watch_port:
            part.watch_port = canonical(part.watch_port)


def _encoded(action: ActionLayout, values: Sequence[bytes]) -> p4r.Action:
    message = p4r.Action()
    action.encode(message, values)
    return message
