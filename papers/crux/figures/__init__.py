# SPDX-License-Identifier: Apache-2.0
"""Functions that compute or measure the figures of Crux's claims; claims.yaml names them."""
