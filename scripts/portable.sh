#!/usr/bin/env bash
# Builds the engine without its Linux part under build/portable, as on another system, and runs the tests of the
# embedded testbed on it. The module that the project uses stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
build=build/portable
PATH=$PWD/.venv/bin:$PATH cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRAILYARD_LINUX=OFF \
    -DPython_EXECUTABLE="$python" "$@" >/dev/null
cmake --build "$build" --parallel "$(nproc)"

RAILYARD_ENGINE=$(echo "$build"/_engine*.so) "$python" -c "
import tests.other_engine
from emulation import _engine
assert not hasattr(_engine, 'Wire'), 'the Linux part was built'"
RAILYARD_ENGINE=$(echo "$build"/_engine*.so) "$python" -m pytest -p tests.other_engine -p no:cacheprovider -n 0 \
    tests/emulation/embedded tests/emulation/p4runtime tests/differential/test_goldens.py tests/harness/run/embedded \
    tests/harness/run/test_runner.py
