# SPDX-License-Identifier: Apache-2.0
"""One scenario run many times: every link, NPU or switch failed in turn."""
