"""A P4Runtime controller that puts the spare NPU in the place of a failed NPU."""

import asyncio

import finsy as fy


def take_over(address, nodes, failed, spare):
    """Write one entry in each node that knows the failed NPU by a port, and on the way up to the spare."""
    asyncio.run(write_all(address, nodes, nodes[failed]["index"], new_ports(nodes, failed, spare)))


def new_ports(nodes, failed, spare):
    """Return the port towards the spare by node, for the nodes that have to change."""
    (above,) = nodes[spare]["ports"]  # the switch above the spare
    ports = {spare: 0, above: nodes[above]["ports"][spare]}
    for name, node in nodes.items():
        if name in (failed, above, spare):
            continue
        if name.startswith("npu") and failed in node["ports"]:
            ports[name] = next(
                port for neighbour, port in node["ports"].items() if neighbour.startswith("lrs")
            )
        if name.startswith("lrs") and any(neighbour.startswith("npu") for neighbour in node["ports"]):
            ports[name] = node["ports"][above]
    return ports


async def write_all(address, nodes, index, ports):
    """Modify entry `index` of the table linear in each of these nodes."""
    for name, port in ports.items():
        options = fy.SwitchOptions(device_id=nodes[name]["device_id"])
        entry = fy.P4TableEntry(
            "linear", match=fy.P4TableMatch(index=index), action=fy.P4TableAction("set_port", port=port)
        )
        async with fy.Switch(name, address, options) as switch:
            await switch.modify([entry])
