# SPDX-License-Identifier: BSD-3-Clause
"""What the wire tests share: packets that wire_emit made and says what it meant by, and failures that are counted."""
import json
import os
import subprocess
import sys

FAILURES = []


def check(ok, what):
    """Goes on: one run shows everything that is wrong with an encoder."""
    if not ok:
        FAILURES.append(what)
        if len(FAILURES) <= 20:
            print('FAILED: ' + what)


def seed(argument):
    """The seed at this place of the command line, or the usual one; printed."""
    value = int(sys.argv[argument]) if len(sys.argv) > argument else 20260321
    print('seed %d' % value)
    return value


def emitted(wire_emit, directory, count, seed):
    """Path of a capture of `count` packets, and for each what it was meant to be."""
    path = os.path.join(directory, 'emitted.pcapng')
    out = subprocess.run([wire_emit, path, str(count), str(seed)], capture_output=True, text=True, check=True).stdout
    return path, [json.loads(line) for line in out.splitlines()]


def verdict(well):
    """The exit code; `well` is said when nothing failed."""
    print('%d failures' % len(FAILURES) if FAILURES else well)
    return 1 if FAILURES else 0
