#!/usr/bin/env bash
# Builds the engine with sanitizers and assertions under build/, and runs tests on it: with AddressSanitizer and
# UndefinedBehaviorSanitizer those of the engine, in C++ and in Python, with ThreadSanitizer those of runs in several
# threads. `sanitize.sh address` or `sanitize.sh thread` does one of the two. The module that the project uses stays as
# it is.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
compiler=${CXX:-c++}

# build DIRECTORY SANITIZERS
build() {
    PATH=$PWD/.venv/bin:$PATH cmake -S . -B "$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRAILYARD_SANITIZE="$2" \
        -DPython_EXECUTABLE="$python" >/dev/null
    cmake --build "$1" --parallel "$(nproc)"
}

# unit DIRECTORY SANITIZERS TESTS: the tests in C++
unit() {
    PATH=$PWD/.venv/bin:$PATH cmake -S tests/emulation/engine/unit -B "$1" -DRAILYARD_SANITIZE="$2" >/dev/null
    cmake --build "$1" --parallel "$(nproc)"
    $4 "$1/engine_unit" --gtest_brief=1 --gtest_filter="$3"
}

# Python is not built with the sanitizers: their runtime comes first, and with it the library whose exceptions it
# intercepts.
runtime() { echo "$($compiler -print-file-name="lib$1.so") $($compiler -print-file-name=libstdc++.so)"; }

if [ "${1:-address}" = address ]; then
    unit build/unit-sanitize address,undefined '*' env
    build build/sanitize address,undefined
    # Leaks are not reported: Python itself never frees what lives as long as the process.
    RAILYARD_ENGINE=$(echo build/sanitize/_engine*.so) LD_PRELOAD=$(runtime asan) ASAN_OPTIONS=detect_leaks=0 \
        UBSAN_OPTIONS=print_stacktrace=1 "$python" -m pytest -p tests.other_engine -p no:cacheprovider -n 0 \
        tests/emulation/engine tests/emulation/embedded/test_deadlock.py tests/emulation/p4runtime/test_atomicity.py \
        tests/emulation/traffic/host/test_twins.py tests/fuzz/test_findings.py tests/differential/test_goldens.py
fi
if [ "${1:-thread}" = thread ]; then
    build build/sanitize-thread thread
    # Without address space layout randomisation, whose layouts the runtime may refuse.
    unit build/unit-sanitize-thread thread '*Windows*:ThreadPool*' 'setarch -R'
    RAILYARD_ENGINE=$(echo build/sanitize-thread/_engine*.so) LD_PRELOAD=$(runtime tsan) TSAN_OPTIONS=halt_on_error=1 \
        setarch -R "$python" -m pytest -p tests.other_engine -p no:cacheprovider -n 0 \
        tests/harness/run/embedded/test_threads.py
fi
