# SPDX-License-Identifier: BSD-3-Clause
"""What the driver_* scripts share: processes ended by pid, network namespaces that go away, and the exit codes of meson
(0 passed, 1 failed, 77 skipped with a reason)."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from netns_lib import Veth, inside, skip  # noqa: F401 (for the scripts)

started = []
directory = tempfile.mkdtemp(prefix="driver-")


@atexit.register
def clean_up():
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(directory, ignore_errors=True)


# A test that meson or a person ends still cleans up.
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda n, frame: sys.exit(128 + n))


def fail(reason):
    print("FAILED:", reason)
    sys.exit(1)


def path(name):
    return os.path.join(directory, name)


class Process:
    """A program with its output in a file; `ready` waits for a line, `finish` for the end."""

    def __init__(self, args, netns=None):
        self.args = inside(netns, *args)
        self.out = path(f"out-{len(started)}")
        with open(self.out, "w") as file:
            self.process = subprocess.Popen(self.args, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        started.append(self.process)

    def text(self):
        with open(self.out) as file:
            return file.read()

    def ready(self, word="ready", seconds=10):
        deadline = time.monotonic() + seconds
        while word not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                fail(f"{' '.join(self.args)}: not '{word}' (exit code {self.process.poll()}): {self.text()}")
            time.sleep(0.02)
        return self

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait()

    def finish(self, seconds=30, number=None):
        """The exit code; negative: the signal it died of."""
        if number:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            fail(f"{' '.join(self.args)}: hangs: {self.text()}")

    def result(self):
        """The JSON object in the last line."""
        lines = [line for line in self.text().splitlines() if line.startswith("{")]
        if not lines:
            fail(f"{' '.join(self.args)}: no result (exit code {self.process.poll()}): {self.text()}")
        return json.loads(lines[-1])


def exchange(program, server_vdev, client_vdev, options=(), server_netns=None, client_netns=None, count=20000):
    """One verified ping-pong; fails the test unless every frame came back as it was sent."""
    pong = Process([program, "--role", "pong", "--vdev", server_vdev, "--seconds", 60, *options], server_netns).ready()
    ping = Process([program, "--role", "ping", "--vdev", client_vdev, "--count", count, "--seconds", 20, *options],
                   client_netns)
    code = ping.finish(40)
    pong_code = pong.finish(10, signal.SIGTERM)
    result = ping.result()
    if code != 0 or pong_code != 0 or result["returned"] != count or result["corrupt"]:
        fail(f"ping {code}, pong {pong_code}: {ping.text()} {pong.text()}")
    return result
