# SPDX-License-Identifier: Apache-2.0
"""RECONCILE_AND_COMMIT: carry the state of an old pipeline over to a new one.

Entries, members, groups, sessions and configurations are kept if their table, profile, array or digest has
the same id, name and form in both pipelines; otherwise the request is refused. Counter and register values
are dropped instead.
"""

from collections.abc import Iterator, Sequence
from typing import final

from finsy.proto import p4i, p4r, rpc_code

from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.roles import entity_id
from emulation.p4runtime.status import Refusal
from emulation.p4runtime.target import Target

__all__ = ["carried_over", "write_back"]

_DATA = ("counter_entry", "register_entry")
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_MODIFIED_ONLY = ("counter_entry", "meter_entry", "register_entry", "value_set_entry")


def carried_over(old: Target, new: Pipeline) -> list[p4r.Entity]:
    """Return the entities of `old` fitting `new`; INVALID_ARGUMENT names the first unfit entity."""
    before, after = _Definitions(old.pipeline.p4info), _Definitions(new.p4info)
    kept = []
    for entity in old.everything():
        for id in (entity_id(entity), *_actions(entity)):
            if before.form(id) != after.form(id):
                break
        else:
            kept.append(entity)
            continue
        which = entity.WhichOneof("entity")
        if which not in _DATA and not _belongs_to_program(old.pipeline, entity):
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"{which} of {before.name(entity_id(entity))!r} cannot be kept: the new configuration has"
                f" no {before.name(id)!r} of the same form",
            )
    return kept


def write_back(target: Target, kept: Sequence[p4r.Entity], old: Pipeline | None) -> None:
    """Write carried-over entities to a new target; INVALID_ARGUMENT if it refuses an entity."""
    if old is not None:
        _remove_initial(target, old)
    for entity in kept:
        which = entity.WhichOneof("entity")
        entry = entity.table_entry
        constant = which == "table_entry" and target.pipeline.tables[entry.table_id].const
        present = which in _MODIFIED_ONLY or (which == "table_entry" and target.holds(entry))
        if constant and not present:
            continue  # the new program has no such constant entry
        kind = _MODIFY if present else _INSERT
        try:
            target.write(p4r.Update(type=kind, entity=entity))
        except Refusal as refusal:
            reason = f"the state cannot be kept: {refusal.message}"
            raise Refusal(rpc_code.INVALID_ARGUMENT, reason) from refusal


def _remove_initial(target: Target, old: Pipeline) -> None:
    """Delete the initial entries of tables that `old` had too: the carried-over entries replace them."""
    for id, table in target.pipeline.tables.items():
        if table.initial and id in old.tables:
            for entity in target.read(p4r.Entity(table_entry=p4r.TableEntry(table_id=id))):
                target.write(p4r.Update(type=_DELETE, entity=entity))


def _belongs_to_program(pipeline: Pipeline, entity: p4r.Entity) -> bool:
    """Return whether an entity is a constant entry of the program."""
    if entity.WhichOneof("entity") != "table_entry":
        return False
    table = pipeline.tables[entity.table_entry.table_id]
    return table.const and not entity.table_entry.is_default_action


def _actions(entity: p4r.Entity) -> Iterator[int]:
    """Yield the ids of an entity's actions."""
    if entity.WhichOneof("entity") == "action_profile_member":
        yield entity.action_profile_member.action.action_id
    action = entity.table_entry.action
    if action.WhichOneof("type") == "action":
        yield action.action.action_id
    for profile_action in action.action_profile_action_set.action_profile_actions:
        yield profile_action.action.action_id


@final
class _Definitions:
    """Definitions of a p4info, reduced to the properties that entities depend on."""

    def __init__(self, info: p4i.P4Info) -> None:
        self._names: dict[int, str] = {}
        self._forms: dict[int, object] = {0: None}
        for table in info.tables:
            keys = [(key.id, key.name, key.bitwidth, key.match_type) for key in table.match_fields]
            self._add(table.preamble, keys, table.implementation_id)
        for action in info.actions:
            self._add(action.preamble, [(param.id, param.name, param.bitwidth) for param in action.params])
        for profile in info.action_profiles:
            self._add(profile.preamble, profile.with_selector)
        for counter in info.counters:
            self._add(counter.preamble, counter.size)
        for meter in info.meters:
            self._add(meter.preamble, meter.size, meter.spec.SerializeToString())
        for register in info.registers:
            self._add(register.preamble, register.size, register.type_spec.SerializeToString())
        for value_set in info.value_sets:
            keys = [(key.id, key.name, key.bitwidth, key.match_type) for key in value_set.match]
            self._add(value_set.preamble, keys)
        for digest in info.digests:
            self._add(digest.preamble, digest.type_spec.SerializeToString())

    def _add(self, preamble: p4i.Preamble, *form: object) -> None:
        self._names[preamble.id] = preamble.name
        self._forms[preamble.id] = (preamble.name, form)

    def form(self, id: int) -> object:
        """Return a value that is equal for interchangeable definitions; None without a definition."""
        return self._forms.get(id)

    def name(self, id: int) -> str:
        """Return the name of a definition, for messages."""
        return self._names.get(id, "")
