"""Paths of a transfer through a mesh, and the share of its frames on each path."""


def shortest(links, source, destination):
    """Return a path of fewest hops; there is nothing to mend here."""
    reached = [[source]]
    for path in reached:
        if path[-1] == destination:
            return path
        for a, b, _ in links:
            for node, neighbour in ((a, b), (b, a)):
                if node == path[-1] and neighbour not in path:
                    reached.append([*path, neighbour])


def paths(links, source, destination, max_hops):
    """Return all paths of up to max_hops hops, each a list of nodes from source to destination.

    links is a list of [node, node, rate in Gbit/s]; a link carries frames both ways. No path visits a node
    twice. The order of the paths does not matter.
    """
    return [shortest(links, source, destination)]


def shares(links, transfers, max_hops):
    """Return, for each transfer, a list of [path, share]; the shares of a transfer add up to 1.

    transfers is a list of [source, destination, bytes]; all begin at the same time. It shall not take long
    until the last frame of all transfers has arrived.
    """
    return [[[shortest(links, source, destination), 1.0]] for source, destination, _ in transfers]
