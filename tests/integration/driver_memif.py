#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memif between two processes: every frame comes back, and a peer killed under traffic never takes us along.

driver_memif.py FRAME_PINGPONG [KILLS] [--unguarded]"""
import random
import sys
import time

import driver_lib as lib

program = sys.argv[1]
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 8
unguarded = ["--unguarded"] if "--unguarded" in sys.argv else []


def vdev(role, name, mtu):
    size = (mtu + 22 + 63) // 64 * 64
    return (f"net_memif0,role={role},id=0,socket={lib.path(name)},socket-abstract=no,bsize={size},rsize=10,"
            "zero-copy=no")


for mtu in (1500, 9000):
    for ip in (4, 6):
        lib.exchange(program, vdev("server", "s", mtu), vdev("client", "s", mtu), ["--mtu", mtu, "--ip", ip])
        print(f"memif: MTU {mtu}, IPv{ip}: 20000 frames returned")

# One process stays, its peer is killed again and again while frames are on their way in both directions.
seed = random.randrange(1 << 32)
print("seed", seed)
dice = random.Random(seed)
for survivor_role, peer_role in (("server", "client"), ("client", "server")):
    size = ["--mtu", 9000, "--window", 256]
    survivor = lib.Process([program, "--role", "flood", "--vdev", vdev(survivor_role, "k", 9000), "--seconds", 300,
                            "--link-ms", 20000, *unguarded, *size]).ready()
    for n in range(kills):
        peer = lib.Process([program, "--role", "flood", "--vdev", vdev(peer_role, "k", 9000), "--seconds", 60, *size]).ready("up")
        time.sleep(0.05 + dice.random() * 0.1)
        # Killed, or ended in order: then its socket closes while our workers are still copying.
        peer.kill(lib.signal.SIGKILL if n % 2 else lib.signal.SIGTERM)
        time.sleep(0.05)
        if survivor.process.poll() is not None:
            lib.fail(f"{survivor_role} died of {-survivor.process.poll()} when peer {n + 1} was killed: {survivor.text()}")
    code = survivor.finish(10, number=lib.signal.SIGTERM)
    result = survivor.result()
    print(f"memif: {survivor_role} outlived {kills} killed peers: {result}")
    if code != 0 or result["corrupt"] or result["returned"] < kills or result["link_downs"] < kills // 2:
        lib.fail(f"exit code {code}: {survivor.text()}")
