#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two endpoint processes over memif: verified both ways, and no way in which a peer leaves takes the other end along. The
driver unmaps its memory under running bursts then, and its close leaves EAL with a dangling handle.

endpoint_memif.py MRC_ENDPOINT [CASE...]"""
import os
import signal
import sys
import time

import endpoint_lib as lib
from endpoint_lib import Pair, Sockets, check, check_verified, rate

program = sys.argv[1]


def pair(*args, serve=(), planes=2):
    return Pair(program, args, serve, link=Sockets(planes, "memif"))


def workloads():
    for args in (["-w", "write_bw", "-s", 65536, "-n", 300], ["-w", "write_lat", "-s", 64, "-n", 300],
                 ["-w", "write_imm", "-s", 20000, "-n", 100, "-q", 3, "-b"]):
        ran, served = pair(*args).finish()
        check_verified(ran, served, args[args.index("-n") + 1], "-b" in args or "write_lat" in args)
        print("ok: memif", *args, "-", rate(ran))


def two_workers():
    workers = ["--workers", 2, "--lcores", lib.two_cpus()]
    ran, served = pair("-s", 20000, "-n", 200, "-q", 4, "-b", *workers, serve=workers).finish()
    check_verified(ran, served, 200, True)
    print("ok: memif, two workers on CPUs", workers[-1], "-", rate(ran))


def ends_well():
    """The end of a run is where both close at the same moment: exit codes 0, sockets gone, again and again."""
    for _ in range(6):
        p = pair("-s", 8192, "-n", 20, planes=4)
        p.finish()
        left = [d for d in p.link.args if d.endswith(".sock") and os.path.exists(d)]
        check(not left, f"socket files are left behind: {left}")
    print("ok: six pairs in a row ended with code 0 on both ends")


def peer_leaves():
    for victim, survivor in (("serve", "run"), ("run", "serve")):
        for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL):
            p = pair("-s", 32768, "-D", 60, "-b")
            p.under_way()
            getattr(p, victim).signal(number)
            start = time.monotonic()
            text = getattr(p, survivor).finish(3, 15)
            check("the peer is gone" in text, text)
            check(time.monotonic() - start < 5, "it took too long")
    print("ok: a killed peer ends the other with code 3, never a crash, three times each way")


def interrupts():
    for which in ("run", "serve"):
        p = pair("-s", 32768, "-D", 60)
        p.under_way()
        getattr(p, which).signal(signal.SIGINT)
        ran, served = p.finish(seconds=20)
        check(ran["phases"][0]["interrupted"] and served["phases"][0]["verification"]["messages"] > 0, "results")
    print("ok: SIGINT to either end gives results on both")


lib.run_cases(workloads, two_workers, ends_well, peer_leaves, interrupts)
