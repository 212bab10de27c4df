#!/usr/bin/env bash
# p4runtime-shell on one switch of a running fabric. It wants an older protobuf than the project, hence its own venv.
#   scripts/shell.sh [ADDRESS [NODE]]
set -euo pipefail
cd "$(dirname "$0")/.."

address=${1:-127.0.0.1:9559}
node=${2:-npu0}
venv=build/p4runtime-shell

if [ ! -f "$venv/ready" ]; then
    echo "shell: installing p4runtime-shell into $venv"
    mkdir -p build
    .venv/bin/python -m venv "$venv"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$venv/bin/pip" install --quiet 'p4runtime-shell<0.1'
    touch "$venv/ready"
fi
# device_id is the node's index + 1; election id 2 takes over from the controller that filled the tables.
exec "$venv/bin/python" -m p4runtime_sh --grpc-addr "$address" --device-id $((${node#npu} + 1)) --election-id 0,2
