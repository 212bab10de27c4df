"""Lab 6: circuits for a new demand, and when routes and mirrors change."""

from collections import Counter

DARK = -1


def plan(problem):
    """Return the circuits after the change, and the times of its steps in us."""
    standing, demand = problem["standing"], problem["demand"]
    wanted = {(a, b): demand[a][b] for a in range(len(demand)) for b in range(a, len(demand)) if demand[a][b]}
    circuits = search(standing, [list(row) for row in standing], wanted, problem["budget"])
    leave, turn = 0.0, problem["drain_us"]
    # Light is back after the turn; a microsecond more costs nothing.
    use = turn + problem["reconfiguration_us"] + 1.0
    return {"circuits": circuits or standing, "times_us": {"leave": leave, "turn": turn, "use": use}}


def count(maps):
    """Return the circuits between two Pods, the lower Pod first."""
    return Counter((min(i, j), max(i, j)) for row in maps for i, j in enumerate(row) if j != DARK)


def search(standing, maps, wanted, moves):
    """Return maps that serve `wanted` by at most `moves` more circuits set up; None if there are none."""
    has = count(maps)
    lacking = [(pair, number - has[pair]) for pair, number in wanted.items() if has[pair] < number]
    if sum(number for _, number in lacking) > moves:
        return None
    if not lacking:
        return maps if every_pair_keeps_a_circuit(standing, maps, wanted) else None
    a, b = lacking[0][0]
    for pair in range(len(maps)):
        for even, odd in ((a, b), (b, a)):
            new = [list(row) for row in maps]
            if odd in new[pair]:
                new[pair][new[pair].index(odd)] = DARK
            new[pair][even] = odd
            if (result := search(standing, new, wanted, moves - 1)) is not None:
                return result
    return None


def every_pair_keeps_a_circuit(standing, maps, wanted):
    """Return whether all Pods that had a circuit and want any have one that does not move."""
    stay = count(
        [
            [j if j == old else DARK for j, old in zip(*rows, strict=True)]
            for rows in zip(maps, standing, strict=True)
        ]
    )
    had = count(standing)
    return all(stay[pair] or not had[pair] for pair in wanted)
