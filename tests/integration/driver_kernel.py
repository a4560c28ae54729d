#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""af_packet and af_xdp over veth between two network namespaces: IPv4 and IPv6, MTU 1500 and jumbo, and what each driver
refuses. Needs root.

driver_kernel.py FRAME_PINGPONG"""
import signal
import sys

import driver_lib as lib

program = sys.argv[1]
COUNT = 4000


def af_packet(iface, mtu):
    frame = (mtu + 22 + 128 + 1023) // 1024 * 1024
    return f"net_af_packet0,iface={iface},qpairs=1,framesz={frame},blocksz={frame * 4},framecnt=512"


def refused(vdev, netns, words, options):
    process = lib.Process([program, "--vdev", vdev, *options], netns)
    if process.finish(20) != 2 or words not in process.text() or process.text().count("\n") != 1:
        lib.fail(f"{vdev}: refusal with '{words}' expected: {process.text()}")
    print("refused in words:", process.text().strip())


def over(link, driver, vdev, mtu, ip):
    options = ["--mtu", mtu, "--ip", ip]
    result = lib.exchange(program, vdev("d0", mtu), vdev("d0", mtu), options, link.a, link.b, COUNT)
    print(f"{driver}: MTU {mtu}, IPv{ip}: {result['returned']} frames returned, {result['foreign']} of the kernel's")


for mtu in (1500, 9000):
    link = lib.Veth(mtu)
    for ip in (4, 6):
        over(link, "af_packet", af_packet, mtu, ip)
    refused(af_packet("d0", 9216), link.a, "ip link set dev d0 mtu 9216", ["--mtu", 9216])
refused(af_packet("d0", 1500), link.a, "enlarge framesz=", ["--mtu", 9000])
refused(af_packet("none", 1500), link.a, "`ip link` lists the interfaces", [])


def af_xdp(iface, mtu):
    return f"net_af_xdp0,iface={iface},start_queue=0,queue_count=1"


# AF_XDP where the kernel lets it: whether it does, a socket tells.
try:
    import socket
    socket.socket(44, socket.SOCK_RAW, 0).close()
except OSError as error:
    print("af_xdp: not tried, this kernel has no AF_XDP sockets:", error)
    sys.exit(0)
link = lib.Veth(3498)
for mtu, ip in ((1500, 4), (1500, 6), (3242, 4)):
    over(link, "af_xdp", af_xdp, mtu, ip)
refused(af_xdp("d0", 4096), link.a, "over the limit of its af_xdp driver", ["--mtu", 4096])
signal.signal(signal.SIGTERM, signal.SIG_DFL)
