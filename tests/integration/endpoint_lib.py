# SPDX-License-Identifier: BSD-3-Clause
"""What the endpoint tests share: processes with a deadline, results, and the schema they must follow."""
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


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def check(condition, message):
    if not condition:
        fail(message)


def run_cases(*cases):
    """Runs the cases in order, or those named on the command line."""
    wanted = sys.argv[2:]
    for case in cases:
        name = case.__name__
        if not wanted or name in wanted:
            case()


def path(name):
    return os.path.join(TMP, name)


class Program:
    """A started program whose output goes to files, so that nothing blocks on a pipe."""

    def __init__(self, *args):
        self.args = [str(a) for a in args]
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
    """The JSON of a run, checked against the schema when a validator is installed."""
    result = json.loads(pathlib.Path(path(name)).read_text())
    try:
        import jsonschema
    except ImportError:
        check(result["schema"] == "softmrc.result/1", "schema name")  # tests/report checks the schema without it
    else:
        jsonschema.validate(result, SCHEMA)
    return result


SOCKET_SETS = itertools.count()


def vhost_args(planes=2):
    """Sockets of their own for every pair: a process that was killed may hold its own a moment longer."""
    args = ["--profile", "vhost", "--idle", "yield"]
    tag = next(SOCKET_SETS)
    for i in range(planes):
        args += ["--device", path(f"s{tag}p{i}.sock")]
    return args


class Pair:
    """serve and run joined by vhost-user sockets."""

    def __init__(self, program, run_args, serve_args=(), planes=2):
        common = vhost_args(planes)
        self.serve = Program(program, "serve", *common, "--port", 0, "--json", path("serve.json"), *serve_args)
        port = self.serve.wait_for(r"serving on \S+ port (\d+)").group(1)
        self.run = Program(program, "run", *common, "--port", port, "--json", path("run.json"), *run_args)

    def finish(self, run_code=0, serve_code=0, seconds=120):
        self.run.finish(run_code, seconds)
        self.serve.finish(serve_code, 30)
        return load_result("run.json"), load_result("serve.json")
