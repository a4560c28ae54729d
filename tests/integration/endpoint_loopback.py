#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The endpoint in one process: over the virtual fabric with loss, over rings, its files, and what it says to mistakes.

endpoint_loopback.py MRC_ENDPOINT [CASE...]"""
import os
import pathlib
import signal
import sys
import time

import endpoint_lib as lib
from endpoint_lib import Program, check

program = sys.argv[1]
RUN = [program, "run", "--loopback", "--idle", "yield"]


def loss_is_repaired():
    text = lib.run(0, *RUN, "-s", "1M", "-n", 300, "--loss", 0.002, "--seed", 7, "--json", lib.path("r.json"))
    result = lib.load_result("r.json")
    phase = result["phases"][0]
    check(result["pass"] and result["seed"] == "7", text)
    check(phase["verification"]["messages"] == 300 and phase["verification"]["bytes"] == 300 << 20, text)
    check(sum(phase["retransmissions"].values()) > 0, "0.2 % loss without a retransmission")
    check(len(phase["planes"]) == 4, text)
    for plane in phase["planes"]:
        check(0.225 <= plane["tx_share"] <= 0.275, f"plane {plane['plane']} has a share of {plane['tx_share']}")
    check(sum(e["tx_pkts"] for e in phase["evs"]) >= sum(p["tx_data_pkts"] for p in phase["planes"]) * 0.99, text)
    print("ok: 300 MiB with 0.2 % loss verified;", {k: v for k, v in phase["retransmissions"].items() if v})


def rings_and_options():
    text = lib.run(0, *RUN, "--profile", "ring", "-w", "write_lat", "-s", 8, "-n", 2000, "--show-evs", "--json", "-")
    check('"schema": "softmrc.result/1"' in text and "half the round trip" in text, text)
    lib.run(0, *RUN, "--profile", "ring", "-w", "write_imm", "-q", 40, "-s", 100, "-n", 50)
    lib.run(0, *RUN, "--profile", "ring", "-b", "-s", 5000, "-n", 200, "--pin-ev", 3)
    lib.run(0, *RUN, "--ip", "192.0.2.1", "--ip", "192.0.2.2", "-s", 5000, "-n", 200)
    text = lib.run(0, *RUN, "--profile", "ring", "-s", 100, "-n", 10, "-Q", "--set", "net.icrc=ignore")
    check(text.count("warning: net.icrc is ignore") == 2, text)  # at once, and with the result
    print("ok: rings, many QPs, both ways, a pinned EV")


def two_workers():
    text = lib.run(0, *RUN, "--workers", 2, "-q", 4, "-s", 20000, "-n", 300, "-b", "--json", lib.path("w.json"))
    phase = lib.load_result("w.json")["phases"][0]
    check(phase["verification"]["messages"] == 2 * 4 * 300, text)
    # The run ends while the fabric still holds packets for ports that the workers poll.
    for _ in range(2):
        lib.run(0, *RUN, "--workers", 2, "-q", 4, "-s", 20000, "-n", 50, "-b", "--set", "fabric.delay_us=3000")
    print("ok: two workers an end, also over a fabric with a delay")


def threads_meet():
    text = lib.run(0, *RUN, "--workers", 2, "-q", 4, "-s", 20000, "-n", 300, "-b", "--capture", lib.path("t.pcapng"),
                   "--report", lib.path("t.html"), "--json", lib.path("t.json"))
    check(lib.load_result("t.json")["phases"][0]["verification"]["messages"] == 2 * 4 * 300, text)
    check(os.path.getsize(lib.path("t.pcapng")) > 1 << 20, "no pcapng")
    print("ok: two workers, a capture and a report")


def congestion_control():
    text = lib.run(0, *RUN, "-s", "256K", "-n", 200, "-q", 2, "--cc", "nscc", "--base-rtt-us", 1000, "--set", "fabric.delay_us=500",
                   "--set", "fabric.link_gbps=0.05", "--json", lib.path("n.json"))
    result = lib.load_result("n.json")
    check(any("nscc for 1.6 Gb/s and a base RTT of 1000.0 us: window up to 300000 bytes" in line for line in result["effective"]), text)
    controllers = result["phases"][0]["controllers"]
    check(len(controllers) == 1 and controllers[0]["kind"] == "nscc" and controllers[0]["qps"] == 2, controllers)
    c = controllers[0]
    check(0 < c["cwnd_min_bytes"] <= c["cwnd_median_bytes"] <= c["cwnd_max_bytes"] <= 300000 and c["acks"] > 1000, c)
    check(c["active_ns"] > c["ready_ns"] > 0, f"100 MiB through a window of 300 kB, yet it was never closed: {c}")
    check("cwnd min" in text, text)
    off = lib.run(0, *RUN, "-s", "256K", "-n", 50, "--cc", "off", "--json", lib.path("o.json"))
    c = lib.load_result("o.json")["phases"][0]["controllers"][0]
    check(c["kind"] == "off" and c["active_ns"] == 0 and "cwnd_min_bytes" not in c, off)
    text = lib.run(2, *RUN, "-s", 64, "-n", 10, "--cc", "nscc")
    check("cc.rate_gbps: nscc needs the rate of all planes together" in text, text)
    print("ok: nscc, shared by two QPs, off, and a rate that nobody knows")


def marks_and_trims():
    """A path with a rate and the queue of a switch for MRC: NSCC meets marks, a sender without control trims as well."""
    args = [*RUN, "-s", "256K", "-n", 25, "-q", 8, "--base-rtt-us", 1000, "--set", "fabric.delay_us=200", "--set", "fabric.paths_per_plane=2",
            "--set", "fabric.link_gbps=0.1", "--set", "fabric.queue=64K"]
    for cc in ("nscc", "off"):
        lib.run(0, *args, "--cc", cc, "--set", "fabric.ecn=true", "--set", "fabric.ecn_min=8K", "--set", "fabric.trim=true", "--json", lib.path("e.json"))
        phase = lib.load_result("e.json")["phases"][0]
        fabric, c = phase["fabric"], phase["controllers"][0]
        check(fabric["marked"] > 0 and c["marked"] > 0, f"{cc}: no mark: {fabric} {c}")
        if cc == "off":  # whose window keeps the queues short, meets few
            check(fabric["trimmed"] > 0 and phase["retransmissions"]["nack_trimmed"] > 0, f"no trim: {fabric} {phase['retransmissions']}")
        print(f"ok: {cc}: {fabric}, {c['marked']} of {c['acks']} SACKs marked, {c['trims']} trims, {c['cuts']} cuts")
    lib.run(0, *args, "--cc", "off", "--json", lib.path("e.json"))
    phase = lib.load_result("e.json")["phases"][0]
    check("marked" not in phase["fabric"] and "trimmed" not in phase["fabric"] and phase["controllers"][0]["marked"] == 0, phase["fabric"])
    check(phase["of_both_ends"] and "planes" not in phase["of_both_ends"], phase["of_both_ends"])
    print("ok: without fabric.ecn and fabric.trim there are none")


def capture():
    file = pathlib.Path(lib.path("c.pcapng"))
    lib.run(0, *RUN, "-s", 4096, "-n", 20, "--capture", file)
    check(file.stat().st_size > 20 * 128 and file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a", "no pcapng")
    print("ok: capture of", file.stat().st_size, "bytes")


def eal_arguments():
    text = lib.run(0, *RUN, "-s", 64, "-n", 10, "--", "--no-telemetry")
    line = next(l for l in text.splitlines() if l.startswith("EAL:"))
    check("--no-telemetry" in line, line)
    print("ok: effective", line)


def interrupted():
    p = Program(*RUN, "-s", "256K", "-D", 60, "--json", lib.path("i.json"))
    p.wait_for("running write_bw")
    time.sleep(0.5)
    p.signal(signal.SIGTERM)
    p.finish(0, 20)
    check(lib.load_result("i.json")["phases"][0]["interrupted"], "interrupted")
    print("ok: SIGTERM ends with results")


def mistakes():
    yaml = lib.path("bad.yaml")
    pathlib.Path(yaml).write_text("profile: virtual\nqp:\n  mtuu: 1024\n  mpr: 999\n")
    for args, said in (
            ([], "run --loopback -D 2"), (["run", "--loopback", "-s", "3G"], "command line: workload.size: 3G is above"),
            (["run", "--loopback", "--mtu", 1500], "command line: qp.mtu: 1500 is not one of 256"),
            (["run", "--loopback", "--config", yaml], "bad.yaml:3: qp.mtuu: unknown key; did you mean 'mtu'?"),
            (["run", "--loopback", "--config", yaml], "bad.yaml:4: qp.mpr: 999 is above the limit 255"),
            (["run", "--loopback", "--set", "qp.foo=1"], "command line: qp.foo: unknown key"),
            (["run", "--loopback", "--profile", "pcap"], "profile pcap needs one entry a plane"),
            (["serve", "--profile", "ring"], "both ends in one process"),
            (["run", "--nonsense"], "--nonsense"), (["run", "--config", "/nonexistent.yaml"], "No such file"),
            (["run", "--loopback", "--lcores", "100"], "CPU 100 is not available"),
            (["run", "--loopback", "-n", 5, "-D", 1], "--iters excludes --duration")):
        text = lib.run(2, program, *args)
        check(said in text, f"{args}: '{said}' is not in\n{text}")
        check("EAL:" not in text and "panic" not in text.lower(), text)
    check(lib.run(0, program, "run", "--check-config") == "ok\n", "check-config")
    printed = lib.run(0, program, "run", "--print-config", "-s", 777, "--seed", 5)
    check("size: 777" in printed and "seed: 5" in printed, printed)
    pathlib.Path(yaml).write_text(printed)
    check(lib.run(0, program, "run", "--print-config", "--config", yaml) == printed, "print-config loads back")
    check("(0 to 2147483648, K M G allowed)" in lib.run(0, program, "--help-config"), "help-config")
    text = lib.run(2, *RUN, "-s", 64, "-n", 10, "--json", "/nonexistent/x.json")
    check("--json /nonexistent/x.json: cannot be created" in text, text)
    print("ok: mistakes are answered with code 2, what and where")


lib.run_cases(loss_is_repaired, rings_and_options, two_workers, threads_meet, congestion_control, marks_and_trims, capture, eal_arguments, interrupted, mistakes)
