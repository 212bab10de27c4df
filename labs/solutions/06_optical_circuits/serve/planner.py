"""Lab 6: circuits for a new demand, and when routes and mirrors change."""

from collections import Counter

DARK = -1


def plan(problem):
    """Return the circuits after the change, and the times of its steps in us."""
    standing, demand = problem["standing"], problem["demand"]
    wanted = {(a, b): demand[a][b] for a in range(len(demand)) for b in range(a, len(demand)) if demand[a][b]}
    # To do: this builds all circuits anew, and most of the old ones could have stayed.
    circuits = search([[DARK] * len(demand) for _ in standing], wanted, sum(wanted.values()) + 3)
    # To do: when do routes leave the circuits that move, when do the mirrors turn, when do routes use them?
    return {"circuits": circuits or standing, "times_us": {"leave": 0, "turn": 0, "use": 0}}


def count(maps):
    """Return the circuits between two Pods, the lower Pod first."""
    return Counter((min(i, j), max(i, j)) for row in maps for i, j in enumerate(row) if j != DARK)


def search(maps, wanted, moves):
    """Return maps that serve `wanted` by at most `moves` more circuits set up; None if there are none."""
    has = count(maps)
    lacking = [(pair, number - has[pair]) for pair, number in wanted.items() if has[pair] < number]
    if sum(number for _, number in lacking) > moves:
        return None
    if not lacking:
        return maps
    a, b = lacking[0][0]
    for pair in range(len(maps)):
        for even, odd in ((a, b), (b, a)):
            new = [list(row) for row in maps]
            if odd in new[pair]:
                new[pair][new[pair].index(odd)] = DARK
            new[pair][even] = odd
            if (result := search(new, wanted, moves - 1)) is not None:
                return result
    return None
