# SPDX-License-Identifier: Apache-2.0
"""Floor 6: the user interface, as a Python package and as the command `railyard`.

The names in `__all__` are the whole public API; docs/python.md has examples. Every other name of this package
and of the floors below is internal and may change without notice.

    import railyard
    rack = railyard.fabric("full-mesh", dims=(2, 4))        a fabric is data
    plan = railyard.plan(rack, strategy="all-path")         a plan is data
    with railyard.testbed(rack, plan) as bed: ...           switches run their P4 programs in virtual time
    result = railyard.run("scenario.yaml", seed=1)          a result is data
    result.metrics(), result.links(), result.plot()         tables for pandas, pictures for notebooks
    study = railyard.sweep("scenario.yaml", seeds=range(20))    many runs, in parallel, resumed

Rooms:

    api      the functions and classes of the public API
    torch    the backend of torch.distributed, and the processes of ranks
    web      the live page
    cli      the command `railyard`, with a file for each subcommand
    command  the command in a process of its own, for checks of experiments

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: api, torch, web, cli, command, __main__.

A public name is imported from its module when it is first used, so that `import railyard` is fast.
"""

import typing

if typing.TYPE_CHECKING:
    from controller.plan.plan import Plan
    from harness.scenario.schema import Scenario
    from railyard.api.drawings import Drawing, draw
    from railyard.api.fabrics import fabric, fabrics, links, load_fabric, nodes, save_fabric
    from railyard.api.graphs import TrafficGraph
    from railyard.api.plans import entries, paths, plan, trace
    from railyard.api.programs import ProgramTestbed, exchange, exercise_testbed, program_testbed
    from railyard.api.records import Record
    from railyard.api.results import Result
    from railyard.api.scenarios import load, run
    from railyard.api.studies import Study, sweep
    from railyard.api.testbeds import Testbed, testbed
    from topologies.errors import RailyardError
    from topologies.model.fabric import Fabric

__all__ = [
    # fabrics
    "Fabric",
    "draw",
    "fabric",
    "fabrics",
    "links",
    "load_fabric",
    "nodes",
    "save_fabric",
    # plans
    "Plan",
    "entries",
    "paths",
    "plan",
    "trace",
    # testbeds
    "ProgramTestbed",
    "Testbed",
    "exchange",
    "exercise_testbed",
    "program_testbed",
    "testbed",
    # scenarios and results
    "Result",
    "Scenario",
    "Study",
    "TrafficGraph",
    "load",
    "run",
    "sweep",
    # types that these functions return and raise
    "Drawing",
    "RailyardError",
    "Record",
]

_MODULES = {
    "Drawing": "railyard.api.drawings",
    "Fabric": "topologies.model.fabric",
    "Plan": "controller.plan.plan",
    "ProgramTestbed": "railyard.api.programs",
    "RailyardError": "topologies.errors",
    "Record": "railyard.api.records",
    "Result": "railyard.api.results",
    "Scenario": "harness.scenario.schema",
    "Testbed": "railyard.api.testbeds",
    "TrafficGraph": "railyard.api.graphs",
    "Study": "railyard.api.studies",
    "draw": "railyard.api.drawings",
    "entries": "railyard.api.plans",
    "exchange": "railyard.api.programs",
    "exercise_testbed": "railyard.api.programs",
    "fabric": "railyard.api.fabrics",
    "fabrics": "railyard.api.fabrics",
    "links": "railyard.api.fabrics",
    "load": "railyard.api.scenarios",
    "load_fabric": "railyard.api.fabrics",
    "nodes": "railyard.api.fabrics",
    "paths": "railyard.api.plans",
    "plan": "railyard.api.plans",
    "program_testbed": "railyard.api.programs",
    "run": "railyard.api.scenarios",
    "save_fabric": "railyard.api.fabrics",
    "sweep": "railyard.api.studies",
    "testbed": "railyard.api.testbeds",
    "trace": "railyard.api.plans",
}


def __getattr__(name: str) -> typing.Any:
    if name == "__version__":
        from harness.version import railyard_version

        return railyard_version()
    if name not in _MODULES:
        raise AttributeError(f"the module 'railyard' has no public name {name!r}; see railyard.__all__")
    from importlib import import_module

    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
