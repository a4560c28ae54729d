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
    # Told to one end alone it holds for both, and both pass.
    for run_args, serve_args, whose in (([], ["--no-verify"], "the other end"), (["--no-verify"], [], "this end")):
        pair = Pair(program, ["-s", 4096, "-n", 100, *run_args], serve_args)
        ran, served = pair.finish()
        for result in (ran, served):
            phase = result["phases"][0]
            check(result["pass"] and not phase["verification"]["on"] and not phase["peer_verification"]["on"], result)
        check(f"verification is off: --no-verify at {whose}" in pair.run.text(), pair.run.text())
    print("ok: --no-verify at either end is agreed upon and said")


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


def greet(s, **changes):
    s.sendall(json.dumps({"type": "hello", "protocol": "softmrc.exchange", "version": 1, "role": "run", "software": "x",
                          **changes}).encode() + b"\n")


def strangers():
    """A port scan, a browser, noise, another release, somebody who says nothing: each is refused, counted, and the peer
    that comes then is served."""
    link = lib.Sockets(2)
    serve = Program(program, "serve", *link.args, "--port", 0, "--json", lib.path("serve-strangers.json"))
    port = int(serve.wait_for(r"serving on \S+ port (\d+)").group(1))
    silent = socket.create_connection(("127.0.0.1", port))
    cases = ((b"GET / HTTP/1.1\r\n\r\n", "not JSON"), (b"\xff\x1b[2J\xc2\x9b" * 500 + b"\n", "not JSON"),
             (None, "version 1 here, 99 there"), (b"", "closed the connection"))
    for words, said in cases:
        with socket.create_connection(("127.0.0.1", port)) as s:
            greet(s, version=99) if words is None else s.sendall(words)
            if words == b"":
                s.shutdown(socket.SHUT_WR)  # a close with serve's greeting unread would be a reset
            s.settimeout(10)
            try:
                while s.recv(4096):
                    pass
            except ConnectionResetError:
                pass
        serve.wait_for(f"refused 127.0.0.1:.*{said}", 10)
    run = Program(program, "run", *link.args, "--port", port, "-s", 4096, "-n", 50)
    run.finish(0, 60)
    text = serve.finish(0, 30)
    silent.close()
    check("5 connections to the exchange's port were no peer" in text, text)
    check(not [c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f"], repr(text))
    lib.load_result("serve-strangers.json")
    print("ok: strangers on the exchange port are refused and counted, and the peer behind them is served")


def a_peer_that_breaks_the_exchange():
    """A peer that greeted and then breaks the exchange is no stranger any more."""
    serve = Program(program, "serve", *lib.vhost_args(), "--port", 0, "--peer-timeout", 2)
    port = int(serve.wait_for(r"serving on \S+ port (\d+)").group(1))
    with socket.create_connection(("127.0.0.1", port)) as s:
        greet(s)
        serve.wait_for("connection from")
        s.sendall(b'{"type":"offer"}\n')
        text = serve.finish(3, 20)
        check("mtu is missing" in text, text)
    print("ok: a greeted peer that breaks the exchange ends it with code 3")


def set_up_takes_its_time():
    """While one end starts DPDK and fills its memory the other hears from it: two seconds of patience suffice."""
    pair = Pair(program, ["-s", "512M", "-n", 2, "-b", "--peer-timeout", 1], ["--peer-timeout", 1])
    ran, served = pair.finish()
    check_verified(ran, served, 2, True)
    print("ok: messages of 512 MiB both ways, with a peer timeout of a second")


def a_limit_of_memory():
    pair = Pair(program, ["-s", "1M", "-q", 8, "-n", 10], ["--set", "oob.memory_limit=16M"])
    text = pair.run.finish(3)
    check("(64 for messages, 1 for QPs) at the serving end, which gives 16 MiB at most (oob.memory_limit)" in text,
          text)
    pair.serve.finish(3)
    print("ok: a run that needs more memory than the serving end gives is refused")


def a_silent_vhost_server():
    """Something that accepts on the socket and never answers: that is waited for, with pings to the peer, for a while
    only; SIGINT ends it at once."""
    path = lib.path("silent.sock")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket() as oob:
        listener.bind(path)
        listener.listen()
        oob.bind(("127.0.0.1", 0))
        oob.listen()
        run = Program(program, "run", "--profile", "vhost", "--device", path, "--port", oob.getsockname()[1],
                      "--json", lib.path("silent.json"))
        peer = oob.accept()[0]
        held = listener.accept()[0]
        peer.settimeout(10)
        heard = b""
        while heard.count(b"ping") < 3:
            more = peer.recv(4096)
            check(more, f"it ended: {run.text()}")
            heard += more
        check(heard.startswith(b'{"') and b'"hello"' in heard, heard)
        run.signal(signal.SIGINT)
        start = time.monotonic()
        text = run.finish(1, 10)
        check(time.monotonic() - start < 5 and "interrupted while setting up" in text, text)
        check(lib.load_result("silent.json")["exit_code"] == 1, "the result says so too")
        held.close()
        run = Program(program, "run", "--profile", "vhost", "--device", path, "--port", oob.getsockname()[1])
        peer, held = oob.accept()[0], listener.accept()[0]
        text = run.finish(2, 60)
        check("the ports did not come up within 30 s; a vhost peer that does not answer does that" in text and path in text,
              text)
        check(b"the ports did not come up" in b"".join(iter(lambda: peer.recv(4096), b"")), "the peer is told")
        held.close()
    print("ok: a vhost server that does not answer hangs nothing, and the peer hears from us meanwhile")


def nobody():
    text = lib.run(3, program, "run", *lib.vhost_args(), "--port", 1, "--set", "oob.connect_timeout_s=0.3")
    check("start the other end first" in text, text)
    print("ok: nobody there, code 3")
    # Neither a refused nor an unanswered connection is waited for after SIGINT.
    for address in ("127.0.0.1", "192.0.2.1"):
        run = Program(program, "run", *lib.vhost_args(), "--connect", address, "--port", 1, "--set",
                      "oob.connect_timeout_s=30")
        time.sleep(0.5)
        run.signal(signal.SIGINT)
        start = time.monotonic()
        text = run.finish(1, 5)
        check(time.monotonic() - start < 2 and "interrupted" in text, text)
    print("ok: SIGINT ends connecting at once")


def interrupts():
    interrupt("run")
    interrupt("serve")


def kills():
    kill("serve", "run")
    kill("run", "serve")


lib.run_cases(workloads, no_verify_is_said, interrupts, kills, frozen_peer, retry_budget, refused, strangers, a_peer_that_breaks_the_exchange,
              set_up_takes_its_time, a_limit_of_memory, a_silent_vhost_server, nobody)
