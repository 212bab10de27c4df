"""Turn rules of a full mesh: all hops up come before all hops down, on one lane."""


def next_lane(arrives, leaves, lane):
    """Return lane 0, or None for a turn from a hop down to a hop up."""
    if arrives is not None and leaves["up"] and not arrives["up"]:
        return None
    return 0
