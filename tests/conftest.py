# SPDX-License-Identifier: Apache-2.0
"""Options and marks of the test suite.

Tests marked `bmv2` compare with BMv2; they run under `--bmv2` where BMv2 is installed. Tests marked `long`
take seconds of processor time; they run under `--long` or when they are named by `FILE::TEST`. A mark
`long("id", ...)` holds for the parameter sets with these ids only.
"""

import gc
import os
import shutil
import signal
import subprocess
from collections.abc import Generator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from controller.garbage import garbage_collection_paused

pytest_plugins = ["tests.scenario_fixtures", "tests.browser"]

# A script's background jobs ignore Ctrl-C, and so would each process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fabrics and plans that tests share are millions of objects. With Python's own thresholds, visiting these
# again takes a sixth of the time.
gc.set_threshold(50_000, 20, 50)

# On a busy machine an example takes as long as it takes.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

_GET_BMV2 = (
    "install the P4 language project's Debian or Ubuntu package p4lang-bmv2, as the Vagrantfile does, "
    "or build https://github.com/p4lang/behavioral-model with P4Runtime support"
)


@cache
def _why_not(cli: bool) -> str:
    needed = ("simple_switch_grpc", *(("simple_switch", "simple_switch_CLI") if cli else ()))
    if missing := [name for name in needed if shutil.which(name) is None]:
        return f"BMv2's {', '.join(missing)} not on the PATH; {_GET_BMV2}"
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "setpriv"))):
        return "BMv2 needs a network namespace: run as root, with iproute2 and util-linux installed"
    return _why_no_cli() if cli else ""


def _why_no_cli() -> str:
    # A script: it starts only where the Python it finds has the Thrift that BMv2 was built with.
    asked = subprocess.run(["simple_switch_CLI", "--help"], capture_output=True, text=True, check=False)
    if asked.returncode:
        why = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"BMv2's simple_switch_CLI does not start: {why}; give its Python the package thrift"
    return ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bmv2", action="store_true", help="run the tests that need BMv2, too: make bmv2")
    parser.addoption("--ub-driver", metavar="FOLDER", help="drivers/ub/ubus of openEuler's kernel")
    parser.addoption("--openurma", metavar="FOLDER", help="checkout of bojieli/OpenURMA")
    parser.addoption("--chakra", metavar="FOLDER", help="checkout of mlcommons/chakra")
    parser.addoption("--msccl-verifier", metavar="PROGRAM", help="allgather-verifier of MSCCL-XML-Verifier")
    parser.addoption("--samples", metavar="FOLDER", help="public files of other tools, to be imported")
    parser.addoption("--long", action="store_true", help="run the long tests, too: make test-all")


def _is_long(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return any(
        not mark.args or (parameters is not None and parameters.id in mark.args)
        for mark in item.iter_markers("long")
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Find the tests without the garbage collector, which would visit all of them again and again."""
    with garbage_collection_paused():
        return (yield)


def pytest_sessionfinish() -> None:
    """Collect garbage once; later collections, by pytest and at the end of Python, leave out all objects."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long") and not any("::" in argument for argument in config.args):
        chosen = [item for item in items if not _is_long(item)]
        config.hook.pytest_deselected(items=[item for item in items if _is_long(item)])
        items[:] = chosen
    for item in items:
        if (marker := item.get_closest_marker("bmv2")) is None:
            continue
        reason = "compares with BMv2, in minutes: make bmv2"
        if config.getoption("--bmv2"):
            reason = _why_not(marker.kwargs.get("cli", False))
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
