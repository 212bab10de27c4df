# SPDX-License-Identifier: Apache-2.0
"""Record of everything that a run makes on this machine, written before it is made, for cleaning up.

A run has a folder, /run/railyard/ID, whose file `record` names its owner and has a line for each thing it has
made, on disk before the thing exists. Interfaces need no line, since they end with their namespaces; nor do
processes, which carry the run's token in their environment.

run         the record of a run that this process begins
noted       records on disk
cleaning    removal of everything that runs have left
__main__    the same for what runs on other machines have left on this one, as a command
"""

from emulation.linux.record.cleaning import Cleaned, clean, living, need_root
from emulation.linux.record.noted import RUNS
from emulation.linux.record.run import RunRecord

__all__ = ["RUNS", "Cleaned", "RunRecord", "clean", "living", "need_root"]
