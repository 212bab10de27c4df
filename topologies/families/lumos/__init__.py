# SPDX-License-Identifier: Apache-2.0
"""LumosCore: Pods of leaf and spine switches, joined by groups of optical switches.

fabric  the family lumos
core    groups of optical switches: how spines are wired to them, and the Pods that circuits join
"""
