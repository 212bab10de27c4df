# SPDX-License-Identifier: Apache-2.0
"""Record of everything created by a run on this machine, for cleaning up.

A run has a folder, /run/railyard/ID. Its file `record` names the owner (the process of the run), and has a
line for each namespace, file and remote cleaner; a line is on disk before its object exists. Interfaces need
no line, since they end with their namespaces; processes need none, since they carry the run's token in their
environment.

run         the record of a run that this process begins
noted       records on disk
cleaning    removal of everything that runs have left
__main__    command that cleans this machine after runs over several machines
"""

from emulation.linux.record.cleaning import Cleaned, clean, living, need_root
from emulation.linux.record.noted import RUNS
from emulation.linux.record.run import RunRecord

__all__ = ["RUNS", "Cleaned", "RunRecord", "clean", "living", "need_root"]
