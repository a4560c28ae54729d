#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The capture of a run as others read it: tshark for interfaces, nanoseconds, directions and comments, mrc-decode for every
packet. One frame is damaged on its way, and stands in the receiver's file with the reason why it was dropped.

endpoint_capture.py MRC_ENDPOINT MRC_DECODE [CASE...]"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time

import endpoint_lib as lib
from bridge_lib import Bridge
from endpoint_lib import Interfaces, Pair, Program, check, check_verified
from netns_lib import Veth

program, decoder = sys.argv[1:3]


def decode(file):
    done = subprocess.run([decoder, "--json", file], capture_output=True, text=True)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def fields(file, *names):
    words = [w for n in names for w in ("-e", n)]
    out = subprocess.run(["tshark", "-r", file, "-T", "fields", "-E", "separator=|", *words], capture_output=True, text=True,
                         check=True).stdout
    return [line.split("|") for line in out.splitlines()]


def a_pair():
    if shutil.which("tshark") is None:
        lib.skip("no tshark; apt-get install tshark")
    bridge = Bridge(2)
    count = iter(range(1 << 30))

    def damage(plane, from_serve, frame):
        data = not from_serve and len(frame) > 1000
        return (frame[:300] + b"\xff\xee" + frame[302:],) if data and next(count) == 60 else (frame,)
    bridge.edit = damage
    begin = time.time_ns()
    files = {role: lib.path(f"{role}.pcapng") for role in ("serve", "run")}
    p = Pair(program, ["-s", 10000, "-n", 40, "--capture", files["run"]],
             ["--capture", files["serve"], "--set", "capture.snap_bytes=4096"], link=Interfaces(bridge))
    ran, served = p.finish()
    bridge.close()
    check_verified(ran, served, 40)
    for role, result in (("run", ran), ("serve", served)):
        rows = fields(files[role], "frame.interface_name", "frame.time_epoch", "frame.packet_flags_direction", "frame.comment",
                      "frame.len", "frame.cap_len", "udp.dstport")
        planes = result["phases"][0]["planes"]
        seen = collections.Counter((row[0], row[2]) for row in rows)
        for plane in planes:
            name = plane["port"]
            at = int(name[-1])
            # The result counts until its phase is over, the file until the program ends: SACKs of what had arrived by
            # then may still be on their way. So the file has what the result counts, and no more than the wire carried.
            got, wire = seen[(name, "0x00000001")], bridge.passed_on[at, role == "run"]
            check(0 < plane["rx_pkts"] <= got <= wire, f"{role}: {name} in: {got} in the file, {plane['rx_pkts']} counted, {wire} sent")
            got, wire = seen[(name, "0x00000002")], bridge.taken[at, role == "serve"]
            check(0 < plane["tx_pkts"] <= got == wire, f"{role}: {name} out: {got} in the file, {plane['tx_pkts']} counted, {wire} came")
        check(len({row[0] for row in rows}) == 2, "an interface a plane")
        check(all(row[6] == "4791" for row in rows), "everything is UDP/4791")
        times = [row[1].split(".") for row in rows]
        check(all(len(t[1]) == 9 for t in times) and any(not t[1].endswith("000") for t in times), "nanoseconds")
        ns = [int(s) * 10**9 + int(f) for s, f in times]
        check(begin <= min(ns) and max(ns) <= time.time_ns(), "the times are those of the run")
        by_interface = collections.defaultdict(list)
        for row, t in zip(rows, ns):
            by_interface[row[0], row[2]].append(t)
        check(all(t == sorted(t) for t in by_interface.values()), "in order on each interface and direction")
        code, packets = decode(files[role])
        check(len(packets) == len(rows), f"mrc-decode reads {len(packets)} of {len(rows)} packets")
        print(f"ok: {role}: {len(rows)} packets, both planes and directions, nanoseconds, read by tshark and mrc-decode ({code})")
    dropped = [row for row in fields(files["serve"], "frame.comment", "frame.packet_flags_direction", "frame.number") if row[0]]
    # Its loss makes the requestor give up others as well, which then arrive twice.
    reasons = collections.Counter(row[0] for row in dropped)
    counted = {f"drop: {reason}": n for reason, n in served["phases"][0]["drops"].items()}
    check(reasons["drop: icrc"] == 1 and all(row[1] == "0x00000001" for row in dropped), f"comments: {dropped}")
    check(all(reasons[r] >= n for r, n in counted.items()), f"{reasons}, counted {counted}")
    _, packets = decode(files["serve"])
    bad = [i for i, packet in enumerate(packets, 1) if packet.get("icrc", {}).get("ok") is False]
    at = [int(row[2]) for row in dropped if row[0] == "drop: icrc"]
    check(bad == at, f"mrc-decode finds a bad ICRC in packets {bad}, the comment is at {at}")
    check(max(int(row[0]) for row in fields(files["run"], "frame.cap_len")) == 256, "256 bytes of each frame are kept by default")
    print("ok: the damaged frame is there with its reason, and mrc-decode agrees")


