#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pcap ports: what is sent stands in the file byte for byte, and a file is received as it is.

driver_pcap.py FRAME_PINGPONG"""
import struct
import sys

import driver_lib as lib

program = sys.argv[1]
first, second = lib.path("first.pcap"), lib.path("second.pcap")


def frames(name):
    with open(name, "rb") as file:
        data = file.read()
    magic, = struct.unpack_from("<I", data)
    if magic not in (0xA1B2C3D4, 0xA1B23C4D):
        lib.fail(f"{name}: magic {magic:#x}")
    out, at = [], 24
    while at < len(data):
        _, _, kept, length = struct.unpack_from("<IIII", data, at)
        if kept != length:
            lib.fail(f"{name}: frame of {length} bytes cut to {kept}")
        out.append(data[at + 16:at + 16 + kept])
        at += 16 + kept
    return out


# Nobody answers, so exactly one window goes out.
sender = lib.Process([program, "--role", "ping", "--vdev", f"net_pcap0,tx_pcap={first}", "--window", 32, "--count", 100,
                      "--seconds", 1])
sender.finish(20)
sent = frames(first)
if len(sent) != 32 or len({len(f) for f in sent}) < 8:
    lib.fail(f"{len(sent)} frames in the file, 32 were sent: {sender.text()}")

echo = lib.Process([program, "--role", "pong", "--vdev", f"net_pcap0,rx_pcap={first},tx_pcap={second}", "--seconds", 1])
if echo.finish(20) != 0 or frames(second) != sent:
    lib.fail(f"the file came back changed: {echo.text()}")
print("pcap: 32 frames written, read and written again, identical")

missing = lib.Process([program, "--vdev", f"net_pcap0,rx_pcap={lib.path('none.pcap')}"])
if missing.finish(20) != 2 or missing.text().count("\n") != 1:
    lib.fail(f"a missing file: {missing.text()}")
