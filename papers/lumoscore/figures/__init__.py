# SPDX-License-Identifier: Apache-2.0
"""Functions that compute or measure the figures of LumosCore's claims; claims.yaml names them."""
