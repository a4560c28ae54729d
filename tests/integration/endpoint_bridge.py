#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two endpoint processes with a network in between that does what it should not, frame by frame: what is damaged is dropped
and repaired, what is trimmed is asked for again, what is placed wrongly or not at all is found, and silence ends in words.

endpoint_bridge.py MRC_ENDPOINT [CASE...]"""
import json
import logging
import struct
import subprocess
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)

import endpoint_lib as lib
from endpoint_lib import Interfaces, Pair, check, check_verified
from bridge_lib import Bridge

try:
    import mrc_scapy as mrc
except ImportError as e:
    lib.skip(f"no scapy for {sys.executable} ({e}); apt-get install python3-scapy")

program = sys.argv[1]
BTH = 14 + 40 + 8  # Ethernet, IPv6, UDP
VA = BTH + 12 + 4 + 4
WRITES = range(0xC6, 0xCC)


def is_write(frame):
    return len(frame) > VA + 8 and frame[12:14] == b"\x86\xdd" and frame[20] == 17 and frame[BTH] in WRITES


class Nth:
    """Does something to the n-th Write of all planes, and passes everything else on."""

    def __init__(self, n, action):
        self.n, self.action, self.seen, self.touched = n, action, 0, None

    def __call__(self, plane, from_serve, frame):
        if from_serve or not is_write(frame):
            return (frame,)
        self.seen += 1
        if self.seen != self.n:
            return (frame,)
        self.touched = frame
        return self.action(frame)


def run_over(edit, *args, planes=2, run_code=0, serve_code=0, serve_args=()):
    bridge = Bridge(planes)
    bridge.edit = edit
    p = Pair(program, args, serve_args, link=Interfaces(bridge))
    results = p.finish(run_code, serve_code)
    bridge.close()
    return p, *results


def sealed(frame):
    """With the ICRC that it should have."""
    return frame[:-4] + mrc.icrc_of(mrc.parse(frame)).to_bytes(4, "little")


def nothing_happens():
    _, ran, served = run_over(lambda plane, from_serve, frame: (frame,), "-s", 10000, "-n", 40)
    check_verified(ran, served, 40)
    print("ok: the bridge alone changes nothing")


def another_udp_port():
    ports = set()

    def note(plane, from_serve, frame):
        if frame[12:14] == b"\x86\xdd" and frame[20] == 17:
            ports.add((from_serve, *struct.unpack_from(">H", frame, 14 + 40 + 2)))
        return (frame,)
    port = ("--set", "net.udp_port=4971")
    _, ran, served = run_over(note, "-s", 10000, "-n", 40, *port, serve_args=port)
    check_verified(ran, served, 40)
    check(ports == {(True, 4971), (False, 4971)}, ports)
    print("ok: all that both ends send goes to UDP port 4971")


def damaged():
    flip = Nth(50, lambda frame: (frame[:200] + bytes([frame[200] ^ 1]) + frame[201:],))
    _, ran, served = run_over(flip, "-s", 10000, "-n", 40)
    check_verified(ran, served, 40)
    check(served["phases"][0]["drops"].get("icrc") == 1, f"drops: {served['phases'][0]['drops']}")
    check(sum(ran["phases"][0]["retransmissions"].values()) >= 1, "nothing was sent again")
    print("ok: one bit flipped: dropped as icrc, sent again, all verified")


def misplaced():
    """A switch with a broken memory: one packet carries another address and a good ICRC. The endpoint must place and
    acknowledge it; where its bytes belong nothing is ever placed, and that must not pass."""
    def elsewhere(frame):
        va, = struct.unpack_from(">Q", frame, VA)
        return (sealed(frame[:VA] + struct.pack(">Q", va + 32768) + frame[VA + 8:]),)
    for args in (["-w", "write_bw"], ["-w", "write_imm"]):
        wrong = Nth(50, elsewhere)
        p, ran, served = run_over(wrong, *args, "-s", 10000, "-n", 40, run_code=1, serve_code=1)
        v = served["phases"][0]["verification"]
        # The message that lacks a piece, and the one that it was written over when that was there already.
        check(v["on"] and v["messages"] == 40 and v["messages_bad"] in (1, 2), f"{v}")
        check(not ran["pass"] and ran["exit_code"] == 1 and "are wrong; first: QP " in ran["failures"][0], ran["failures"])
        check("never written" in v["first_bad"] or "want 0x" in v["first_bad"], v["first_bad"])
        print("ok:", *args, "a placement that went elsewhere fails on both ends:", v["first_bad"])


def trimmed():
    def trim(frame):
        cut = bytearray(frame[:VA + 16])
        tc = 12 << 2  # DSCP of a trimmed packet
        cut[14], cut[15] = 0x60 | tc >> 4, (tc << 4 & 0xF0) | cut[15] & 0x0F
        return (bytes(cut),)
    _, ran, served = run_over(Nth(50, trim), "-s", 10000, "-n", 40)
    check_verified(ran, served, 40)
    # On a slow machine a SACK that shows the hole may be read first: then the NACK finds the packet given up.
    again = ran["phases"][0]["retransmissions"]
    check(again["nack_trimmed"] == 1 or again["inferred_loss"] >= 1, again)
    check(served["phases"][0]["transport"]["tx_nack"] == 1, served["phases"][0]["transport"])
    check(served["phases"][0]["transport"]["rx_trimmed"] == 1, served["phases"][0]["transport"])
    print("ok: a trimmed packet is asked for with a NACK and sent again")


def duplicated():
    _, ran, served = run_over(lambda plane, from_serve, frame: (frame, frame), "-s", 10000, "-n", 40, "-b")
    check_verified(ran, served, 40, True)
    check(served["phases"][0]["drops"]["duplicate"] >= 390, served["phases"][0]["drops"])
    print("ok: every frame twice: placed once, counted as duplicate")


def a_hole():
    """The links stay up, but from some packet on nothing arrives at serve: the transport's retry budget is what ends it."""
    first = []

    def hole(plane, from_serve, frame):
        if from_serve or not is_write(frame):
            return (frame,)
        psn = int.from_bytes(frame[BTH + 9:BTH + 12], "big")
        first.append(psn)
        return (frame,) if (psn - first[0] + 100) % (1 << 24) < 300 else ()
    p, ran, _ = run_over(hole, "-s", 10000, "-D", 60, "--timeout", 12, "--set", "qp.linear_cnt=3", "--set", "qp.exp_cnt=3",
                         run_code=4, serve_code=4)
    check("QP 0: the retry budget is exhausted" in p.run.text(), p.run.text())
    check("the peer gave up: QP 0: the retry budget is exhausted" in p.serve.text(), p.serve.text())
    check(ran["exit_code"] == 4 and ran["phases"][0]["messages_completed"] > 0, f"results so far: {p.run.text()}")
    print("ok: a network that swallows everything ends with code 4 on both ends, results printed")


lib.run_cases(nothing_happens, another_udp_port, damaged, misplaced, trimmed, duplicated, a_hole)
