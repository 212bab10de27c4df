# SPDX-License-Identifier: Apache-2.0
"""Full meshes of NPUs that route, alone or below LRS and HRS (UB-Mesh)."""

from typing import final

from controller.schemes.structured import Structured
from topologies import Fabric

__all__ = ["Mesh"]


@final
class Mesh(Structured):
    """All-Path-Routing: NPUs and switches forward by source routes and structured addresses alone."""

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return True: a fabric that no other scheme serves has meshes, tiers, or both."""
        return True
