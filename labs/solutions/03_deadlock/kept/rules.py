"""Turn rules of a full mesh: the first turn from down to up leads to lane 1, a second is forbidden."""


def next_lane(arrives, leaves, lane):
    """Return the lane on which a frame leaves, or None for the second turn from down to up."""
    valley = arrives is not None and leaves["up"] and not arrives["up"]
    if not valley:
        return lane
    return 1 if lane == 0 else None
