# SPDX-License-Identifier: Apache-2.0
"""Rails: GPUs in high-bandwidth domains, joined by the network of their NICs.

fabrics  the families: rail-only, rail-optimised, any-to-any
domains  builder of domains of GPUs, and of Clos networks of their NICs
"""
