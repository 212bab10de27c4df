# SPDX-License-Identifier: Apache-2.0
"""Compute or measure the figures of Rail-only's claims; claims.yaml names the functions."""
