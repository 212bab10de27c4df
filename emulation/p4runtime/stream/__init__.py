# SPDX-License-Identifier: Apache-2.0
"""StreamChannel of the P4Runtime server: arbitration, roles, packet I/O and digests."""
