# SPDX-License-Identifier: Apache-2.0
"""One switch as P4Runtime sees it: its pipeline configurations, batches of writes, and its roles."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from finsy.proto import U128, p4r, rpc_code

from emulation import _engine
from emulation.errors import ProgramError
from emulation.p4runtime.clock import Clock
from emulation.p4runtime.entities.digests import Publish
from emulation.p4runtime.pipeline.pipelines import Pipeline, Pipelines
from emulation.p4runtime.reconcile import carried_over, write_back
from emulation.p4runtime.roles import Role, entity_id
from emulation.p4runtime.status import Refusal, batch_status
from emulation.p4runtime.target import Target
from emulation.p4runtime.write_request import SerialisedWrite

__all__ = ["Device"]

_Action = p4r.SetForwardingPipelineConfigRequest
_Response = p4r.GetForwardingPipelineConfigRequest
_Write = p4r.WriteRequest
_Cookie = p4r.ForwardingPipelineConfig.Cookie


@final
class _Staged:
    """A configuration saved with VERIFY_AND_SAVE and not yet committed.

    Writes before the commit apply to this configuration instead of the committed one. They go to a separate
    switch without traffic, and the commit replays them on the device's switch.
    """

    def __init__(self, target: Target, cookie: _Cookie | None) -> None:
        self.target = target
        self.cookie = cookie
        self.written: list[p4r.Update] = []


@final
class Device:
    """One device of the P4Runtime server: its pipeline, its controllers' roles, and its reads and writes.

    Callers hold the server's lock. `publish` notifies controllers.
    """

    def __init__(
        self,
        device_id: int,
        network: _engine.SwitchSet,
        switch: int,
        pipelines: Pipelines,
        clock: Clock,
    ) -> None:
        self.id = device_id
        self.switch = switch
        self._network = network
        self._pipelines = pipelines
        self._clock = clock
        self.publish: Publish = _to_nobody
        self._down: set[int] = set()
        self._roles: dict[str, Role] = {}
        self._committed: Target | None = None
        self._cookie: _Cookie | None = None
        self._staged: _Staged | None = None

    @property
    def forwarding(self) -> Target | None:
        """Committed configuration, which all frames use; None before the first commit."""
        return self._committed

    def close(self) -> None:
        """Drop the configurations and `publish`: they refer back to this device."""
        self._committed = self._staged = None
        self.publish = _to_nobody

    # -- roles

    def role(self, name: str) -> Role:
        """Return the role with a name; create it if absent."""
        role = self._roles.get(name)
        if role is None:
            role = self._roles[name] = Role(name)
        return role

    @property
    def roles(self) -> list[Role]:
        """Roles with a present or former controller."""
        return list(self._roles.values())

    def _known_role(self, name: str) -> Role:
        if name and name not in self._roles:
            raise Refusal(rpc_code.NOT_FOUND, f"device {self.id} has no role {name!r}")
        return self.role(name)

    def _require_primary(self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest) -> Role:
        role = self._known_role(request.role)
        election_id = U128.decode(request.election_id) if request.HasField("election_id") else None
        if not role.arbitration.is_primary(election_id):
            raise Refusal(
                rpc_code.PERMISSION_DENIED,
                f"device {self.id}: election id {election_id} is not the primary's",
            )
        return role

    def primary_changed(self) -> None:
        """Note that another controller has become primary of a role."""
        if self._committed is not None:
            self._committed.digests.primary_changed()

    # -- pipeline configuration

    def set_pipeline(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        """Carry out a SetForwardingPipelineConfig; a refused request leaves the configuration unchanged."""
        role = self._require_primary(request)
        if not role.may_push_pipeline:
            raise Refusal(rpc_code.PERMISSION_DENIED, f"role {role.name!r} has no right to set the pipeline")
        action = request.action
        if action == _Action.COMMIT:
            if request.HasField("config"):
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT, "COMMIT takes no config: it commits the one that was saved"
                )
            self._commit_staged()
            return
        if action not in (
            _Action.VERIFY,
            _Action.VERIFY_AND_SAVE,
            _Action.VERIFY_AND_COMMIT,
            _Action.RECONCILE_AND_COMMIT,
        ):
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"action {action} is unknown; use {', '.join(_Action.Action.keys()[1:])}",
            )
        if not request.HasField("config"):
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"the action {_Action.Action.Name(action)} needs a config, which the request lacks",
            )
        try:
            pipeline = self._pipelines.load(request.config)
        except ProgramError as error:
            raise Refusal(rpc_code.INVALID_ARGUMENT, str(error)) from error
        cookie = request.config.cookie if request.config.HasField("cookie") else None
        if action == _Action.VERIFY_AND_SAVE:
            self._staged = _Staged(self._aside(pipeline), cookie)
        elif action == _Action.VERIFY_AND_COMMIT:
            with self._frames_held():
                self._commit(pipeline, cookie)
        elif action == _Action.RECONCILE_AND_COMMIT:
            self._reconcile(pipeline, cookie)

    def _aside(self, pipeline: Pipeline) -> Target:
        """Return a target for a pipeline on a separate new switch without traffic."""
        network = _engine.Network()
        switch = network.add_switch(f"device {self.id}, aside")
        return self._start(network, switch, pipeline)

    def _start(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline) -> Target:
        network.set_program(switch, pipeline.program)
        return Target(network, switch, pipeline, down=self._down, clock=self._clock, publish=self.publish)

    def _commit(self, pipeline: Pipeline, cookie: _Cookie | None) -> Target:
        target = self._start(self._network, self.switch, pipeline)
        self._committed, self._cookie, self._staged = target, cookie, None
        return target

    def _commit_staged(self) -> None:
        staged = self._staged
        if staged is None:
            raise Refusal(
                rpc_code.NOT_FOUND,
                f"device {self.id} has no saved configuration to commit; send VERIFY_AND_SAVE first",
            )
        with self._frames_held():
            target = self._commit(staged.target.pipeline, staged.cookie)
            for update in staged.written:
                target.write(update)

    def _reconcile(self, pipeline: Pipeline, cookie: _Cookie | None) -> None:
        """Reconcile on a separate switch as a trial, then on the device's switch between two frames."""
        old = self._committed
        kept = carried_over(old, pipeline) if old else []
        write_back(self._aside(pipeline), kept, old and old.pipeline)
        with self._frames_held():
            write_back(self._commit(pipeline, cookie), kept, old and old.pipeline)

    def get_pipeline(self, response_type: int) -> p4r.GetForwardingPipelineConfigResponse:
        """Answer a GetForwardingPipelineConfig; `config` is unset before the first configuration."""
        if response_type not in _Response.ResponseType.values():
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"response type {response_type} is unknown; use {', '.join(_Response.ResponseType.keys())}",
            )
        response = p4r.GetForwardingPipelineConfigResponse()
        target = self._target
        if target is None:
            return response
        config, cookie = response.config, self._staged.cookie if self._staged else self._cookie
        config.SetInParent()
        if cookie is not None:
            config.cookie.CopyFrom(cookie)
        if response_type in (_Response.ALL, _Response.P4INFO_AND_COOKIE):
            config.p4info.CopyFrom(target.pipeline.p4info)
        if response_type in (_Response.ALL, _Response.DEVICE_CONFIG_AND_COOKIE):
            config.p4_device_config = target.pipeline.device_config
        return response

    @property
    def _target(self) -> Target | None:
        """Configuration that reads and writes apply to: the saved one, else the committed one."""
        return self._staged.target if self._staged else self._committed

    def _configured(self) -> Target:
        target = self._target
        if target is None:
            raise Refusal(
                rpc_code.FAILED_PRECONDITION, f"No forwarding pipeline config set for device {self.id}"
            )
        return target

    # -- entities

    def write(self, request: SerialisedWrite) -> None:
        """Carry out updates in order; a BatchRefusal lists the updates that failed."""
        head = request.head
        role = self._require_primary(head)
        target = self._configured()
        if head.atomicity == _Write.CONTINUE_ON_ERROR:
            refused = self._write_each(target, role, request)
        elif head.atomicity in (_Write.ROLLBACK_ON_ERROR, _Write.DATAPLANE_ATOMIC):
            refused = self._write_all_or_none(target, role, request.updates)
        else:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"atomicity {head.atomicity} is unknown; use {', '.join(_Write.Atomicity.keys())}",
            )
        if self._staged:
            done = (update for position, update in enumerate(request.updates) if position not in refused)
            self._staged.written.extend(done)
        if refused:
            raise batch_status("updates", request.count, refused)

    def _write_each(self, target: Target, role: Role, request: SerialisedWrite) -> dict[int, Refusal]:
        """Write each update on its own; frames pass between batches of updates, never within an update.

        The engine carries out plain updates of table entries from the serialised request. This method writes
        the updates that the engine leaves, and all updates of a role with a configuration.
        """
        entries = request.entries if role.config is None else None
        if entries is None or not target.reads_all(entries):
            request.parse()  # bytes that are no message are refused before anything is written
        refused: dict[int, Refusal] = {}
        position = 0
        while True:
            if entries is not None:
                target.write_serialised(entries)
                position = entries.position
            if position == request.count:
                return refused
            update = request.updates[position]
            with self._frames_held():
                try:
                    if entries is None:
                        _check_role(role, update)
                    target.write(update)
                except Refusal as refusal:
                    refused[position] = refusal
            if entries is not None:
                entries.skip()
            position += 1

    def _write_all_or_none(
        self, target: Target, role: Role, updates: Sequence[p4r.Update]
    ) -> dict[int, Refusal]:
        """Write all updates or undo them, between two frames, as DATAPLANE_ATOMIC requires."""
        undo: list[p4r.Update] = []
        with self._frames_held():
            for position, update in enumerate(updates):
                try:
                    _check_role(role, update)
                    inverse = target.inverse(update)
                    target.write(update)
                except Refusal as refusal:
                    for undoing in reversed(undo):
                        target.write(undoing)
                    why = f"undone or not tried, because update {position} failed"
                    others = dict.fromkeys(range(len(updates)), Refusal(rpc_code.ABORTED, why))
                    return {**others, position: refusal}
                undo.extend(inverse)
        return {}

    @contextmanager
    def _frames_held(self) -> Iterator[None]:
        """Lock the network, so that no frame is processed inside the block."""
        self._network.lock()
        try:
            yield
        finally:
            self._network.unlock()

    def read(
        self, wanted: Sequence[p4r.Entity], role_name: str = ""
    ) -> tuple[list[p4r.Entity], Refusal | None]:
        """Return the role's entities selected by valid requests, and a refusal of the invalid requests."""
        role = self._known_role(role_name)
        target = self._configured()
        entities: list[p4r.Entity] = []
        refused: dict[int, Refusal] = {}
        for position, entity in enumerate(wanted):
            try:
                entities += target.read(entity)
            except Refusal as refusal:
                refused[position] = refusal
        if role.config is not None:
            entities = [entity for entity in entities if role.has(entity_id(entity))]
        return entities, batch_status("requests", len(wanted), refused) if refused else None

    def counter_responses(self, request: p4r.ReadRequest, most: int) -> list[bytes] | None:
        """Return serialised ReadResponses for a read of one whole counter, each of at most `most` cells.

        None for any other request, and for a role with a configuration.
        """
        role = self._known_role(request.role)
        target = self._configured()
        if role.config is not None or len(request.entities) != 1:
            return None
        (entity,) = request.entities
        if not entity.HasField("counter_entry"):
            return None
        return target.counter_responses(entity.counter_entry, most)

    # -- events from the engine

    def digest(self, handle: int, fields: bytes) -> None:
        """Handle a digest message of the program; without a committed configuration it is dropped."""
        if self._committed is not None:
            self._committed.digests.learn(handle, fields)

    def idle(self, handle: int) -> None:
        """Notify controllers of entries with expired idle timeouts in the table `handle`."""
        if self._committed is not None:
            self._committed.idle(handle)

    def port_changed(self, port: int, up: bool) -> None:
        """Note that a port has gone up or down."""
        (self._down.discard if up else self._down.add)(port)
        with self._frames_held():
            for target in (self._committed, self._staged.target if self._staged else None):
                if target is not None:
                    target.port_changed(port)


def _check_role(role: Role, update: p4r.Update) -> None:
    id = entity_id(update.entity)
    if not role.has(id):
        raise Refusal(rpc_code.PERMISSION_DENIED, f"id {id} does not belong to role {role.name!r}")


def _to_nobody(_id: int, _message: object) -> None:
    """Notify nobody: no controller is known."""
