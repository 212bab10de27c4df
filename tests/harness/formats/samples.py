# SPDX-License-Identifier: Apache-2.0
"""Small files of each format, written for the tests."""

from pathlib import Path

GOAL = """num_ranks 3

rank 0 {
a: send 64b to 1 tag 7
b: calc 100 cpu 1
b requires a
c: recv 8b from 2
d: calc 5
d irequires b
}
rank 1 {
a: recv 64b from 0 tag 7 cpu 0 nic 0
}
rank 2 {
send 8b to 0
}
"""

MATRIX = """Nodes 4
Connections 4
Triggers 2
0->1 id 1 start 0 size 1000 recv_done_trigger 1
# a comment
1->2 id 2 trigger 1 size 2000 send_done_trigger 2
3->2 id 3 start 5000.000 size 500 send_done_trigger 2
1->3 id 4 trigger 2 size 4
trigger id 1 oneshot
trigger id 2 barrier count 2
"""

NODES = "nodeId,nodeType,portNum,forwardDelay\n0..2,DEVICE,2,1ns\n3,SWITCH,3,1ns"
LINKS = """nodeId1, portId1, nodeId2, portId2, bandwidth, delay
0,0,3,0,400Gbps,20ns
1,0,3,1,400Gbps,20ns
  2,  0,  3,  2, 0.2Tbps, +1us
"""
TASKS = """taskId,sourceNode,destNode,dataSize(Byte),opType,priority,delay,phaseId,dependOnPhases
0,0,1,4096,URMA_WRITE,7,10ns,1,
1,1,2,8192,URMA_READ,7,10ns,2,1

2,2,0,100,MEM_STORE,7,0ns,3,1 2
"""
FAULTS = "taskId,faultType,a,b,c,d,e\n0,2,0,0,3 1 100000,0,0\n0,0,5,0,0,0,0"


def ring(gpus: int = 3) -> str:
    """Return an AllReduce over a ring for MSCCL, each GPU with a chunk for each GPU."""
    lines = [f'<algo name="ring" nchunksperloop="{gpus}" ngpus="{gpus}" coll="allreduce" inplace="1">']
    for gpu in range(gpus):
        lines.append(f'<gpu id="{gpu}" i_chunks="{gpus}" o_chunks="{gpus}" s_chunks="0">')
        lines.append(f'<tb id="0" send="{(gpu + 1) % gpus}" recv="{(gpu - 1) % gpus}" chan="0">')
        steps = [("s", gpu), *(("rrs", (gpu - at) % gpus) for at in range(1, gpus - 1))]
        steps += [("rrcs", (gpu + 1) % gpus), *(("rcs", (gpu - at) % gpus) for at in range(gpus - 2))]
        steps.append(("r", (gpu + 2) % gpus))
        lines += [
            f'<step s="{number}" type="{kind}" srcbuf="i" srcoff="{chunk}" dstbuf="i" dstoff="{chunk}" '
            'cnt="1" depid="-1" deps="-1" hasdep="0"/>'
            for number, (kind, chunk) in enumerate(steps)
        ]
        lines += ["</tb>", "</gpu>"]
    return "\n".join([*lines, "</algo>"])


def case(folder: Path) -> Path:
    """Write a case of ns-3-UB."""
    for name, text in (("node", NODES), ("topology", LINKS), ("traffic", TASKS), ("fault", FAULTS)):
        (folder / f"{name}.csv").write_text(text)
    return folder


WORKLOAD = """HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4 pp_comm 64
2
embedding	-1	100	ALLREDUCE	64	1	NONE	0	1	ALLGATHER	128	100
mlp -1 200 ALLTOALL_EP 64 1 REDUCESCATTER 64 1 NONE 0 100
"""

ESI = """{"workload_graph": [
{"Id": 1, "Name": "add", "NodeType": 4, "data_deps": [], "runtime": 3, "is_cpu_op": true},
{"Id": 2, "Name": "send", "NodeType": 5, "data_deps": [1], "comm_dst": 0, "comm_size": 8, "comm_tag": 1},
{"Id": 3, "Name": "reduce", "NodeType": 7, "data_deps": [2], "comm_type": 0, "comm_size": 64}
]}"""
