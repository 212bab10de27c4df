#!/usr/bin/env bash
# p4runtime-shell on one switch of a running fabric. It needs an older protobuf than the project, hence a venv of its own.
#   scripts/shell.sh [ADDRESS [NODE [TOPOLOGY [OPTION...]]]]
#   scripts/shell.sh install        installs the shell and starts nothing, for the check of lab 4
# NODE is a device id, npuN or gpuN; any other node needs the topology and the options that `railyard up` was given.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=build/p4runtime-shell

install() {
    [ -f "$venv/ready" ] && return
    echo "shell: installing p4runtime-shell into $venv"
    mkdir -p build
    .venv/bin/python -m venv "$venv"
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$venv/bin/pip" install --quiet 'p4runtime-shell<0.1'
    touch "$venv/ready"
}

if [ "${1:-}" = install ]; then
    install
    exit
fi

address=${1:-127.0.0.1:9559}
node=${2:-npu0}
shift $(($# < 2 ? $# : 2))

# Endpoints have the first device ids of a fabric, in the order of their numbers, from 1 on.
if [ $# -gt 0 ]; then
    device=$(COLUMNS=1000 .venv/bin/railyard show "$@" --node "$node" | sed -n 's/.*device id \([0-9]*\).*/\1/p')
elif [[ $node =~ ^(npu|gpu)([0-9]+)$ ]]; then
    device=$((10#${BASH_REMATCH[2]} + 1))
elif [[ $node =~ ^[0-9]+$ ]]; then
    device=$node
else
    echo "shell: $node: its device id depends on the fabric; add the topology, as in" \
        "make shell NODE=$node TOPOLOGY=ub-rack-lrs, or give the device id" >&2
    exit 2
fi

install
# The time is an election id above those of controllers and shells that came before.
exec "$venv/bin/python" -m p4runtime_sh --grpc-addr "$address" --device-id "$device" --election-id "0,$(date +%s)"
