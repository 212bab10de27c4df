# SPDX-License-Identifier: Apache-2.0
"""A study of tiny runs: three detection times and any number of seeds."""

_SMALL = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 256, payload_bytes: 256}
link: {detect_us: 1}
faults: [{at_us: 0.02, link: npu0-npu1}]
study: {set: {link.detect_us: [0.1, 0.2, 0.3]}, seeds: 1..SEEDS}
"""


def small_study(seeds: int) -> str:
    """Return the text of the scenario with its study."""
    return _SMALL.replace("SEEDS", str(seeds))
