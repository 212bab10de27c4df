# SPDX-License-Identifier: Apache-2.0
"""Full meshes of NPUs that forward frames, alone or below LRS and HRS (UB-Mesh)."""

from typing import final

from controller.schemes.structured import Structured
from topologies import Fabric

__all__ = ["Mesh"]


@final
class Mesh(Structured):
    """Forwarding scheme of full meshes, All-Path-Routing: by source routes and structured addresses only."""

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return True: every fabric that no earlier scheme serves has meshes, tiers of switches, or both."""
        return True
