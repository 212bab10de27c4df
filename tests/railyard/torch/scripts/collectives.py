"""Every collective with every type and operation of Gloo; prints the results of rank 0 as JSON."""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

R = dist.ReduceOp
OPERATIONS = {"sum": R.SUM, "product": R.PRODUCT, "min": R.MIN, "max": R.MAX}
BITWISE = {"band": R.BAND, "bor": R.BOR, "bxor": R.BXOR}
INTEGERS = (torch.uint8, torch.int8, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def values(rank, dtype, shape=(3, 5)):
    generator = torch.Generator().manual_seed(rank)
    if dtype in FLOATS:
        return torch.randint(-2, 3, shape, generator=generator).to(dtype)  # exact in any order
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, shape, generator=generator, dtype=dtype)


def main(backend):
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    seen = {}

    def note(name, *tensors):
        seen[name] = [
            tensor.double().tolist() if tensor.is_floating_point() else tensor.tolist() for tensor in tensors
        ]

    for dtype in (*INTEGERS, *FLOATS):
        for name, operation in {**OPERATIONS, **(BITWISE if dtype in INTEGERS else {})}.items():
            tensor = values(rank, dtype)
            dist.all_reduce(tensor, operation)
            note(f"all_reduce {dtype} {name}", tensor)
            tensor = values(rank, dtype)
            dist.reduce(tensor, 1, operation)
            if rank == 1:
                note(f"reduce {dtype} {name}", tensor)
        parts = [values(10 * rank + part, dtype) for part in range(size)]
        output = torch.empty_like(parts[0])
        dist.reduce_scatter(output, parts)
        note(f"reduce_scatter {dtype}", output)
        output = torch.empty_like(parts[0])
        dist.reduce_scatter_tensor(output, torch.cat(parts), async_op=True).wait()
        note(f"reduce_scatter_tensor {dtype}", output)
        outputs = [torch.empty_like(parts[0]) for _ in range(size)]
        dist.all_gather(outputs, parts[0])
        note(f"all_gather {dtype}", *outputs)
        whole = torch.empty((size * 3, 5), dtype=dtype)
        dist.all_gather_into_tensor(whole, parts[0], async_op=True).wait()
        note(f"all_gather_into_tensor {dtype}", whole)
        tensor = values(rank, dtype)
        dist.broadcast(tensor, 1)
        note(f"broadcast {dtype}", tensor)
        dist.gather(parts[0], outputs if rank == 1 else None, dst=1)
        note(f"gather {dtype}", *outputs)
        output = torch.empty_like(parts[0])
        dist.scatter(output, parts if rank == 1 else None, src=1)
        note(f"scatter {dtype}", output)
        whole = torch.empty((3 * size, 5), dtype=dtype)
        dist.all_to_all_single(whole, torch.cat(parts))
        note(f"all_to_all_single {dtype}", whole)
    sent = [(rank + other) % 3 for other in range(size)]
    received = [(other + rank) % 3 for other in range(size)]
    whole = torch.empty(sum(received), 2)
    dist.all_to_all_single(whole, values(rank, torch.float32, (sum(sent), 2)), received, sent)
    note("all_to_all_single uneven", whole)
    ahead, behind = (rank + 1) % size, (rank - 1) % size
    tensor = torch.empty(4, dtype=torch.int64)
    own = values(rank, torch.int64, (4,))
    for work in dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, own, ahead),
            dist.P2POp(dist.irecv, tensor, behind),
        ]
    ):
        work.wait()
    note("batch_isend_irecv", tensor)
    if rank == 0:
        dist.send(values(3, torch.int32), 1)
    elif rank == 1:
        tensor = torch.empty((3, 5), dtype=torch.int32)
        note("source", torch.tensor(dist.recv(tensor)))
        note("recv", tensor)
    evens = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        tensor = values(rank, torch.int32)
        dist.all_reduce(tensor, group=evens)
        note("new_group", tensor)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(size)]
    dist.barrier()
    Path(sys.argv[2], f"{backend}{rank}.json").write_text(json.dumps(seen), encoding="utf-8")
    dist.destroy_process_group()


main(sys.argv[1])
