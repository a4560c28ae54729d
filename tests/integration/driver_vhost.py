#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vhost (server) and virtio-user (client) between two processes: every frame comes back, peers come and go, and a killed
server leaves nothing that stops the next one.

driver_vhost.py FRAME_PINGPONG [KILLS]"""
import os
import sys

import driver_lib as lib

program = sys.argv[1]
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 4
socket = lib.path("s")
server = f"net_vhost0,iface={socket},queues=1,client=0"
client = f"net_virtio_user0,path={socket},queues=1,queue_size=1024"

for mtu in (1500, 9000):
    for ip in (4, 6):
        lib.exchange(program, server, client, ["--mtu", mtu, "--ip", ip])
        print(f"vhost/virtio-user: MTU {mtu}, IPv{ip}: 20000 frames returned")
if os.path.exists(socket):
    lib.fail("the server's socket file is still there after an orderly end")

# A client before its server is told so, in one line, without delay.
early = lib.Process([program, "--role", "ping", "--vdev", client])
if early.finish(10) != 2 or "start the server side first" not in early.text() or early.text().count("\n") != 1:
    lib.fail(f"client without server: {early.text()}")

# The server outlives its clients: killed or ended, the next one is served.
pong = lib.Process([program, "--role", "pong", "--vdev", server, "--seconds", 300, "--link-ms", 20000]).ready()
for n in range(kills):
    ping = lib.Process([program, "--role", "ping", "--vdev", client, "--count", 0, "--seconds", 60]).ready("up")
    lib.time.sleep(0.1)
    ping.kill(lib.signal.SIGKILL if n % 2 else lib.signal.SIGTERM)
    if pong.process.poll() is not None:
        lib.fail(f"server died of {pong.process.poll()} when client {n + 1} ended: {pong.text()}")
last = lib.Process([program, "--role", "ping", "--vdev", client, "--count", 20000, "--seconds", 20])
if last.finish(30) != 0 or last.result()["returned"] != 20000:
    lib.fail(f"client after {kills} others: {last.text()}")
print(f"vhost: server outlived {kills} clients and served the next")

# The client survives its server's death and sees the link go down; the next server finds the path usable.
ping = lib.Process([program, "--role", "ping", "--vdev", client, "--count", 0, "--seconds", 60, "--survive"]).ready("up")
lib.time.sleep(0.2)
pong.kill()
lib.time.sleep(0.5)
if ping.process.poll() is not None:
    lib.fail(f"client died of {ping.process.poll()} when its server was killed: {ping.text()}")
code = ping.finish(10, number=lib.signal.SIGTERM)
if code != 0 or ping.result()["link_downs"] != 1:
    lib.fail(f"client whose server was killed (exit code {code}): {ping.text()}")
print("virtio-user: client saw its server die:", ping.result())
if not os.path.exists(socket):
    lib.fail("a killed server was expected to leave its socket file")
lib.exchange(program, server, client)
print("vhost: a new server took the path that the killed one left")

# A second server on the same path is refused, the first is not disturbed.
pong = lib.Process([program, "--role", "pong", "--vdev", server, "--seconds", 60]).ready()
second = lib.Process([program, "--role", "pong", "--vdev", server, "--seconds", 60])
if second.finish(10) != 2 or "another process listens there" not in second.text():
    lib.fail(f"second server: {second.text()}")
ping = lib.Process([program, "--role", "ping", "--vdev", client, "--count", 20000, "--seconds", 20])
if ping.finish(30) != 0:
    lib.fail(f"after the refusal of a second server: {ping.text()}")
print("vhost: a second server on the path is refused")
