#!/usr/bin/env bash
# Compiles every program of p4/, tests/programs/ and tests/v1model/ for v1model into the build/ beside it, and the starters
# of labs 1, 7 and 9 into that of the lab. All are committed: nobody needs p4c to run the project.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python

if ! command -v p4c-bm2-ss >/dev/null; then
    echo "p4: p4c-bm2-ss is not installed; the P4 language project has packages of it for Debian and Ubuntu" \
        "(https://github.com/p4lang/p4c#getting-started)"
    exec "$python" scripts/p4_manifest.py check
fi

for source in p4/*.p4 tests/programs/*.p4 tests/v1model/*.p4; do
    build=$(dirname "$source")/build
    name=$(basename "$source" .p4)
    echo "p4: $source"
    mkdir -p "$build"
    p4c-bm2-ss --arch v1model --Werror --Wdisable=removed --p4runtime-files "$build/$name.p4info.txtpb" -o "$build/$name.json" "$source"
done
"$python" scripts/p4_starters.py
exec "$python" scripts/p4_manifest.py write
