# SPDX-License-Identifier: Apache-2.0
"""Compute or measure the figures of UB-Mesh's claims; claims.yaml names the functions."""
