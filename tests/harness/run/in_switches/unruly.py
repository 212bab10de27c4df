# SPDX-License-Identifier: Apache-2.0
"""An embedded testbed whose hosts repeat, delay and reorder the frames of members, which links never do."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import Any, final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.host.participant import Output
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.tree.member import TreeMember, make_all
from emulation.traffic.tree.spec import MemberSpec
from harness.run.prepare import Prepared
from harness.run.testbeds import Embedded

__all__ = ["UnrulyHosts"]

_LATEST_PS = 30_000_000


@final
class _Unruly:
    """A member behind a host that sends a share of its frames twice, and holds a share back."""

    def __init__(self, agent: TreeMember, random: Random, share: float) -> None:
        self._agent, self._random, self._share = agent, random, share
        self._held: list[tuple[int, int, bytes, int]] = []
        self._count = 0
        self._deadline: int | None = None

    def start(self, now: int) -> Output:
        return self._pass(self._agent.start(now), now)

    def on_frame(self, frame: bytes, now: int) -> Output:
        answer = self._agent.on_frame(frame, now)
        if self._random.random() < self._share:
            again = self._agent.on_frame(frame, now)
            answer = [*answer[0], *again[0]], again[1]
        return self._pass(answer, now)

    def on_timer(self, now: int) -> Output:
        answer: Output = [], self._deadline
        if self._deadline is not None and self._deadline <= now:
            answer = self._agent.on_timer(now)
        return self._pass(answer, now)

    def move(self, *what: Any) -> Output:
        return self._pass(self._agent.move(*what), what[-1])

    def _pass(self, answer: Output, now: int) -> Output:
        frames, self._deadline = answer
        out = []
        for frame, vl in frames:
            if self._random.random() < self._share:
                self._count += 1
                heappush(self._held, (now + self._random.randint(1, _LATEST_PS), self._count, frame, vl))
                if self._random.random() < 0.5:
                    continue
            out.append((frame, vl))
        while self._held and self._held[0][0] <= now:
            *_, frame, vl = heappop(self._held)
            out.append((frame, vl))
        times = [self._held[0][0]] if self._held else []
        times += [] if self._deadline is None else [self._deadline]
        return out, min(times, default=None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("on_done", "on_lost"):
            setattr(self._agent, name, value)
        else:
            object.__setattr__(self, name, value)


@final
@dataclass(frozen=True, slots=True)
class UnrulyHosts:
    """Choice of this testbed; `share` is the share of frames that come twice, late or in another order."""

    share: float
    name: str = "embedded"
    switch: str = ""
    options: Sequence[str] = ()

    def check_machine(self, *, captures: bool) -> None:
        """Do nothing."""

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Check as for hosts without a will of their own."""
        Embedded().check(prepared, captures=captures)

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        """Return a testbed in virtual time."""
        random = Random(seed)
        testbed = Embedded(whole=True).make(ready, bin_ps, seed, captures=captures)

        def unruly(specs: Sequence[AgentSpec | MemberSpec], threads: int) -> list[Any]:
            agents = make_all(specs, threads)
            return [_Unruly(a, random, self.share) if isinstance(a, TreeMember) else a for a in agents]

        testbed.make_agents = unruly
        return testbed
