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
    """Return the first path of each transfer, which is a shortest path."""
    return [[[paths(links, source, destination, max_hops)[0], 1.0]] for source, destination, _ in transfers]
