#!/usr/bin/env bash
# Builds the engine with AddressSanitizer, UndefinedBehaviorSanitizer and assertions under build/sanitize, and runs the
# engine's tests on it. The module that the project uses stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
build=build/sanitize
PATH=$PWD/.venv/bin:$PATH cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRAILYARD_SANITIZE=ON \
    -DPython_EXECUTABLE="$python" "$@" >/dev/null
cmake --build "$build" --parallel "$(nproc)"

# Python is not built with the sanitizers: their runtime comes first, and with it the library whose exceptions it
# intercepts. Leaks are not reported: Python itself never frees what lives as long as the process.
runtime="$(${CXX:-c++} -print-file-name=libasan.so) $(${CXX:-c++} -print-file-name=libstdc++.so)"
RAILYARD_ENGINE=$(echo "$build"/_engine*.so) LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 \
    UBSAN_OPTIONS=print_stacktrace=1 "$python" -m pytest -p tests.other_engine -p no:cacheprovider -n 0 \
    tests/emulation/engine tests/emulation/embedded/test_deadlock.py tests/emulation/p4runtime/test_atomicity.py \
    tests/emulation/traffic/host/test_native.py tests/fuzz/test_findings.py tests/differential/test_goldens.py
