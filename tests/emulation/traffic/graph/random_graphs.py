# SPDX-License-Identifier: Apache-2.0
"""Random traffic graphs: every kind of operation, shared buffers, tags, delays and computing units."""

from random import Random

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Operation

US = 10**6


def random_graph(random: Random, members: list[str], operations: int) -> Graph:
    """Return a graph whose operations wait for some of those before them that their member sees end."""
    chosen: list[Operation] = []
    receives: list[tuple[str, str, int, int]] = []

    def after(member: str) -> tuple[str, ...]:
        # A send with a tag ends at its target with a receive, which may come later in the list.
        seen = [o.id for o in chosen if member == o.member or (member == o.peer and o.tag is None)]
        return tuple(random.sample(seen, min(len(seen), random.choice([0, 0, 1, 1, 2]))))

    def place(size: int) -> int | None:
        return random.choice([None, 4 * random.randrange(64)]) if size % 4 == 0 else None

    for number in range(operations):
        member, peer = random.sample(members, 2)
        kind = random.choice(["send", "send", "send", "compute", "copy", "receive"])
        common = {
            "after": after(member),
            "at_ps": random.choice([0, 0, 0, random.randrange(30) * US]),
            "delay_ps": random.choice([0, 0, random.randrange(5) * US]),
        }
        size = random.choice([1, 4, 20, 256, 300, 1000])
        if kind == "compute":
            chosen.append(
                Operation(
                    f"o{number}",
                    "compute",
                    member,
                    compute_ps=random.randrange(9) * US,
                    unit=random.randrange(2),
                    **common,
                )
            )
            continue
        if kind == "receive" and receives:
            source, target, size, tag = receives.pop(0)
            common["after"] = after(target)
            combine = Combine.REDUCE if size % 4 == 0 and random.random() < 0.5 else Combine.COPY
            chosen.append(
                Operation(
                    f"o{number}",
                    "receive",
                    target,
                    source,
                    write=place(size),
                    combine=combine,
                    tag=tag,
                    **common,
                )
            )
            continue
        tagged = kind == "receive"
        kind = "copy" if kind == "copy" else "send"
        holds = [
            o.id
            for o in chosen
            if o.kind in ("send", "copy")
            and o.tag is None
            and (o.peer or o.member) == member
            and o.size >= size
        ]
        read = random.choice(holds) if holds and random.random() < 0.3 else place(size)
        chosen.append(
            Operation(
                f"o{number}",
                kind,
                member,
                peer if kind == "send" else "",
                size,
                read=read,
                write=place(size),
                combine=Combine.REDUCE if size % 4 == 0 and random.random() < 0.4 else Combine.COPY,
                tag=number if tagged else None,
                compute_ps=random.choice([0, 0, US]),
                **common,
            )
        )
        if tagged:
            receives.append((member, peer, size, number))
    for number, (source, target, _, tag) in enumerate(receives):
        chosen.append(Operation(f"r{number}", "receive", target, source, tag=tag, after=after(target)))
    return Graph("random", tuple(chosen))
