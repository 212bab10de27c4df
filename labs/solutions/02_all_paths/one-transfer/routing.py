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
    """Return shares in proportion to the rate of each path's slowest link."""
    rates = {frozenset((a, b)): rate for a, b, rate in links}
    answer = []
    for source, destination, _ in transfers:
        every = paths(links, source, destination, max_hops)
        slowest = [min(rates[frozenset(hop)] for hop in zip(path, path[1:])) for path in every]
        answer.append([[path, rate / sum(slowest)] for path, rate in zip(every, slowest)])
    return answer
