"""A P4Runtime controller that puts the spare NPU in the place of a failed NPU."""

import asyncio

import finsy as fy


def take_over(address, nodes, failed, spare):
    """Change table entries so that frames for the failed NPU's address reach the spare's host.

    address  of the P4Runtime server; each node of the rack is a device of it
    nodes    by name: {"device_id": 3, "index": 5, "ports": {"npu1": 2, "lrs0p0n0": 7}}; `ports` leads to the
             neighbours, and port 0 of an NPU to its host
    failed   name of the NPU that has failed, with all its links
    spare    name of the spare NPU
    """
    asyncio.run(connect(address, nodes, failed, spare))


async def connect(address, nodes, failed, spare):
    """Connect to a switch; there is much to do from here on."""
    options = fy.SwitchOptions(device_id=nodes[spare]["device_id"])
    async with fy.Switch(spare, address, options) as switch:
        await current_port(switch, nodes[failed]["index"])


async def current_port(switch, index):
    """Return the port of entry `index` of the table linear."""
    entry = fy.P4TableEntry("linear", match=fy.P4TableMatch(index=index))
    async for answer in switch.read(entry):
        return answer.action.args["port"]
