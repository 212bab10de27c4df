# SPDX-License-Identifier: Apache-2.0
"""Actions for undoing a testbed, in reverse order; the rest run even after a failure or a Ctrl-C."""

from collections.abc import Callable
from typing import final

from emulation.errors import TestbedError

__all__ = ["Teardown"]


@final
class Teardown:
    """Stack of actions, each undoing a step of making a testbed."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def add(self, action: Callable[[], None]) -> None:
        """Add an action, to run before all actions added earlier."""
        self._actions.append(action)

    def run(self) -> None:
        """Run each action once, in reverse order.

        Raises:
            TestbedError: Actions have failed; all other actions have run.
        """
        actions, self._actions = self._actions, []
        problems: list[Exception] = []
        interrupted: BaseException | None = None
        for action in reversed(actions):
            try:
                action()
            except Exception as problem:  # the other actions must still run
                problems.append(problem)
            except BaseException as interrupt:  # a second Ctrl-C: the other actions still run
                interrupted = interrupt
        if interrupted is not None:
            raise interrupted
        if problems:
            raise TestbedError(
                f"while stopping: {'; '.join(map(str, problems))}",
                remedy="`railyard clean` removes what is left",
            )
