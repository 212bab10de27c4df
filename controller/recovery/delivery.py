# SPDX-License-Identifier: Apache-2.0
"""Delivery of one node's notices and subscriptions: each is repeated until its receiver acknowledges it.

The node's controller chooses the path of the first transmission. Repetitions, and acknowledgements of
repetitions, take the shortest paths in turn if source routes can steer them, so that a link that loses all
frames in one direction does not lose every repetition. UB-Mesh does not describe lost notices; this project
adds the repetitions.

A state machine without clock or socket: its driver passes messages and the time in and sends what it returns.
"""

from dataclasses import dataclass
from typing import final

from controller.paths.source_route import MAX_INSTRUCTIONS
from controller.plan.entry import hops_of
from controller.recovery.messages import Acknowledgement, Notice, Outgoing, Subscription, link_of
from controller.recovery.shared_schemes import SharedSchemes

__all__ = ["MAX_REPETITIONS", "Delivery"]

# Repetitions of a message, each after twice the time of the previous; its receiver then counts as cut off.
MAX_REPETITIONS = 6

Key = tuple[int, int, int, int, bool, int]
"""Ends of a link, whether the message is a subscription, and the address of the receiver."""


@final
@dataclass(slots=True)
class _Pending:
    outgoing: Outgoing
    due_ps: int
    repetitions: int = 0


@final
class Delivery:
    """Messages of one node awaiting acknowledgement. Times are picoseconds.

    `repeated` counts repetitions. `unconfirmed` are messages given up.
    """

    def __init__(self, schemes: SharedSchemes, node: str, repeat_ps: int) -> None:
        self.node = node
        self.repeated = 0
        self.unconfirmed: list[Outgoing] = []
        self._schemes = schemes
        self._fabric = schemes.plan.fabric
        self._address = self._fabric.node(node).address
        self._repeat_ps = repeat_ps
        self._pending: dict[Key, _Pending] = {}
        self._answered: dict[tuple[Key, int], int] = {}  # by message and sequence: acknowledgements sent

    @property
    def deadline_ps(self) -> int | None:
        """Time to call `on_timer` next; None if nothing is pending."""
        return min((pending.due_ps for pending in self._pending.values()), default=None)

    def sent(self, outgoing: Outgoing, now: int) -> None:
        """Await the acknowledgement of a message; forget an earlier one to this receiver about the link."""
        message = outgoing.message
        if not isinstance(message, Acknowledgement):
            key = _key(message, outgoing.destination_cna)
            self._pending[key] = _Pending(outgoing, now + self._repeat_ps)

    def on_acknowledgement(self, answer: Acknowledgement) -> None:
        """Forget the acknowledged message; ignore the acknowledgement of an earlier message."""
        key = (*_link(answer), answer.subscription, answer.origin)
        pending = self._pending.get(key)
        if pending is not None and _sequence(pending.outgoing.message) == answer.sequence:
            del self._pending[key]

    def acknowledge(
        self, message: Notice | Subscription, sender_cna: int, ingress_port: int, failed: frozenset[str]
    ) -> Outgoing | None:
        """Return the acknowledgement of a message; None if no path leads to its sender.

        Args:
            message: The message that has arrived.
            sender_cna: Address of the node that sent it.
            ingress_port: Port at which it arrived.
            failed: Links that this node knows to be down.
        """
        sender = self._fabric.node_of(sender_cna)
        if sender is None:
            return None
        key, sequence = _key(message, sender_cna), _sequence(message)
        before = self._answered[key, sequence] = self._answered.get((key, sequence), -1) + 1
        answer = Acknowledgement(*_link(message), key[4], sequence, self._address)
        neighbour = self._fabric.peer(self.node, ingress_port)
        if not before and neighbour is not None and neighbour.node == sender.name:
            return Outgoing(answer, sender_cna, (ingress_port,))
        if isinstance(message, Notice) and not message.up and (link := link_of(self._fabric, message)):
            failed |= {link.name}  # this node has not rewritten its tables yet
        if not before and not sender.is_switch and not self._fabric.node(self.node).is_switch:
            planned = self._schemes.planned_path(self.node, sender.name)
            if not failed or self._schemes.without(failed).finder.is_alive(planned):
                return Outgoing(answer, sender_cna)
        return self._by_path(answer, sender_cna, before, failed)

    def give_up(self) -> None:
        """Await no acknowledgement any more: all pending messages become `unconfirmed`."""
        self.unconfirmed += [pending.outgoing for pending in self._pending.values()]
        self._pending.clear()

    def on_timer(self, now: int, failed: frozenset[str]) -> tuple[Outgoing, ...]:
        """Return the messages to repeat; a message with MAX_REPETITIONS repetitions becomes `unconfirmed`."""
        again: list[Outgoing] = []
        for key, pending in list(self._pending.items()):
            if pending.due_ps > now:
                continue
            if pending.repetitions == MAX_REPETITIONS:
                del self._pending[key]
                self.unconfirmed.append(pending.outgoing)
                continue
            pending.repetitions += 1
            pending.due_ps = now + (self._repeat_ps << pending.repetitions)
            first = pending.outgoing
            other = self._by_path(first.message, first.destination_cna, pending.repetitions, failed)
            if other is not None:
                again.append(other)
        self.repeated += len(again)
        return tuple(again)

    def _by_path(
        self,
        message: Notice | Subscription | Acknowledgement,
        destination_cna: int,
        turn: int,
        failed: frozenset[str],
    ) -> Outgoing | None:
        """Return a message along path number `turn` to its receiver; None if no source route steers one."""
        receiver = self._fabric.node_of(destination_cna)
        if receiver is None:
            return None
        scheme = self._schemes.without(failed)
        paths = list(scheme.repeated_message_paths(self.node, receiver.name))
        if not paths and (path := self._schemes.path_to(self.node, receiver.name, failed)):
            paths = [path]
        paths = [path for path in paths if len(path) - 1 <= MAX_INSTRUCTIONS]
        if not paths:
            return None
        ports = tuple(scheme.finder.port_to(*hop) for hop in hops_of(paths[turn % len(paths)]))
        return Outgoing(message, destination_cna, ports)


def _link(message: Notice | Subscription | Acknowledgement) -> tuple[int, int, int, int]:
    return message.cna_a, message.port_a, message.cna_b, message.port_b


def _key(message: Notice | Subscription, receiver_cna: int) -> Key:
    return (*_link(message), isinstance(message, Subscription), receiver_cna)


def _sequence(message: Notice | Subscription | Acknowledgement) -> int:
    return 0 if isinstance(message, Subscription) else message.sequence
