# SPDX-License-Identifier: Apache-2.0
"""Messages of node controllers in band: frames out, acknowledgements in, repetitions when they are due."""

from collections.abc import Callable, Iterable, Mapping
from typing import final

from controller import NodeController, Notice, Outgoing, Subscription
from controller.p4runtime.client import P4RuntimeClient
from controller.recovery.delivery import Delivery
from controller.recovery.messages import Acknowledgement
from controller.recovery.shared_schemes import SharedSchemes
from emulation.control.frames import message_frame, sender_of
from emulation.control.packet_outs import send_packet_outs
from emulation.testbed import ControlledTestbed

__all__ = ["Messenger"]

# Picoseconds of real time: between checks of a node's pending messages, and from the end of the jobs until
# pending messages are given up. A repetition may be due minutes later, and changes no result.
_LOOK_PS = 10**12
_PATIENCE_PS = 5 * 10**12


@final
class Messenger:
    """Sends the messages of all node controllers, and repeats unacknowledged messages.

    A message is repeated after `repeat_ps`, then after twice that time, and so on. Without `repeat_ps`
    messages are sent once and nothing is acknowledged. `sent` counts notices and subscriptions, each
    once; repetitions and acknowledgements are counted apart. In real time a message is given up if it is not
    acknowledged within five seconds after the last job has ended.
    """

    def __init__(self, testbed: ControlledTestbed, client: P4RuntimeClient, repeat_ps: int | None) -> None:
        self.sent = self.acknowledgements = 0
        self._testbed = testbed
        self._client = client
        self._repeat_ps = repeat_ps
        self._cna: dict[str, int] = {}
        self._controllers: Mapping[str, NodeController] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._schemes: SharedSchemes | None = None
        self._repeated = self._unconfirmed = 0
        self._looked_at: set[Delivery] = set()  # in real time, deliveries with a scheduled check
        self._idle_since: int | None = None
        self.active: Callable[[], bool] = lambda: True
        """False once no job is left."""

    @property
    def repeated(self) -> int:
        """Number of repetitions up to now."""
        return self._repeated + sum(delivery.repeated for delivery in self._deliveries.values())

    @property
    def unconfirmed(self) -> int:
        """Number of messages given up: no repetition was acknowledged."""
        return self._unconfirmed + sum(len(delivery.unconfirmed) for delivery in self._deliveries.values())

    def use(self, schemes: SharedSchemes, controllers: Mapping[str, NodeController]) -> None:
        """Continue with the controllers of another plan; pending messages of the earlier plan are dropped."""
        self._repeated, self._unconfirmed = self.repeated, self.unconfirmed
        self._schemes = schemes
        self._controllers = controllers
        self._cna = {node.name: node.address for node in schemes.plan.fabric.nodes}
        self._deliveries = {}

    def forget(self, node: str) -> None:
        """Drop a node's pending messages; none is repeated any more."""
        delivery = self._deliveries.pop(node, None)
        if delivery is not None:
            self._repeated += delivery.repeated
            self._unconfirmed += len(delivery.unconfirmed)

    def send(self, node: str, outgoing: Iterable[Outgoing]) -> None:
        """Send messages of a node, and schedule repetitions until they are acknowledged."""
        messages = tuple(outgoing)
        if self._repeat_ps is not None and messages:
            delivery = self._delivery(node)
            for message in messages:
                delivery.sent(message, self._testbed.now_ps)
            self._wake_at(delivery, self._testbed.now_ps + self._repeat_ps)
        self._transmit(node, messages)
        self.sent += len(messages)

    def acknowledge(self, node: str, port: int, frame: bytes, message: Notice | Subscription) -> None:
        """Send the acknowledgement of a message received at a port of a node."""
        if self._repeat_ps is None:
            return
        failed = self._controllers[node].down
        answer = self._delivery(node).acknowledge(message, sender_of(frame), port, failed)
        if answer is not None:
            self._transmit(node, (answer,))
            self.acknowledgements += 1

    def on_acknowledgement(self, node: str, answer: Acknowledgement) -> None:
        """Handle an acknowledgement received by a node."""
        if self._repeat_ps is not None:
            self._delivery(node).on_acknowledgement(answer)

    def _delivery(self, node: str) -> Delivery:
        if node not in self._deliveries:
            assert self._schemes is not None
            assert self._repeat_ps is not None
            self._deliveries[node] = Delivery(self._schemes, node, self._repeat_ps)
        return self._deliveries[node]

    def _wake_at(self, delivery: Delivery, time_ps: int) -> None:
        if self._testbed.virtual:
            self._testbed.at(time_ps, lambda: self._wake(delivery))
        elif delivery not in self._looked_at:
            self._looked_at.add(delivery)
            look_ps = self._testbed.now_ps + _LOOK_PS // self._testbed.dilation
            self._testbed.at(min(time_ps, look_ps), lambda: self._look(delivery))

    def _look(self, delivery: Delivery) -> None:
        """Repeat a node's due messages; give up all once the jobs have been over for _PATIENCE_PS."""
        self._looked_at.discard(delivery)
        now = self._testbed.now_ps
        if self.active():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif (now - self._idle_since) * self._testbed.dilation >= _PATIENCE_PS:
            delivery.give_up()
        self._wake(delivery)
        due = delivery.deadline_ps
        if due is not None and self._deliveries.get(delivery.node) is delivery:
            self._wake_at(delivery, due)

    def _wake(self, delivery: Delivery) -> None:
        """Repeat a node's due messages, and set the timer for the next; nothing if none is due."""
        now = self._testbed.now_ps
        due = delivery.deadline_ps
        if due is None or due > now or self._deliveries.get(delivery.node) is not delivery:
            return
        again = delivery.on_timer(now, self._controllers[delivery.node].down)
        self._transmit(delivery.node, again)
        due = delivery.deadline_ps
        if due is not None:
            self._wake_at(delivery, due)

    def _transmit(self, node: str, messages: Iterable[Outgoing]) -> None:
        send_packet_outs(
            self._testbed, self._client, node, (self._frame(node, message) for message in messages)
        )

    def _frame(self, node: str, message: Outgoing) -> tuple[int | None, bytes]:
        """Return the egress port and frame of a message; with several ports: None, and a source route."""
        direct = len(message.ports) == 1
        route = () if direct else message.ports
        frame = message_frame(message.message, self._cna[node], message.destination_cna, route)
        return (next(iter(message.ports)) if direct else None), frame
