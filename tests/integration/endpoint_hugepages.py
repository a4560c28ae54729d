#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The endpoint on hugepages, which it takes where enough are free: in one process, and in two that share them over vhost and
memif. The pages are reserved for the test and given back; without root or room for them it is skipped.

endpoint_hugepages.py MRC_ENDPOINT [CASE...]"""
import atexit
import os
import pathlib
import re
import signal
import sys

import endpoint_lib as lib
from endpoint_lib import Pair, Sockets, check, check_verified, rate

program = sys.argv[1]
RUN = [program, "run", "--loopback", "--idle", "yield", "--profile", "ring"]
ALWAYS = ["--set", "eal.hugepages=always"]
NUMBER = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
FREE = NUMBER.with_name("free_hugepages")


def read(file):
    return int(file.read_text())


def available_mib():
    return int(re.search(r"MemAvailable: +(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) // 1024


def reserve(pages):
    """Has this many pages free beside those that others hold, or skips."""
    before = read(NUMBER)
    missing = pages - read(FREE)
    if missing <= 0:
        return
    if missing * 2 * 2 > available_mib():
        lib.skip(f"{missing * 2} MiB of hugepages would be over half of the free memory")
    atexit.register(NUMBER.write_text, str(before))
    for number in (signal.SIGTERM, signal.SIGINT):  # so that atexit runs for them too
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        NUMBER.write_text(str(before + missing))
    except OSError as error:
        lib.skip(f"hugepages cannot be reserved: {error}")
    if read(FREE) < pages:
        lib.skip(f"{read(FREE)} of {pages} hugepages could be reserved: memory is fragmented")


def on_hugepages(*texts):
    """A run's own words: EAL's arguments and the kind of memory."""
    for text in texts:
        line = next((l for l in text.splitlines() if l.startswith("EAL:")), "")
        check("--in-memory --single-file-segments" in line and "--no-huge" not in line, text)


def none_left(free):
    check(read(FREE) == free, f"{read(FREE)} pages are free, {free} were before: some are still held")


def loopback():
    free = read(FREE)
    for args in ([*ALWAYS], []):  # auto takes them when there are enough
        text = lib.run(0, *RUN, "-s", 65536, "-n", 300, *args, "--json", lib.path("l.json"))
        on_hugepages(text)
        v = lib.load_result("l.json")["phases"][0]["verification"]
        check(v["messages"] == 300 and v["bytes"] == 300 * 65536 and v["messages_bad"] == 0, text)
        none_left(free)
    text = lib.run(0, *RUN, "-s", 4096, "-n", 10, "--set", "eal.hugepages=never")
    check("--no-huge" in text, text)
    print("ok: loopback, always and auto; never leaves them alone")


def pairs():
    free = read(FREE)
    for profile in ("vhost", "memif"):
        pair = Pair(program, ["-s", 65536, "-n", 300, "-b", *ALWAYS], ALWAYS, link=Sockets(2, profile))
        ran, served = pair.finish()
        check_verified(ran, served, 300, True)
        on_hugepages(pair.run.text(), pair.serve.text())
        none_left(free)
        print("ok:", profile, "on hugepages both ways -", rate(ran))


if os.geteuid() != 0:
    lib.skip("only root may reserve hugepages")
if not NUMBER.exists():
    lib.skip("this kernel has no hugepages of 2 MiB")
ONE_END = 128  # pages, the default of 256 MiB
reserve(2 * ONE_END)
lib.run_cases(loopback, pairs)
