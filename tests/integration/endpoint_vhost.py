#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two endpoint processes over vhost-user: each workload verified, and every way in which a run can end early.

endpoint_vhost.py MRC_ENDPOINT [CASE...]"""
import json
import signal
import socket
import sys
import time

import endpoint_lib as lib
from endpoint_lib import Pair, Program, check, check_verified

program = sys.argv[1]


def workloads():
    for args in (["-w", "write_bw", "-s", 65536, "-n", 400], ["-w", "write_imm", "-s", 10000, "-n", 500, "-q", 3],
                 ["-w", "write_lat", "-s", 64, "-n", 500], ["-w", "write_bw", "-s", 0, "-n", 50],
                 ["-w", "write_bw", "-s", 20000, "-n", 200, "-b"],
                 ["-w", "write_imm", "-n", 100, "--set", "workload.sweep=[1, 4095, 4096, 4097, 1M]"]):
        ran, served = Pair(program, args).finish()
        check_verified(ran, served, int(args[args.index("-n") + 1]), "-b" in args or "write_lat" in args)
        print("ok:", *args, "-", f"{ran['phases'][-1]['achieved']['goodput_bps'] / 1e9:.2f} Gb/s,",
              f"p99 {ran['phases'][-1]['latency']['p99_ns'] / 1e3:.1f} us")


def no_verify_is_said():
    pair = Pair(program, ["-s", 4096, "-n", 100, "--no-verify"])
    ran, _ = pair.finish()
    check(ran["phases"][0]["peer_verification"]["on"] is False, "verification should be off")
    check("OFF" in pair.run.text(), pair.run.text())


def interrupt(which):
    pair = Pair(program, ["-s", 32768, "-D", 60])
    pair.under_way()
    getattr(pair, which).signal(signal.SIGINT)
    ran, served = pair.finish(seconds=20)
    check(ran["phases"][0]["interrupted"], "the result does not say that it was interrupted")
    check(ran["phases"][0]["messages_completed"] == served["phases"][0]["verification"]["messages"] > 0,
          "both ends count the same")
    print(f"ok: SIGINT to {which} ends both with results after",
          ran["phases"][0]["messages_completed"], "messages")


def kill(victim, survivor):
    pair = Pair(program, ["-s", 32768, "-D", 60])
    pair.under_way()
    getattr(pair, victim).signal(signal.SIGKILL)
    start = time.monotonic()
    text = getattr(pair, survivor).finish(3, 15)
    check("the peer is gone" in text, text)
    check(time.monotonic() - start < 5, "it took too long")
    print(f"ok: kill -9 of {victim}: {survivor} ends with code 3 after {time.monotonic() - start:.2f} s")


def frozen_peer():
    pair = Pair(program, ["-s", 32768, "-D", 60, "--peer-timeout", 2])
    pair.under_way()
    pair.serve.signal(signal.SIGSTOP)
    text = pair.run.finish(3, 20)
    pair.serve.signal(signal.SIGKILL)
    pair.serve.process.wait(10)
    check("silent for 2.0 s" in text, text)
    print("ok: a stopped peer is given up after its timeout")


def retry_budget():
    pair = Pair(program, ["-s", 32768, "-D", 60, "--peer-timeout", 60, "--set", "qp.timeout=14",
                          "--set", "qp.linear_cnt=2", "--set", "qp.exp_cnt=2"])
    pair.under_way()
    pair.serve.signal(signal.SIGSTOP)
    text = pair.run.finish(4, 30)
    check("retry budget is exhausted" in text, text)
    pair.serve.signal(signal.SIGCONT)
    text = pair.serve.finish(4, 30)
    check("the peer gave up: QP 0: the retry budget" in text, text)
    print("ok: an exhausted retry budget ends both ends with code 4")


def refused():
    pair = Pair(program, ["-s", 4096, "-n", 10, "--mtu", 1024], ["--mtu", 4096])
    text = pair.run.finish(3)
    check("the peer refused: qp.mtu is 4096 on one end and 1024 on the other" in text, text)
    text = pair.serve.finish(3)
    check("refused the peer: qp.mtu" in text, text)
    print("ok: another MTU is refused on both sides, code 3")


def strangers():
    for words, said in ((b"GET / HTTP/1.1\r\n\r\n", "not JSON"), (b"\xff" * 5000 + b"\n", "not JSON"),
                        (json.dumps({"type": "hello", "protocol": "softmrc.exchange", "version": 99, "role": "run",
                                     "software": "x"}).encode() + b"\n", "version 1 here, 99 there"),
                        (b"", "closed the connection")):
        serve = Program(program, "serve", *lib.vhost_args(), "--port", 0)
        port = int(serve.wait_for(r"serving on \S+ port (\d+)").group(1))
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(words)
            if words:
                s.settimeout(10)
                try:
                    while s.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        text = serve.finish(3, 20)
        check(said in text, f"{words[:30]}: {text}")
    print("ok: strangers on the exchange port are refused, code 3")


def nobody():
    text = lib.run(3, program, "run", *lib.vhost_args(), "--port", 1, "--set", "oob.connect_timeout_s=0.3")
    check("start the other end first" in text, text)
    print("ok: nobody there, code 3")


def interrupts():
    interrupt("run")
    interrupt("serve")


def kills():
    kill("serve", "run")
    kill("run", "serve")


lib.run_cases(workloads, no_verify_is_said, interrupts, kills, frozen_peer, retry_budget, refused, strangers, nobody)
