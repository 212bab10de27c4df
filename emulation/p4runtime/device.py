# SPDX-License-Identifier: Apache-2.0
"""One switch as P4Runtime sees it: its pipeline configurations, and which controllers it listens to."""

from collections.abc import Hashable, Sequence
from typing import final

from finsy.proto import U128, p4r, rpc_code

from emulation import _engine
from emulation.errors import ProgramError
from emulation.p4runtime.arbitration import Arbitration
from emulation.p4runtime.pipeline import Pipelines
from emulation.p4runtime.status import Refusal, batch_status
from emulation.p4runtime.target import Target

__all__ = ["Device"]

_Action = p4r.SetForwardingPipelineConfigRequest
_Response = p4r.GetForwardingPipelineConfigRequest


@final
class _Staged:
    """A configuration that is saved and not yet committed.

    Until the commit, writes refer to it and not to what forwards, so they go to a switch of their own that no
    frame reaches; the commit replays them.
    """

    def __init__(self, target: Target, cookie: p4r.ForwardingPipelineConfig.Cookie | None) -> None:
        self.target = target
        self.cookie = cookie
        self.written: list[p4r.Update] = []


@final
class Device:
    """Every method wants the engine's lock held."""

    def __init__(self, device_id: int, network: _engine.Network, switch: int, pipelines: Pipelines) -> None:
        self.id = device_id
        self.switch = switch
        self._network = network
        self._pipelines = pipelines
        self._roles: dict[str, Arbitration[Hashable]] = {}
        self._committed: Target | None = None
        self._cookie: p4r.ForwardingPipelineConfig.Cookie | None = None
        self._staged: _Staged | None = None

    @property
    def forwarding(self) -> Target | None:
        """The configuration that frames meet; None before the first commit."""
        return self._committed

    # -- arbitration

    def role(self, name: str) -> Arbitration[Hashable]:
        """The arbitration of a role; a role exists from its first controller on."""
        return self._roles.setdefault(name, Arbitration())

    @property
    def primaries(self) -> list[Hashable]:
        """The primary of every role that has one."""
        return [role.primary for role in self._roles.values() if role.primary is not None]

    def _require_primary(self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest) -> None:
        if request.role and request.role not in self._roles:
            raise Refusal(rpc_code.NOT_FOUND, f"device {self.id} has no role {request.role!r}")
        election_id = U128.decode(request.election_id) if request.HasField("election_id") else None
        if not self.role(request.role).is_primary(election_id):
            raise Refusal(
                rpc_code.PERMISSION_DENIED,
                f"device {self.id}: election id {election_id} is not the primary's",
            )

    # -- pipeline configuration

    def set_pipeline(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        """SetForwardingPipelineConfig. A refused request leaves what was configured as it was."""
        self._require_primary(request)
        action = request.action
        if action == _Action.COMMIT:
            if request.HasField("config"):
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT, "COMMIT takes no config: it commits the one that was saved"
                )
            self._commit_staged()
            return
        if action == _Action.RECONCILE_AND_COMMIT:
            raise Refusal(rpc_code.UNIMPLEMENTED, "RECONCILE_AND_COMMIT is not supported")
        if action not in (_Action.VERIFY, _Action.VERIFY_AND_SAVE, _Action.VERIFY_AND_COMMIT):
            raise Refusal(rpc_code.INVALID_ARGUMENT, f"unknown action {action}")
        if not request.HasField("config"):
            raise Refusal(rpc_code.INVALID_ARGUMENT, "the request has no config")
        try:
            pipeline = self._pipelines.load(request.config)
        except ProgramError as error:
            raise Refusal(rpc_code.INVALID_ARGUMENT, str(error)) from error
        cookie = request.config.cookie if request.config.HasField("cookie") else None
        if action == _Action.VERIFY_AND_COMMIT:
            self._network.set_program(self.switch, pipeline.program)
            self._committed = Target(self._network, self.switch, pipeline)
            self._cookie, self._staged = cookie, None
        elif action == _Action.VERIFY_AND_SAVE:
            aside = _engine.Network()
            switch = aside.add_switch(f"device {self.id}, saved configuration")
            aside.set_program(switch, pipeline.program)
            self._staged = _Staged(Target(aside, switch, pipeline), cookie)

    def _commit_staged(self) -> None:
        staged = self._staged
        if staged is None:
            raise Refusal(rpc_code.NOT_FOUND, f"device {self.id}: no configuration was saved")
        pipeline = staged.target.pipeline
        self._network.set_program(self.switch, pipeline.program)
        target = Target(self._network, self.switch, pipeline)
        for update in staged.written:
            target.write(update)
        self._committed, self._cookie, self._staged = target, staged.cookie, None

    def get_pipeline(self, response_type: int) -> p4r.GetForwardingPipelineConfigResponse:
        """GetForwardingPipelineConfig; `config` is unset while there is none."""
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
        """What reads and writes refer to: the saved configuration, else the committed one."""
        return self._staged.target if self._staged else self._committed

    def _configured(self) -> Target:
        target = self._target
        if target is None:
            raise Refusal(
                rpc_code.FAILED_PRECONDITION, f"No forwarding pipeline config set for device {self.id}"
            )
        return target

    # -- entities

    def write(self, request: p4r.WriteRequest) -> None:
        """Attempt every update, in order; a BatchRefusal tells which failed."""
        self._require_primary(request)
        target = self._configured()
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
            raise Refusal(rpc_code.UNIMPLEMENTED, "only CONTINUE_ON_ERROR is supported")
        refused: dict[int, Refusal] = {}
        for position, update in enumerate(request.updates):
            try:
                target.write(update)
            except Refusal as refusal:
                refused[position] = refusal
            else:
                if self._staged:
                    self._staged.written.append(update)
        if refused:
            raise batch_status("updates", len(request.updates), refused)

    def read(self, wanted: Sequence[p4r.Entity]) -> tuple[list[p4r.Entity], Refusal | None]:
        """What the valid requests select, and the refusal of the others."""
        target = self._configured()
        found: list[p4r.Entity] = []
        refused: dict[int, Refusal] = {}
        for position, entity in enumerate(wanted):
            try:
                found.extend(target.read(entity))
            except Refusal as refusal:
                refused[position] = refusal
        return found, batch_status("requests", len(wanted), refused) if refused else None
