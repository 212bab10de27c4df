# Names of types in emulation/_engine.pyi, which `make stub` writes.
emulation._engine.__prefix__:
    Key = tuple[bytes, bytes, int]
    """(value, mask or high end, prefix length); an optional field: prefix 1 when it is asked for, 0 when not."""

    MeterConfig = tuple[int, int, int, int]
    """Committed rate and burst, peak rate and burst: units a second and units; a unit is a byte or a frame."""

    EntryLayout = tuple[int, int, list[tuple[int, str, bool]], list[tuple[int, int, list[tuple[int, int]]]]]
    """Id and handle of a table; id, match kind, masked of its fields; id, handle, parameters of its actions.

    A parameter is its id and width. `masked`: the field is optional in the p4info and ternary in the program.
    """

    Output = tuple[list[tuple[bytes, int]], int | None]
    """Frames to send, each with its VL, and the time of the next deadline."""
