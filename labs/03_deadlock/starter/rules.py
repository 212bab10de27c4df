"""Turn rules of a full mesh: on which lane a frame leaves a node, or that it must not leave that way."""


def next_lane(arrives, leaves, lane):
    """Return the lane on which a frame leaves, 0 or 1, or None to forbid the turn.

    arrives  how the frame came in: None from the node's own host, else its last hop,
             such as {"dimension": 0, "up": True}
    leaves   the hop that it takes next, in the same form
    lane     the lane on which it came in, 0 or 1; 0 from a host

    A hop goes up when the coordinate of its dimension grows, and down when it falls.
    """
    return 0
