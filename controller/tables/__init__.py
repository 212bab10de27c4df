# SPDX-License-Identifier: Apache-2.0
"""Table entries of each P4 program, made from routes and addresses."""