def drops_only():
    bridge = Bridge(1)
    count = iter(range(1 << 30))
    bridge.edit = lambda plane, from_serve, frame: (
        (frame[:-1] + bytes([frame[-1] ^ 1]),) if not from_serve and len(frame) > 1000 and next(count) % 50 == 49 else (frame,))
    file = lib.path("drops.pcapng")
    p = Pair(program, ["-s", 10000, "-n", 40], ["--capture", file, "--set", "capture.drops_only=true"],
             link=Interfaces(bridge))
    ran, served = p.finish()
    bridge.close()
    check_verified(ran, served, 40)
    comments = collections.Counter(row[0] for row in fields(file, "frame.comment"))
    wanted = {f"drop: {reason}": n for reason, n in served["phases"][0]["drops"].items()}
    # Repeats may arrive when the phase is over: counted in the file alone.
    check(wanted.get("drop: icrc", 0) > 0 and all(comments[r] >= n for r, n in wanted.items()), f"{comments}, counted {wanted}")
    check(all(c.startswith("drop: ") for c in comments), f"something that was not dropped: {comments}")
    print("ok: only what was dropped:", dict(comments))


def other_interfaces():
    """A socket of the driver hears all interfaces until it is bound to its own: a flood on another one must not be received."""
    veth = Veth(1500, 1500)
    flood = Program("python3", "-c", "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                    "print('flooding', flush=True)\nwhile True: s.sendto(b'x' * 100, ('127.0.0.1', 9))", netns=veth.b)
    flood.wait_for("flooding")
    file = lib.path("flood.pcapng")
    ran, served = Pair(program, ["-s", 10000, "-n", 40, "--capture", file], link=Interfaces(veth)).finish()
    flood.process.kill()
    check_verified(ran, served, 40)
    _, packets = decode(file)
    strangers = [p for p in packets if p.get("not_mrc")]
    check(not strangers, f"{len(strangers)} of {len(packets)} packets are not ours: {strangers[:2]}")
    print("ok: while another interface is flooded,", len(packets), "packets, none of it")


def loopback():
    file = lib.path("c.pcapng")
    lib.run(0, program, "run", "--loopback", "--idle", "yield", "-s", 4096, "-n", 100, "--capture", file, "--json",
            lib.path("l.json"))
    result = lib.load_result("l.json")
    for name, of in (("run's", file + ".run"), ("serve's", file)):
        _, packets = decode(of)
        data = [p for p in packets if p["op"].startswith("RDMA Write") or p["op"].startswith("WRITE")]
        check(len(data) == 100, f"{name}: {len(data)} Writes of {len(packets)} packets: {packets[0]['op']}")
    check(result["phases"][0]["engine"]["capture_lost"] == 0, "frames were lost to the capture")
    print("ok: loopback: each end's file has the 100 Writes")


def cannot_be_written():
    text = lib.run(2, program, "run", "--loopback", "-s", 64, "-n", 10, "--capture", "/nonexistent/c.pcapng")
    check("/nonexistent/c.pcapng" in text and "No such file" in text, text)
    print("ok: a file that cannot be written is an error at the start")


def a_full_disk():
    """The run is not held up; what is missing is counted, told, and no success."""
    if os.geteuid() != 0:
        lib.skip("a file system of 64 KiB needs root")
    directory = lib.path("small")
    os.makedirs(directory, exist_ok=True)
    inside = f"mount -t tmpfs -o size=64k none {directory} && \"$@\"; code=$?; ls -l {directory}; exit $code"
    text = lib.run(2, "unshare", "-m", "sh", "-c", inside, "sh", program, "run", "--loopback", "--idle", "yield", "-s", "64K",
                   "-n", 300, "--capture", f"{directory}/c.pcapng", "--json", lib.path("full.json"))
    result = lib.load_result("full.json")
    said = [f for f in result["failures"] if "No space left on device" in f]
    check(len(said) >= 1 and "the file holds the packets up to there" in said[0], f"{result['failures']}\n{text}")
    missing = int(re.search(r"(\d+) packets are not in it", said[0]).group(1))
    check(missing > 100 and not result["pass"] and result["exit_code"] == 2, result["failures"])
    check(result["phases"][0]["messages_completed"] == 300, "the run itself goes on")
    print("ok: on a full disk", missing, "packets are told as missing, exit code 2")


lib.run_cases(a_pair, drops_only, other_interfaces, loopback, cannot_be_written, a_full_disk, programs=2)
