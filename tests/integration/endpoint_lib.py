# SPDX-License-Identifier: BSD-3-Clause
"""What the endpoint tests share: processes with a deadline, pairs of endpoints over every kind of link, and results, each
held against its schema."""
import atexit
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema

import netns_lib
from netns_lib import skip  # noqa: F401 (for the scripts)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "lib/report/schema/softmrc.result-1.json").read_text())
TMP = tempfile.mkdtemp(prefix="mrc-ep-")
PROCESSES = []


def clean_up():
    for process in PROCESSES:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(TMP, ignore_errors=True)


atexit.register(clean_up)


def fail(message):
    print("FAILED:", message)
    sys.exit(1)


def check(condition, message):
    if not condition:
        fail(message)


def run_cases(*cases, programs=1):
    """Runs the cases in order, or those named on the command line behind the programs. One that cannot run here says why
    and leaves the others to run; the script is skipped only when none could."""
    wanted = sys.argv[1 + programs:]
    ran = 0
    for case in cases:
        name = case.__name__
        if wanted and name not in wanted:
            continue
        try:
            case()
            ran += 1
        except SystemExit as end:
            if end.code != 77:
                raise
    sys.exit(0 if ran else 77)


def path(name):
    return os.path.join(TMP, name)


class Program:
    """A started program whose output goes to files, so that nothing blocks on a pipe."""

    def __init__(self, *args, netns=None):
        self.args = netns_lib.inside(netns, *args)
        self.out, self.err = tempfile.TemporaryFile("w+", dir=TMP), tempfile.TemporaryFile("w+", dir=TMP)
        self.process = subprocess.Popen(self.args, stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)
        PROCESSES.append(self.process)

    def text(self):
        parts = []
        for stream in (self.out, self.err):
            position = stream.tell()
            stream.seek(0)
            parts.append(stream.read())
            stream.seek(position)
        return "".join(parts)

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            match = re.search(pattern, self.text())
            if match:
                return match
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        fail(f"{' '.join(self.args)}: '{pattern}' did not appear:\n{self.text()}")

    def finish(self, code, seconds=90):
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            fail(f"{' '.join(self.args)} hangs:\n{self.text()}")
        if got != code:
            fail(f"{' '.join(self.args)}: exit code {got}, expected {code}:\n{self.text()}")
        return self.text()

    def signal(self, number):
        self.process.send_signal(number)


def run(code, *args, seconds=120):
    return Program(*args).finish(code, seconds)


def load_result(name):
    """The JSON of a run, checked against the schema."""
    result = json.loads(pathlib.Path(path(name)).read_text())
    jsonschema.validate(result, SCHEMA)
    return result


SETS = itertools.count()


class Sockets:
    """Two processes of this machine over vhost-user or memif sockets. Paths of their own for every pair: a process that
    was killed may hold its own a moment longer."""
    address = "127.0.0.1"
    netns = {"serve": None, "run": None}

    def __init__(self, planes=2, profile="vhost"):
        tag = next(SETS)
        self.args = ["--profile", profile, "--idle", "yield"]
        for i in range(planes):
            self.args += ["--device", path(f"s{tag}p{i}.sock")]

    def of(self, role):
        return self.args


class Interfaces:
    """serve in namespace a, run in namespace b of a netns_lib.Veth, over af_packet or af_xdp. `ip`: 4, or 6 for the
    addresses that the program makes up."""
    address = netns_lib.Veth.A

    def __init__(self, veth, profile="af_packet", ip=6, planes=None):
        self.veth, self.ip = veth, ip
        self.netns = {"serve": veth.a, "run": veth.b}
        self.planes = planes or veth.planes
        self.args = ["--profile", profile]
        for i in range(self.planes):
            self.args += ["--device", f"d{i}"]

    def of(self, role):
        host = {"serve": 1, "run": 2}[role]
        if self.ip == 6:
            return self.args
        return self.args + [w for i in range(self.planes) for w in ("--ip", f"10.214.{i}.{host}")]


def vhost_args(planes=2):
    return Sockets(planes).args


class Pair:
    """serve and run, by default joined by vhost-user sockets."""

    def __init__(self, program, run_args, serve_args=(), planes=2, link=None):
        self.link = link or Sockets(planes)
        self.tag = f"{next(SETS)}"
        self.serve = Program(program, "serve", *self.link.of("serve"), "--listen", self.link.address, "--port", 0,
                             "--json", path(f"serve{self.tag}.json"), *serve_args, netns=self.link.netns["serve"])
        port = self.serve.wait_for(r"serving on \S+ port (\d+)").group(1)
        self.run = Program(program, "run", *self.link.of("run"), "--connect", self.link.address, "--port", port,
                           "--json", path(f"run{self.tag}.json"), *run_args, netns=self.link.netns["run"])

    def under_way(self):
        """Both ends are inside a phase."""
        self.run.wait_for("running write_")
        self.serve.wait_for("running write_")
        time.sleep(0.5)

    def finish(self, run_code=0, serve_code=0, seconds=120):
        self.run.finish(run_code, seconds)
        self.serve.finish(serve_code, 30)
        return self.results()

    def results(self):
        return load_result(f"run{self.tag}.json"), load_result(f"serve{self.tag}.json")


def write_config(name, text):
    pathlib.Path(path(name)).write_text(text)
    return path(name)


def check_verified(ran, served, messages, both_ways=False):
    """Both results of a pair say that this many messages arrived, byte for byte, over every plane."""
    for mine, other in zip(ran["phases"], served["phases"], strict=True):
        wanted = messages * mine["qps"]
        ends = [("run's", mine["peer_verification"]), ("serve's", other["verification"])]
        if both_ways:
            ends += [("serve's", other["peer_verification"]), ("run's", mine["verification"])]
        for whose, v in ends:
            check(v["on"] and v["messages"] == wanted and v["messages_bad"] == 0 and
                  v["bytes"] == wanted * mine["size_bytes"], f"{whose} verification: {v}, {wanted} messages wanted")
        check(mine["messages_completed"] == mine["messages_offered"] == wanted, f"{mine['messages_completed']} completed")
        check(mine["latency"]["samples"] == wanted, f"latency: {mine['latency']}")
        check(all(p["tx_data_pkts"] > 0 for p in mine["planes"]), f"a plane carried nothing: {mine['planes']}")
        check(mine["conserved"] and other["conserved"], f"{mine['conservation']}; {other['conservation']}")
    check(ran["pass"] and served["pass"], f"{ran['failures']} {served['failures']}")


def two_cpus():
    """Two CPUs for --lcores, or the same one twice where there is no other."""
    cpus = sorted(os.sched_getaffinity(0))
    return f"{cpus[0]},{cpus[1 % len(cpus)]}"


def rate(result):
    return f"{result['phases'][-1]['achieved']['goodput_bps'] / 1e6:.0f} Mb/s"
