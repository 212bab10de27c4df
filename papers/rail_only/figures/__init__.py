# SPDX-License-Identifier: Apache-2.0
"""Functions that compute or measure the figures of Rail-only's claims; claims.yaml names them."""
