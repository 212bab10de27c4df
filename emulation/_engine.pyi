"""
The built-in v1model switch and the links between switches, in virtual time (C++, emulation/engine).
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, overload

import numpy
import numpy.typing
from numpy.typing import NDArray

Key = tuple[bytes, bytes, int]
"""(value, mask or upper bound, prefix length) of a match field.

An optional field has prefix length 1 if it is present, 0 if it is a wildcard.
"""

MeterConfig = tuple[int, int, int, int]
"""(committed rate, committed burst, peak rate, peak burst) of a meter.

Rates are units a second, bursts are units; a unit is a byte or a frame.
"""

EntryLayout = tuple[int, int, list[tuple[int, str, bool]], list[tuple[int, int, list[tuple[int, int]]]]]
"""(id, handle, fields, actions) of a table.

A field is (id, match kind, masked). `masked`: it is optional in the p4info and ternary in the program.
An action is (id, handle, parameters), a parameter is (id, width in bits).
"""

Output = tuple[list[tuple[bytes, int]], int | None]
"""(frames, deadline): frames to send as (bytes, VL), and the time of the next deadline in ps, or None."""

class ProgramError(ValueError):
    pass

class Program:
    """
    A v1model program, loaded from the JSON that p4c writes for BMv2; immutable.

    ProgramError: the engine cannot load the program; the message names the object in the JSON.
    """

    def __init__(self, bmv2_json: bytes, traced: bool = False) -> None:
        """
        Load a program.

        A `traced` program gives the same results, and reports each of its steps to Network.trace().
        """

    @property
    def translated(self) -> bool:
        """
        True if the engine was built with a translation of the program to C++.

        Switches then run the translation instead of interpreting the program.
        """

    @property
    def name(self) -> str: ...
    @property
    def tables(self, /) -> list[dict[str, Any]]: ...
    @property
    def actions(self, /) -> list[dict[str, Any]]: ...
    @property
    def counters(self, /) -> list[dict[str, Any]]: ...
    @property
    def registers(self, /) -> list[dict[str, Any]]: ...
    @property
    def meters(self, /) -> list[dict[str, Any]]: ...
    @property
    def profiles(self, /) -> list[dict[str, Any]]: ...
    @property
    def digests(self, /) -> list[dict[str, Any]]: ...
    @property
    def value_sets(self, /) -> list[dict[str, Any]]: ...
    @property
    def headers(self, /) -> list[dict[str, Any]]: ...

class SwitchSet:
    """
    Switches of one control plane.

    Methods that write tables, action profiles, direct counters or direct meters return a status:
    0 OK, 1 exists already, 2 not found, 3 exhausted, 4 invalid, 5 constant. Tables, actions,
    counters and other objects are given by their handles in the lists of Program. Times are
    picoseconds.
    """

    def add_switch(self, name: str, cpu_port: int = 510) -> int: ...
    def set_program(self, switch: int, program: Program | None) -> None: ...
    def reset(self, switch: int, /) -> None: ...
    @property
    def now(self) -> int: ...
    def lock(self) -> None: ...
    def unlock(self) -> None: ...
    def packet_out(self, switch: int, frame: bytes, /) -> None: ...
    def profile(self, switch: int, port: int, frame: bytes, count: int, /) -> list[float]:
        """
        Return the processor seconds of running a frame `count` times up to each stage.

        The stages are copy, parser, ingress, egress and deparser. The time of a stage includes the
        earlier stages.
        """

    def take_control(self) -> tuple[str, int, int, int, bool, bytes] | None:
        """
        Remove and return the oldest notification for the control plane; None if there is none.

        A notification is (kind, time, switch, value, up, bytes). By kind:

        packet_in: `bytes` is the frame.
        port: port `value` went up or down, as `up` says.
        alarm: `value` is the token of alarm(); `switch` is -1.
        digest: `value` is the handle of the digest, `bytes` are its fields.
        idle: table `value` has entries for table_aged().
        log: `bytes` is the line.
        """

    def table_insert(
        self, switch: int, table: int, keys: list[Key], priority: int, action: int, params: list[bytes], /
    ) -> int: ...
    def table_modify(
        self, switch: int, table: int, keys: list[Key], priority: int, action: int, params: list[bytes], /
    ) -> int: ...
    def table_delete(self, switch: int, table: int, keys: list[Key], priority: int, /) -> int: ...
    def table_set_default(self, switch: int, table: int, action: int, params: list[bytes], /) -> int: ...
    def table_reset_default(self, switch: int, table: int, /) -> int: ...
    def table_default(self, switch: int, table: int, /) -> tuple[int | None, list[bytes]]: ...
    def table_read(
        self, switch: int, table: int, /
    ) -> list[tuple[list[Key], int, int, list[bytes], int, int]]:
        """
        Return (keys, priority, action, parameters, packets, bytes) of each entry.

        Action -1: the entry points to a member of the table's action profile; -2: to a group. The
        only parameter is then the id of the member or group.
        """

    def table_get(
        self, switch: int, table: int, keys: list[Key], priority: int, /
    ) -> tuple[list[Key], int, int, list[bytes], int, int] | None:
        """
        Return the entry with these keys and priority, as table_read() does; None if there is none.
        """

    def table_set_constant(self, switch: int, table: int, constant: bool, /) -> None:
        """
        Set whether a table is constant: writes of its entries then return 5.

        At first, the tables for which the program has entries are constant.
        """

    def table_len(self, switch: int, table: int, /) -> int: ...
    def table_point(
        self, switch: int, table: int, keys: list[Key], priority: int, group: bool, id: int, insert: bool, /
    ) -> int:
        """
        Write an entry that points to a member of the table's action profile, or to a `group`.

        `id` is the id of the member or group. `insert`: add a new entry; otherwise modify an entry.
        """

    def member_insert(
        self, switch: int, profile: int, id: int, action: int, params: list[bytes], /
    ) -> int: ...
    def member_modify(
        self, switch: int, profile: int, id: int, action: int, params: list[bytes], /
    ) -> int: ...
    def member_delete(self, switch: int, profile: int, id: int, /) -> int: ...
    def group_set(self, switch: int, profile: int, id: int, members: list[tuple[int, int]], /) -> int:
        """
        Set the members of a group, as (member id, weight) pairs; create the group if it is new.
        """

    def group_delete(self, switch: int, profile: int, id: int, /) -> int: ...
    def table_set_ttl(self, switch: int, table: int, keys: list[Key], priority: int, ttl_ps: int, /) -> int:
        """Set the idle timeout of an entry in ps; 0: the entry never ages."""

    def table_idle(self, switch: int, table: int, keys: list[Key], priority: int, /) -> int:
        """Return the time in ps since the last hit of an entry."""

    def table_aged(self, switch: int, table: int, /) -> list[tuple[list[Key], int]]:
        """
        Return (keys, priority) of each entry that has reached its idle timeout.

        An entry is returned once, until a frame hits the entry again.
        """

    def counter_read(self, switch: int, counter: int, index: int, /) -> tuple[int, int]: ...
    def counter_read_all(self, switch: int, counter: int, /) -> list[tuple[int, int]]: ...
    def counter_response(self, switch: int, counter: int, id: int, first: int, most: int, /) -> bytes:
        """
        Return a serialised ReadResponse of P4Runtime with at most `most` cells of a counter.

        `id` is the P4Runtime id of the counter, `first` the index of the first cell.
        """

    def counter_write(self, switch: int, counter: int, index: int, packets: int, bytes: int, /) -> None: ...
    def direct_counter_write(
        self, switch: int, table: int, keys: list[Key], priority: int, packets: int, bytes: int, /
    ) -> int: ...
    def meter_write(self, switch: int, meter: int, index: int, config: MeterConfig | None) -> None:
        """Configure a cell of a meter; None: the meter marks all frames green."""

    def meter_read(self, switch: int, meter: int, index: int, /) -> MeterConfig | None: ...
    def direct_meter_write(
        self, switch: int, table: int, keys: list[Key], priority: int, config: MeterConfig | None
    ) -> int: ...
    def direct_meter_read(
        self, switch: int, table: int, keys: list[Key], priority: int, /
    ) -> MeterConfig | None: ...
    def register_read(self, switch: int, register: int, index: int, /) -> int: ...
    def register_write(self, switch: int, register: int, index: int, value: int, /) -> None: ...
    def register_read_bytes(self, switch: int, register: int, index: int, /) -> bytes: ...
    def register_write_bytes(self, switch: int, register: int, index: int, value: bytes, /) -> None: ...
    def multicast_set(self, switch: int, group: int, replicas: list[tuple[int, int]], /) -> None:
        """
        Set the replicas of a multicast group, as (port, replication id) pairs.
        """

    def multicast_delete(self, switch: int, group: int, /) -> None: ...
    def clone_set(
        self, switch: int, session: int, replicas: list[tuple[int, int]], truncate_bytes: int = 0
    ) -> None:
        """
        Set the replicas of a clone session, as (port, replication id) pairs.

        `truncate_bytes` is the longest clone in bytes; 0: clones are whole frames.
        """

    def clone_delete(self, switch: int, session: int, /) -> None: ...
    def value_set_write(self, switch: int, value_set: int, values: list[tuple[bytes, bytes]], /) -> None:
        """
        Replace the members of a parser value set by (value, mask) pairs.

        A value or mask is the concatenation of the key's fields, each padded to whole bytes.
        """

    def set_logging(self, switch: int, on: bool, /) -> None:
        """
        Set whether log_msg lines of a switch's program become "log" items of take_control().
        """

    def write_entries(self, switch: int, layouts: EntryLayouts, updates: EntryUpdates, /) -> None:
        """
        Apply updates of table entries in order, from the next update on.

        Stop before the first update that the engine cannot read or that fails; `updates.position` is
        its index.
        """

class EntryLayouts:
    """P4Runtime ids of the tables of a program; immutable."""

    def __init__(
        self,
        program: Program,
        tables: Sequence[
            tuple[
                int,
                int,
                Sequence[tuple[int, str, bool]],
                Sequence[tuple[int, int, Sequence[tuple[int, int]]]],
            ]
        ],
    ) -> None: ...

class EntryUpdates:
    """
    Updates of a serialised WriteRequest. ValueError if the bytes are no WriteRequest.
    """

    def __init__(self, request: bytes) -> None: ...
    @property
    def head(self) -> bytes:
        """Serialised request without its updates."""

    @property
    def count(self) -> int:
        """Number of updates."""

    def plain(self, layouts: EntryLayouts, /) -> bool:
        """Return whether the engine can read every update."""

    @property
    def position(self) -> int:
        """Index of the next update."""

    def skip(self) -> None:
        """Skip the next update. IndexError if no update is left."""

class AgentArray:
    """Array of int32 that one agent can take over, without a copy."""

    @property
    def shape(self, /) -> tuple[int]: ...

class RandomElements:
    """
    Random int32 elements over the whole range, equal to those of numpy's generator.

    `state` and `increment` are values of numpy.random.PCG64.state, each as its (upper, lower)
    64 bits. Methods release the interpreter lock while they draw. ValueError if an array
    does not have `count` elements.
    """

    def __init__(self, state: tuple[int, int], increment: tuple[int, int], count: int) -> None: ...
    @property
    def count(self) -> int: ...
    def fill(self, array: numpy.typing.NDArray[numpy.uint32]) -> None: ...
    def add_to(self, total: numpy.typing.NDArray[numpy.uint32]) -> None:
        """Add the elements to those of an array; sums wrap."""

    def array(self) -> AgentArray: ...

def same_bytes(one: numpy.typing.NDArray[numpy.uint8], other: numpy.typing.NDArray[numpy.uint8]) -> bool:
    """
    Return whether two arrays have equal bytes; release the interpreter lock to compare them.
    """

class Slices:
    """
    Slices of a rank's array, each the payload of a frame.

    Args:
        offsets: Offset of each slice in the array, in bytes.
        sizes: Size of each slice in bytes.
        cells: Cell of each slice.
        order: Slices in the order of their first release.
        count: Number of cells.

    ValueError if the lists differ in length, or a cell or slice number is out of range.
    """

    def __init__(
        self,
        offsets: Sequence[int],
        sizes: Sequence[int],
        cells: Sequence[int],
        order: Sequence[int],
        count: int,
    ) -> None: ...

class Rank:
    """Part of a rank in a schedule; agents of all its iterations share it."""

def rank(
    slices: Slices,
    rank: int,
    ranks: int,
    address: int,
    dtype: int,
    overlap: bool,
    peers: Sequence[tuple[Any, ...]],
    sends: Sequence[tuple[int, int, int, int, int]],
    plans: Sequence[tuple[Sequence[tuple[int, int, list[int], int]], Sequence[list[int]]]],
    of_cell: Sequence[int],
    tasks: Sequence[tuple[int, int, int, int, int, int, bool, list[int]]],
) -> Rank:
    """
    Return a rank's part of a schedule.

    Args:
        slices: Slices of the rank's array.
        rank: Number of the rank.
        ranks: Number of ranks.
        address: CNA of the rank.
        dtype: Element type of the array.
        overlap: False if the sends of a step wait for all arrivals of earlier steps.
        peers: Other ranks that send to the rank or receive from it. A peer is (rank, CNA,
            load-balance values of data by connection, load-balance values of acknowledgements
            by connection, path of each bucket or None, weight of each bucket or an empty list,
            fields of PathTiming for each path or an empty list, seed of the random choice of
            connections or None).
        sends: Transfers from the rank. A send is (step, index of the peer or -1 for the rank
            itself, operation, shift in bytes, task or -1). The shift is the offset at the
            receiver minus the offset at this rank.
        plans: Distinct plans of cells. A plan is (phases, releases). A phase is (step,
            operation, source ranks, task or -1). releases[i] has the indices of the sends that
            may leave after i phases.
        of_cell: Index of each cell's plan in `plans`.
        tasks: Fields of emulation.traffic.schedule.tasks.Task for each task.

    ValueError if an index is out of range, or if a peer has no connection, or not a path and a
    weight for each bucket.
    """

class Transport:
    """
    Parameters of an agent's connections, as emulation.traffic.host.transport defines them.

    Parameters that TransportParameters does not have, or has in another form:
        data: Template of the headers of data frames.
        ack: Template of an acknowledgement.
        congestion: Argument of congestion_control(); None for no congestion control.
        credits: First credit in bytes and rate of all grants in bit/s, if receivers grant
            credits; None if they do not.
        spray: Name of the spraying algorithm; empty for none.
        entropies: Number of load-balance values among which `spray` chooses.
        seed: Seed of the spraying algorithm.

    ValueError for a window out of range, a template of a wrong length, an unknown algorithm,
    credits that are not positive, or `go_back` without `congestion`.
    """

    def __init__(
        self,
        *,
        window: int,
        ack_every: int,
        ack_delay_ps: int,
        initial_rto_ps: int,
        min_rto_ps: int,
        path_rto_ps: int,
        max_rto_ps: int,
        max_retries: int,
        lb_mode: int,
        first_psn: int,
        first_queue: int,
        level: int,
        adaptive: bool,
        data: bytes,
        ack: bytes,
        congestion: object | None = None,
        lossy: bool = False,
        spray: str = "",
        entropies: int = 256,
        seed: int = 0,
        credits: tuple[int, int] | None = None,
        go_back: bool = False,
    ) -> None: ...

class CongestionControl:
    """
    Congestion control of a connection.

    Each method takes an event at time `now` in ps and returns the new limits of the connection:
    (window in bytes, rate in bit/s), 0 for no limit. Amounts are bytes; `under_way` are the bytes
    that remain in flight. emulation.traffic.host.congestion has the algorithms.
    """

    def start(self) -> object: ...
    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> object: ...
    def on_nack(self, now: int, lost: int, under_way: int) -> object: ...
    def on_trim(self, now: int, lost: int, under_way: int) -> object: ...
    def on_timeout(self, now: int, lost: int, under_way: int) -> object: ...
    def on_credit(self, now: int, granted: int) -> object: ...

def congestion_control(given: object) -> CongestionControl:
    """
    Return the congestion control of a new connection.

    `given` is (name, parameters, facts, maker). The facts are the round trip in ps, the rate in
    bit/s, the bytes of the largest frame, and whether full queues trim frames. The maker returns
    an algorithm in Python; None for a built-in algorithm.
    """

class Entropies:
    """
    Packet spraying of a connection: it chooses the load-balance value of each frame.
    """

    def next(self) -> int:
        """Return the load-balance value of the next frame."""

    def note(self, lb: int, news: int, now: int) -> None:
        """
        Report the fate of a frame with load-balance value `lb`.

        `news`: 0 acknowledged, 1 marked, 2 trimmed or lost, 3 timed out.
        """

def entropies(name: str, count: int, seed: int) -> Entropies:
    """
    Return the spraying algorithm `name` over `count` load-balance values.

    ValueError if there is no such algorithm, or `count` is not a power of two up to 256.
    """

class Application:
    """
    Program on a host, in C++.

    While an application is the handler of a Network's host, only the network calls it.
    """

class Participant(Application):
    """
    Agent of an NPU in a collective; see emulation.traffic.host.agents.

    `start`, `on_frame` and `on_timer` take an event at time `now` in ps, and return the frames to
    send and the next deadline. A host without a network calls them.
    """

    def start(self, now: int) -> Output: ...
    def on_frame(self, frame: bytes, now: int) -> Output: ...
    def on_timer(self, now: int) -> Output: ...
    def reroute(self, routes: list[tuple[int, int]], now: int, /) -> Output:
        """
        Retransmit the frames in flight whose routes have changed.

        `routes` are pairs: the CNA of a destination, and a bit for each of its re-routed buckets.
        """

    def call_when_done(self, call: Callable[[], None], /) -> None:
        """
        Set the function that is called when the collective or all iterations have ended.
        """

    def call_at_silence(self, call: Callable[[int, int], None], /) -> None:
        """
        Set the function that is called to ask for other paths to a peer.

        Its arguments are the peer's CNA, and a bit for each bucket whose path has fallen silent.
        """

    @property
    def done(self) -> bool: ...
    @property
    def finished_ps(self) -> int | None: ...
    def failure(self) -> tuple[int, int, int] | None:
        """
        Return (peer, PSN, time in ps) of a connection that the agent gave up; None if there is none.

        The peer is a rank, the PSN that of the oldest unacknowledged frame. A TreeMember returns
        (tree, block, time in ps) of a block whose result did not come.
        """

    @property
    def received(self) -> int:
        """Number of data frames that the agent has received so far."""

    def delivered(self) -> list[tuple[int, int]]:
        """
        Return (rank of the peer, bytes of payload that the peer has acknowledged) for each peer.
        """

    def counts(self) -> tuple[int, int, int, int, int, int, int, dict[str, int], int, int]:
        """
        Return the values of AgentStats in the order of its fields, without `reduction`.
        """

    def reduction_counts(self) -> tuple[int, ...] | None:
        """
        Return the values of ReductionStats in the order of its fields.

        None if the agent has no model of the NPU's reducer.
        """

    def array(self) -> Any:
        """
        Return the bytes of the agent's array, without a copy.

        The agent changes them until it has finished.
        """

class Budget:
    """
    Counts that several Saturators share: frames left to send, and frames received.
    """

    def __init__(self, frames: int, /) -> None: ...
    @property
    def left(self) -> int: ...
    @property
    def received(self) -> int: ...

class Saturator(Application):
    """
    Load generator that keeps a lossless fabric full; see emulation.traffic.host.saturate.

    It sends `at_first` frames at the start, then a frame for each received frame, while `budget`
    has frames left. Each frame is a random one of `frames`. `seed` is the integer that seeds a
    random.Random, as bytes, the most significant first. ValueError if `frames` is empty.
    """

    def __init__(self, frames: Sequence[bytes], at_first: int, seed: bytes, budget: Budget) -> None: ...

class Agent(Participant):
    """
    Agent of a rank in a collective or a traffic graph.

    `data` is the rank's array: bytes, which the agent copies, or an AgentArray, which it takes
    over. ValueError if the array is too short for the rank's slices.
    """

    @overload
    def __init__(
        self,
        rank: Rank,
        data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        job: int,
        parameters: Transport,
        reduction: tuple[bool, int | None, int | None, int] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        rank: Rank,
        data: AgentArray,
        job: int,
        parameters: Transport,
        reduction: tuple[bool, int | None, int | None, int] | None = None,
    ) -> None:
        """
        Create an agent.

        `reduction` is (True for the CCU, rate in bit/s or None, SRAM in bytes or None, percentage of
        busy cores); None: reductions take no time. See emulation.traffic.host.reduction.
        """

    @property
    def longest(self) -> int:
        """Largest number of frames that are still to be sent to one peer."""

    @property
    def spans(self, /) -> list[tuple[int, int]]:
        """
        Opening time and end time of each task, in ps.

        -1 is a time still to come. The list is empty if the rank has no tasks.
        """

class Concurrent(Participant):
    """
    Agents of an NPU in collectives that begin and end independently.

    Each agent has a range of queue numbers; the queue number of a frame selects the agent. See
    emulation.traffic.host.concurrent.
    """

    def __init__(self) -> None: ...
    def add(self, agent: Agent, first_queue: int, queues: int) -> None:
        """
        Add an agent; the next start() starts the agent.

        The agent gets the queue numbers `first_queue` to `first_queue` + `queues` - 1. ValueError if
        another agent has any of these numbers, or they exceed 16 bits.
        """

    def remove(self, first_queue: int) -> None:
        """
        Remove the agent whose first queue number is `first_queue`; its later frames count as junk.
        """

    def call_at_end(self, call: Callable[[int], None], /) -> None:
        """
        Set the function that is called with the first queue number of each agent that ends.

        An agent ends when its result is final, or when it gives up. An agent that receives nothing
        ends when all its frames are acknowledged.
        """

class RepeatingAgent(Participant):
    """
    Agent of a rank in a training job, which alternates computation and a collective.

    See emulation.traffic.host.iterations for `iterations`, `compute_ps` and `overlap_ps`.
    """

    def __init__(
        self,
        rank: Rank,
        data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        iterations: int,
        compute_ps: int,
        overlap_ps: int,
        parameters: Transport,
        reduction: tuple[bool, int | None, int | None, int] | None = None,
    ) -> None: ...
    @property
    def longest(self) -> int:
        """
        Largest number of frames of an iteration that are still to be sent to one peer.
        """

    def call_at_iteration(self, call: Callable[[int], None], /) -> None:
        """
        Set the function that is called with the number of each iteration that ends.
        """

    def use_level(self, level: int, data: bytes, ack: bytes, /) -> None:
        """
        Set the service level of data and the frame templates.

        They apply to iterations that have neither begun nor received a frame.
        """

    def reports(self) -> list[tuple[int, int, int, int, int]]:
        """
        Return the fields of IterationReport for each iteration that has ended.
        """

class TreeBlocks:
    """
    Blocks of a reduction tree, in columns.

    Block i has the elements `starts[i]` up to, but not including, `stops[i]`. Rank `sources[i]`
    sends the values, and rank `owners[i]` gets the result; -1: all ranks. ValueError if the
    columns differ in length.
    """

    def __init__(
        self,
        starts: numpy.typing.NDArray[numpy.int64],
        stops: numpy.typing.NDArray[numpy.int64],
        sources: numpy.typing.NDArray[numpy.int64],
        owners: numpy.typing.NDArray[numpy.int64],
    ) -> None: ...

class TreeMember(Participant):
    """
    Agent of an NPU in an in-network reduction; see emulation.traffic.tree.member.

    Args:
        rank: Rank of the member.
        address: CNA of the member.
        data: Bytes of the array, in the byte order of frames; native float32 if `scaled`.
        trees: Reduction trees, each as (port, blocks). A port is (number of the tree, egress port
            of the member's own switch, CNA of the first switch, leaf number of each rank, window
            in frames, block number of the first frame).
        initial_rto_ps: Retransmission timeout before the first round trip is known.
        min_rto_ps: Shortest retransmission timeout.
        max_rto_ps: Longest retransmission timeout.
        report_after: Retries of a frame after which call_when_lost() reports the tree.
        max_retries: Retries of a frame after which the member gives up.
        operation: Number of the reduction operation.
        item_bytes: Bytes of an element.
        scaled: True for float32 sums: members first agree on a scale, then send integers.

    ValueError if a block exceeds the array or a frame, or if a window is 0.
    """

    def __init__(
        self,
        *,
        rank: int,
        address: int,
        data: numpy.typing.NDArray[numpy.uint8],
        trees: Sequence[tuple[tuple[int, int, int, Sequence[int], int, int], TreeBlocks]],
        initial_rto_ps: int,
        min_rto_ps: int,
        max_rto_ps: int,
        report_after: int,
        max_retries: int,
        operation: int,
        item_bytes: int,
        scaled: bool,
    ) -> None: ...
    def call_when_lost(self, call: Callable[[int], None], /) -> None:
        """
        Set the function that is called with the number of a tree that gives no results.
        """

    def lacking_of(self, tree: int) -> list[int]:
        """
        Return the indices of the blocks of a tree whose results have not arrived.
        """

    def move_to(
        self, tree: int, port: tuple[int, int, int, Sequence[int], int, int], blocks: TreeBlocks, now: int
    ) -> Output:
        """
        Leave `tree`, and send `blocks` up the tree of `port`, as in the constructor.

        `blocks` are the blocks of `tree` whose results some member lacks. ValueError if the member is
        not in `tree`.
        """

    @property
    def wrapped_blocks(self) -> int:
        """Number of results whose sum left the range of its values."""

class QueuePolicy:
    """
    Limits of the queues of a link without credits.

    Args:
        queues: Limits of each lane's queue, as (bytes, frames, trims). 0 bytes or frames: no
            limit. `trims`: a data frame that finds the queue full is trimmed, not dropped.
        trimmed: Lane of trimmed frames that came from a first lane, and from a second lane.
        pauses: Priority flow control, as (XOFF, XON, headroom, watchdog, restore, lanes); None for
            none. XOFF, XON and headroom are bytes of a class in the receive buffer. `watchdog` is
            the longest pause in ps, 0 for no limit, and `restore` the time after it in ps without
            pauses. `lanes` has a bit for each lane that may be paused.
    """

    def __init__(
        self,
        queues: Sequence[tuple[int, int, bool]],
        trimmed: Sequence[int],
        pauses: tuple[int, int, int, int, int, int] | None = None,
    ) -> None: ...

class PartitionError(RuntimeError):
    pass

class Network(SwitchSet):
    """
    Switches, hosts and links in virtual time.

    Only one Python thread at a time may use a network. The direction of a link is 0 from switch
    `sw_a` to `sw_b`, and 1 back.
    """

    def __init__(self) -> None: ...
    def add_switch(self, name: str, cpu_port: int = 510, *, partition: int = 0) -> int:
        """
        Add a switch to a partition of the network, and return the number of the switch.

        Partitions are numbered from 0. Threads run them in parallel, where the results stay the same.
        ValueError for a new partition after the first event.
        """

    def set_threads(self, threads: int) -> None:
        """
        Set the number of threads that run the partitions, by default one for each partition.

        Call it before the first event.
        """

    def window_report(self) -> dict[str, Any]:
        """
        Return the work and the waiting time of the threads (docs/testbeds/performance.md).

        threads: (events, seconds of processor time, seconds of waiting) of each thread.
        windows: number of spans of virtual time that the partitions ran in parallel.
        events_outside: number of events outside windows.
        frames_crossed: number of frames between partitions.
        merge_seconds: processor time of the merges after windows.
        slowest_seconds: processor time of the slowest thread, summed over the windows.
        delay_ps: least delay of a link between partitions.
        """

    @property
    def hops(self) -> int:
        """Number of frames that switches have received from links."""

    @property
    def frames_without_link(self) -> int:
        """Number of frames that left a switch by a port without a link."""

    def connect(
        self,
        sw_a: int,
        port_a: int,
        sw_b: int,
        port_b: int,
        rate_bps: int,
        delay_ps: int,
        credit_bytes: int,
        queue_bytes: int = ...,
        *,
        scheduler: Literal["strict", "round-robin", "deficit"] = "strict",
        quanta: Sequence[int] | None = None,
        plugged: bool = True,
        policy: QueuePolicy | None = None,
        policy_back: QueuePolicy | None = None,
    ) -> int:
        """
        Connect two ports and return the number of the link (docs/reference/links.md).

        `credit_bytes` is the receive buffer of a VL; 0: the link has no credits, and full queues drop
        frames. `queue_bytes` limits the queue of a VL without credits; `policy` replaces this limit, and
        `policy_back` replaces `policy` from the second port to the first.
        `quanta` are the bytes of each VL in a round of the scheduler "deficit", by default 4096. A
        link that is not `plugged` is down, and its ports keep the link they have.
        """

    def attach_host(
        self,
        switch: int,
        port: int,
        rate_bps: int,
        delay_ps: int,
        credit_bytes: int,
        queue_bytes: int = ...,
        *,
        scheduler: Literal["strict", "round-robin", "deficit"] = "strict",
        quanta: Sequence[int] | None = None,
        policy: QueuePolicy | None = None,
    ) -> int:
        """
        Connect a host to a port and return the number of the host.

        The other arguments are those of connect().
        """

    def set_lanes(self, bit: int, vls: Sequence[int]) -> None:
        """
        Give every priority two lanes, each with a queue and credits of its own.

        Bit `bit` of a frame selects the lane; bit 0 is the most significant bit of the first byte.
        vls[2 * priority + lane] is the VL. Without this call a priority has one lane, and the number
        of its VL is the priority.
        """

    def set_cna24(self) -> None:
        """
        Convert frames of hosts with to_cna24() on entry into the network, and back on delivery.
        """

    def set_handler(self, host: int, handler: Any) -> None:
        """
        Replace the handler of a host.

        A handler is an Application, or a Python object with the methods start(now),
        on_frame(frame, now) and on_timer(now), which return Output; None for no handler.
        """

    def start(self, host: int, /) -> None:
        """
        Call `start` of the host's handler, and carry out the actions that it returns.
        """

    def act(self, host: int, actions: tuple[list[tuple[bytes, int]], int | None], /) -> None:
        """
        Carry out actions for a host: send the frames, and set the next deadline.
        """

    def send(self, host: int, frame: bytes, vl: int, /) -> None:
        """Send a frame from a host on a VL."""

    def alarm(self, time_ps: int, token: int, /) -> None:
        """Put an "alarm" with this token into take_control() at a time."""

    def set_link(self, link: int, up: bool, /) -> None:
        """
        Set a link up or down. ValueError if a link that is not plugged is set up.
        """

    def send_pause(self, link: int, direction: int, stop: bool, /) -> None:
        """
        Send a pause frame (IEEE 802.1Qbb) on a direction.

        `stop`: the frame pauses all classes; otherwise it resumes them. ValueError if the link has no
        priority flow control.
        """

    def set_host_link(self, host: int, up: bool, /) -> None: ...
    def plug(self, link: int, /) -> None:
        """
        Connect the ports of a link to the link, instead of the links they had.

        ValueError if a port has another link that is up.
        """

    def impair(
        self,
        link: int,
        direction: int,
        *,
        blocked: bool = False,
        loss: float = 0.0,
        rate_bps: int | None = None,
        extra_delay_ps: int = 0,
    ) -> None:
        """
        Impair a direction of a link for frames sent from now on (docs/reference/links.md).

        `blocked`: all frames are lost. `loss` is the probability that a frame is lost. `rate_bps`
        replaces the link's rate. The default values end an impairment.
        """

    def set_seed(self, seed: int, /) -> None:
        """
        Set the seed of all links, and of the random numbers that programs draw.

        Each direction of a link, and each switch, has its own random number generator.
        """

    def record(self, link: int, path: str, direction: int | None = None) -> None:
        """
        Record the frames of a link in a PCAP file, each at the beginning of its transmission.

        `direction` None: both directions. OSError if the file cannot be written.
        """

    def end_recordings(self) -> None: ...
    def keep_recent(self, link: int, most: int, /) -> None:
        """
        Keep copies of the latest `most` frames of a link, both directions together; 0: stop.
        """

    def recent(self, link: int, /) -> list[tuple[int, int, int, bytes]]:
        """
        Return the frames kept by keep_recent(), the oldest first.

        A frame is (number, time in ps, direction, bytes).
        """

    def run(self, until_ps: int | None = None, events: int = ...) -> int:
        """
        Run events up to the time `until_ps`, at most `events` of them, and return why the run ended.

        0: no event is left.
        1: the time is `until_ps`.
        2: take_control() has a notification.
        3: queues wait for each other; deadlock() names them.
        4: `events` events have run, and more are left.

        Python's signal handlers run meanwhile. PartitionError if an event needs several partitions at
        its own time: run the scenario in one partition.
        """

    def set_tolerant(self, tolerant: bool, /) -> None:
        """
        Set whether the run continues when a program fails on a frame.

        If `tolerant`, the frame is dropped, and take_control() has an item "log". Otherwise run() and
        packet_out() raise RuntimeError. A program fails by a failed `assert`, or when a frame exceeds
        its budget of passes, copies and rounds (docs/reference/engine.md).
        """

    @property
    def frames_failed(self) -> int:
        """
        Number of frames dropped because their program failed; see set_tolerant().
        """

    def link_stats(self, link: int, direction: int, /) -> dict[str, Any]:
        """Return the counts of a direction of a link."""

    def host_stats(self, host: int, direction: int, /) -> dict[str, Any]:
        """
        Return the counts of a direction of a host's link; 0: from the host, 1: to the host.
        """

    def sample(self) -> tuple[bytes, bytes, bytes]:
        """
        Return (load, queue, state) of all links, for display; sampling never changes results.

        load: a byte for each direction of each link: share of the time since the last sample in which
            it sent; 255: all of the time.
        queue: a byte for each direction of each link: waiting bytes as a share of a VL's receive
            buffer if the link has credits, otherwise of the queue's limit; 255: full.
        state: a byte for each link, with bits: 1 up; 2 and 4 first and second direction impaired; 8
            and 16 first and second direction paused.
        """

    def queue_depths(self) -> tuple[bytes, bytes]:
        """
        Return the bytes that wait to be sent in each direction, and whether it is paused.

        The first result has an int64, the second a byte (1: paused) for each direction. The order is
        both directions of each link, then the direction to each host.
        """

    def queued_by_vl(self, link: int, direction: int, /) -> list[int]:
        """Return the bytes that wait to be sent on a direction, by VL."""

    def deadlock(self) -> list[tuple[int, int, int]]:
        """
        Return the queues that wait for each other in a cycle, after run() has returned 3.

        A queue is (link, direction, VL), or (-1, host, VL) on a host's link.
        """

    def set_bin(self, width_ps: int, vls: int = 16) -> None:
        """
        Count the bytes that reach hosts, in bins of `width_ps`; see delivered_bins().

        Only frames on the `vls` lanes of lowest priority count.
        """

    def delivered_bins(self) -> list[int]:
        """Return the bytes that have reached hosts in each bin of set_bin()."""

    def delivered_bytes(self) -> int:
        """Return the sum of delivered_bins()."""

    def process(self, switch: int, port: int, frame: bytes, /) -> list[tuple[int, bytes]]:
        """
        Return (egress port, frame) of each frame that a switch sends for a frame on an ingress port.
        """

    def trace(
        self, switch: int, port: int, frame: bytes, /
    ) -> tuple[list[tuple[int, bytes]], list[dict[str, Any]]]:
        """
        Return the result of process(), and the steps of the program on the frame.

        A step is a parser state, table, condition or statement; harness.frames.steps explains its
        values. ValueError if the switch's program is not traced.
        """

    def bench(self, switch: int, port: int, frame: bytes, count: int, copy_only: bool = False) -> float:
        """
        Return the processor seconds of processing a frame `count` times.

        `copy_only`: only copy the frame, as a baseline.
        """

def to_cna24(frame: bytes, /) -> bytes:
    """
    Return a frame with its CNA16 header converted to CNA24 and reliable transport headers.

    A frame with other headers is returned unchanged (docs/reference/wire-format.md).
    """

def from_cna24(frame: bytes, /) -> bytes:
    """Undo to_cna24(); a frame with other headers is returned unchanged."""

class HostDriver:
    """
    Driver of sans-IO hosts on raw sockets, in real time. add() returns the number of a host.
    """

    def __init__(self, rate_bps: float, dilation: int, bin_ps: int, note_ns: int = 0) -> None:
        """
        Create a driver.

        Args:
            rate_bps: Rate at which each host sends, in real bits per second.
            dilation: Real seconds of a second of scenario time.
            bin_ps: Width of the bins of bins(), in ps of scenario time.
            note_ns: Least time in ns between two reports of an active host by run(); 0: no reports.
        """

    def add(self, host: Application | object, fd: int, arrived: Any, ring_bytes: int) -> int:
        """
        Add a host with a bound raw socket, and return the number of the host.

        Received frames wait in a ring of about `ring_bytes`. `arrived` is an array with one int64, to
        which the driver adds the bytes of data that arrive. OSError if the socket cannot be used.
        """

    def watch(self, fd: int) -> None:
        """Let run() return whenever the descriptor `fd` is readable."""

    def rest(self, share: float, least_run_ns: int = 0) -> None:
        """
        Rest between two polls for frames, for up to `share` of the run's duration.

        Frames are then served in groups. A rest is no longer than the transmission time of the
        longest frame. The duration of the run is the time since go(), but at least `least_run_ns`.
        """

    def go(self, start_ns: int) -> None:
        """
        Let scenario time and all hosts begin at `start_ns` of the monotonic clock.

        OSError if a ring cannot be opened.
        """

    def replace(self, index: int, host: Application | object, start_ns: int) -> None:
        """
        Replace a host by a host that begins at `start_ns`; drop the frames that wait to be sent.
        """

    def reroute(self, index: int, routes: list[tuple[int, int]]) -> None:
        """Tell an agent of changed routes, as Participant.reroute()."""

    def act(self, index: int, output: tuple[list[tuple[bytes, int]], int | None]) -> None:
        """
        Send frames for a host and set its next deadline, without an event of the host.
        """

    def run(self) -> tuple[list[int], list[int], list[int]]:
        """
        Run until there is something to handle.

        Return (readable descriptors of watch(), hosts that have just ended, active hosts to note).
        """

    def stop(self) -> None:
        """End the pace measurements of all hosts."""

    @property
    def at(self) -> int:
        """Number of the host whose event was served last."""

    def bins(self, index: int) -> dict[int, int]:
        """
        Return the bytes of data that arrived at a host, by number of the time bin.
        """

    def pace(self, index: int) -> tuple[float, int, int, Any, Any]:
        """
        Return (offered bytes, sent bytes, refused frames, lateness in ns, wait in ns) of a host.

        Offered bytes are those that the rate allowed while frames waited. Refused frames were sent
        again, since the kernel had no room. Lateness is the time from a frame's slot to its sending,
        and wait the time in the queue, each an array by frame.
        """

    def counts(self) -> dict[str, int]:
        """
        Return the numbers of polls, of rings with frames, of received frames and of timers.
        """

class Wire(SwitchSet):
    """
    Switches on Linux interfaces, in real time. One thread handles the frames of all switches.
    """

    def __init__(self) -> None: ...
    def add_port(self, switch: int, port: int, interface: str) -> None:
        """
        Bind a port to an interface; call it before start().

        ValueError if the interface does not exist, or the port or interface is taken.
        """

    def record(self, directory: str) -> None:
        """
        Record the frames of every port in INTERFACE_in.pcap and INTERFACE_out.pcap of a directory.

        Call it before start().
        """

    def dump(self, bytes: int) -> None:
        """
        Add the first `bytes` of every frame to take_messages(); call it before start().
        """

    def log_programs(self) -> None:
        """
        Add the log messages of programs to take_messages(); call it before add_switch().
        """

    def set_queues(self, queues: int) -> None:
        """
        Set the number of queues of a port, 8 by default; call it before start().

        Frames whose priority is not below `queues` are dropped.
        """

    def hold(self, frames: int) -> None:
        """
        Let frames for a slow interface wait in the switch instead of the kernel.

        A queue of a port holds up to `frames` frames, and the kernel one. Call it before start().
        """

    def set_rate(self, switch: int, port: int, bits_per_second: float) -> None:
        """
        Pace the frames that leave by a port; call it before start().

        ValueError if there is no such port, or the rate is not positive.
        """

    def start(self) -> None:
        """
        Open the interfaces and start the thread. OSError if an interface cannot be opened.
        """

    def stop(self) -> None: ...
    @property
    def event_fd(self) -> int:
        """
        An eventfd, signalled when take_control() or take_messages() has something to return.
        """

    def up(self, switch: int, port: int) -> bool: ...
    def stats(self, switch: int, port: int) -> dict[str, int]:
        """
        Return the counts of a port, of frames unless the name says bytes.

        received, received_bytes, sent, sent_bytes: frames and bytes on the interface.
        missed: lost at a full receive ring.
        too_long: longer than the MTU, received or to be sent.
        refused_down: to be sent while the port was down.
        refused_full: to be sent while the queue was full, in the switch or in the kernel.
        failed: dropped since the program failed or exceeded its budget.
        refused_odd: not sent for another reason: too short, or of a priority without a queue.
        """

    def take_messages(self) -> list[tuple[str, str]]:
        """
        Return (level, text) of the messages since the last call; levels: "info", "warning", "error".
        """
