"""Paths of a transfer through a mesh, and the share of its frames on each path."""


def paths(links, source, destination, max_hops):
    """Return all simple paths of up to max_hops hops, searched hop by hop."""
    neighbours = {}
    for a, b, _ in links:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    complete, begun = [], [[source]]
    for _ in range(max_hops):
        longer = [[*path, node] for path in begun for node in neighbours[path[-1]] if node not in path]
        complete += [path for path in longer if path[-1] == destination]
        begun = [path for path in longer if path[-1] != destination]
    return complete


def shares(links, transfers, max_hops):
    """Return shares of pieces, each on the path where it costs least: the busier a link, the dearer it is."""
    pieces = 200
    rates = {frozenset((a, b)): rate for a, b, rate in links}
    every = [[tuple(path) for path in paths(links, a, b, max_hops)] for a, b, _ in transfers]
    carried = {}  # bytes by hop
    placed = [[None] * pieces for _ in transfers]
    for turn in range(2 * pieces):
        for (_, _, size), own, places in zip(transfers, every, placed):
            piece = size / pieces

            def cost(path, piece=piece):
                return sum(
                    ((carried.get(hop, 0) + piece) / rates[frozenset(hop)]) ** 8
                    for hop in zip(path, path[1:])
                )

            before = places[turn % pieces]
            if before:
                for hop in zip(before, before[1:]):
                    carried[hop] -= piece
            best = min(own, key=cost)
            places[turn % pieces] = best
            for hop in zip(best, best[1:]):
                carried[hop] = carried.get(hop, 0) + piece
    return [[[path, places.count(path) / pieces] for path in {*places}] for places in placed]
