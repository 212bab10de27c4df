# Names of types in emulation/_engine.pyi, which `make stub` writes.
emulation._engine.__prefix__:
    Key = tuple[bytes, bytes, int]
    """(value, mask or upper bound, prefix length) of a match field.

    An optional field has prefix length 1 if it is present, 0 if it is a wildcard.
    """

    MeterConfig = tuple[int, int, int, int]
    """(committed rate, committed burst, peak rate, peak burst) of a meter.

    Rates are units a second, bursts are units; a unit is a byte or a frame.
    """

    EntryLayout = tuple[int, int, list[tuple[int, str, bool]], list[tuple[int, int, list[tuple[int, int]]]]]
    """(id, handle, fields, actions) of a table.

    A field is (id, match kind, masked). `masked`: it is optional in the p4info and ternary in the program.
    An action is (id, handle, parameters), a parameter is (id, width in bits).
    """

    Output = tuple[list[tuple[bytes, int]], int | None]
    """(frames, deadline): frames to send as (bytes, VL), and the time of the next deadline in ps, or None."""
