#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pcap ports. Files lead one way: what an endpoint sends stands in its file, every packet whole, and nobody answers; what a
file holds is received and accounted for. Over a live interface libpcap carries both directions, and a run passes.

endpoint_pcap.py MRC_ENDPOINT MRC_DECODE [CASE...]"""
import collections
import json
import os
import subprocess
import sys

import endpoint_lib as lib
from endpoint_lib import Interfaces, Pair, check, check_verified, rate
from netns_lib import Veth

program, decoder = sys.argv[1:3]
RETRY = ["--set", "qp.timeout=15", "--set", "qp.linear_cnt=1", "--set", "qp.exp_cnt=1"]


class Files:
    """Each end writes to a file of its own, and reads from one where it is given."""
    address = "127.0.0.1"
    netns = {"serve": None, "run": None}

    def __init__(self, tag, serve_reads="", run_reads=""):
        self.reads = {"serve": serve_reads, "run": run_reads}
        self.writes = {role: lib.path(f"{tag}-{role}.pcap") for role in ("serve", "run")}

    def of(self, role):
        return ["--profile", "pcap", "--device", f"{self.reads[role]},{self.writes[role]}"]


def decode(file):
    done = subprocess.run([decoder, "--json", file], capture_output=True, text=True)
    check(done.returncode == 0, f"mrc-decode {file}: {done.stderr} {done.stdout[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def into_a_file():
    """Nobody answers, so the retry budget ends the run; each message is in the file, at least once, byte for byte."""
    link = Files("first")
    p = Pair(program, ["-s", 5000, "-n", 4, "--evs", 8, *RETRY], link=link)
    ran, _ = p.finish(4, 4)
    check("the retry budget is exhausted" in p.run.text(), p.run.text())
    packets = decode(link.writes["run"])
    writes = [q for q in packets if q["op"].startswith("RDMA Write")]
    check(len(packets) == ran["phases"][0]["planes"][0]["tx_pkts"], f"{len(packets)} in the file, {ran['phases'][0]['planes']}")
    check(all(q["icrc"]["ok"] for q in packets), "an ICRC is wrong")
    fresh = [q for q in writes if not q["bth"]["rtx"]]
    check(len(fresh) == 8 and sum(q["payload_len"] for q in fresh) == 4 * 5000, f"{len(fresh)} Writes")
    check({q["bth"]["psn"] for q in writes} == {q["bth"]["psn"] for q in fresh} and len(writes) > 8, f"sent again on timeout: {ran['phases'][0]['retransmissions']} {[(q['op'], q['bth']['psn']) for q in packets]}")
    check(not decode_or_empty(link.writes["serve"]), "the other end had nothing to say")
    print(f"ok: pcap file: {len(writes)} Writes of 4 messages, {len(writes) - 8} of them again, each with its ICRC")
    return link.writes["run"]


def decode_or_empty(file):
    return decode(file) if os.path.exists(file) and os.path.getsize(file) > 24 else []


def out_of_a_file():
    """What a file holds is received; it belongs to QPs of another run, so all of it is dropped, with the reason."""
    source = into_a_file()
    frames = len(decode(source))
    link = Files("second", serve_reads=source)
    capture = lib.path("second.pcapng")
    p = Pair(program, ["-s", 5000, "-n", 4, "--evs", 8, *RETRY], ["--capture", capture], link=link)
    p.finish(4, 4)
    out = subprocess.run(["tshark", "-r", capture, "-T", "fields", "-e", "frame.comment"], capture_output=True, text=True)
    reasons = collections.Counter(out.stdout.split("\n")[:-1])
    check(sum(reasons.values()) == frames and set(reasons) <= {"drop: unknown_qp", "drop: not_for_us"}, f"{frames}: {reasons}")
    print(f"ok: pcap file of {frames} frames read, all accounted for: {dict(reasons)}")


def live():
    veth = Veth(1500, 1500)
    link = Interfaces(veth)
    link.of = lambda role: ["--profile", "pcap", "--device", "live:d0", "--device", "live:d1"]
    for args in (["-s", 10000, "-n", 100], ["-w", "write_imm", "-s", 3000, "-n", 50, "-b"]):
        ran, served = Pair(program, args, link=link).finish()
        check_verified(ran, served, args[args.index("-n") + 1], "-b" in args)
        check(ran["phases"][0]["path_mtu_bytes"] == 1024, "path MTU")
        print("ok: pcap over live interfaces", *args, "-", rate(ran), f"p50 {ran['phases'][0]['latency']['p50_ns'] / 1e6:.1f} ms")
    text = lib.Program(program, "serve", "--profile", "pcap", "--device", "live:d0", "--mtu", 4096, "--port", 0,
                       netns=veth.a).finish(2, 20)
    check("interface d0 carries packets of 1500 bytes" in text, text)


lib.run_cases(into_a_file, out_of_a_file, live, programs=2)
