#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The first minutes with the program: nothing configured, no root, no memory that may be locked, a mistake in the EAL
arguments; and what is shown while it runs, on a terminal and without one.

endpoint_first_run.py MRC_ENDPOINT [CASE...]"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import endpoint_lib as lib
from endpoint_lib import Pair, Program, Sockets, check, check_verified

program = sys.argv[1]
STACK = re.compile(r"panic|Segmentation|core dumped|Aborted|librte|#[0-9]+ |\[0x", re.IGNORECASE)


def unprivileged():
    """A prefix that runs a command as nobody, who may lock no memory and has no run-time directory; and a program and a
    directory that nobody can reach."""
    if os.geteuid() != 0:
        return [], program, lib.TMP
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        lib.skip("no setpriv or prlimit (util-linux)")
    os.chmod(lib.TMP, 0o711)
    copy = shutil.copy(program, lib.path("mrc-endpoint"))
    os.chmod(copy, 0o755)
    directory = lib.path("nobody")
    os.makedirs(directory, exist_ok=True)
    os.chmod(directory, 0o777)
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
              "prlimit", "--memlock=0:0", "--core=0:0", "env", "-u", "XDG_RUNTIME_DIR", "HOME=/nonexistent"]
    return prefix, copy, directory


def no_arguments():
    prefix, copy, _ = unprivileged()
    for command in ([program], [*prefix, copy], [*prefix, copy, "run", "--profile", "ring"],
                    [*prefix, copy, "serve", "--profile", "virtual"], [*prefix, copy, "--help"],
                    [*prefix, copy, "run", "--help"], [*prefix, copy, "--help-config"]):
        p = subprocess.run(command, capture_output=True, text=True, timeout=60)
        text = p.stdout + p.stderr
        wanted = 0 if "--help" in command or "--help-config" in command else 2
        check(p.returncode == wanted, f"{command}: exit code {p.returncode}: {text}")
        check(text and not STACK.search(text) and "EAL:" not in text, text)
        if len(command) == 1 or (prefix and command[-1] == copy):
            check(f"\n  {command[-1]} run --loopback -D 2\n" in text, text)  # as it was typed, so it can be copied
    text = subprocess.run([*prefix, copy, "serve", "--profile", "virtual"], capture_output=True, text=True).stderr
    check(f"has both ends in one process: use '{copy} run --loopback', or choose another profile" in text, text)
    print("ok: nothing configured: help or one line, no EAL, no stack, as root and as nobody")


def the_command_of_the_help_works():
    prefix, copy, _ = unprivileged()
    text = Program(*prefix, copy, "run", "--loopback", "-D", 1).finish(0, 60)
    check("PASS" in text and "messages right" in text, text)
    line = next(l for l in text.splitlines() if l.startswith("EAL: mrc-endpoint "))
    check("--no-pci" in line and "--no-huge" in line, line)
    print("ok: the first command of the help passes as nobody without lockable memory;", line)


def two_processes_of_the_help():
    """The two commands as the help has them, as root and as nobody, whose terminals share no environment."""
    prefix, copy, _ = unprivileged()
    help_text = subprocess.run([program], capture_output=True, text=True).stderr
    check(f"\n  {program} serve\n  {program} run -s 64K -n 5000\n" in help_text, help_text)
    for command in ([program],) + (([*prefix, copy],) if prefix else ()):
        serve = Program(*command, "serve")
        serve.wait_for(r"serving on 127.0.0.1 port 18515")
        other = Program(*command, "serve").finish(2, 60)  # a second pair needs names of its own
        check("another process listens there" in other and not STACK.search(other), other)
        run = Program(*command, "run", "-s", "64K", "-n", "5000")
        text = run.finish(0, 120) + serve.finish(0, 60)
        check("5000 of 5000 messages right" in text and re.search("net_virtio_user3,path=/tmp/softmrc-[0-9]+/vhost3.sock", text), text)
    print("ok: serve and run find each other over vhost with nothing configured")


def a_pair_of_nobody():
    prefix, copy, directory = unprivileged()
    for profile in ("vhost", "memif"):
        link = Sockets(2, profile)
        link.args = [a.replace(lib.TMP, directory) if a.endswith(".sock") else a for a in link.args]
        pair = Pair.__new__(Pair)
        pair.link, pair.tag = link, f"nobody-{profile}"
        out = {role: os.path.join(directory, f"{role}.json") for role in ("serve", "run")}
        pair.serve = Program(*prefix, copy, "serve", *link.args, "--port", 0, "--json", out["serve"])
        port = pair.serve.wait_for(r"serving on \S+ port (\d+)").group(1)
        pair.run = Program(*prefix, copy, "run", *link.args, "--port", port, "-s", 16384, "-n", 100, "--json", out["run"])
        pair.run.finish(0, 60)
        pair.serve.finish(0, 30)
        for role in ("serve", "run"):
            shutil.copy(out[role], lib.path(f"{role}{pair.tag}.json"))
        check_verified(*pair.results(), 100)
    print("ok: pairs over vhost and memif without root")


def what_needs_rights_says_so():
    prefix, copy, _ = unprivileged()
    for profile in ("af_packet", "af_xdp"):
        if not prefix:
            break
        text = Program(*prefix, copy, "serve", "--profile", profile, "--device", "lo", "--port", 0).finish(2, 30)
        check("CAP_NET_RAW" in text and "root" in text and not STACK.search(text), text)
        check(text.count("\n") == 1, text)
    for args, said in ((["--profile", "ethdev", "--device", "0000:ff:1f.7"], "not on this machine"),
                       (["--profile", "af_packet", "--device", "nosuch0"], "interface nosuch0: No such device"),
                       (["--profile", "vhost", "--device", "/nonexistent/dir/s.sock"], "mkdir -p"),
                       (["--profile", "pcap", "--device", "/nonexistent.pcap,/tmp/x"], "does not exist"),
                       (["--profile", "pcap", "--device", "lo"], "--device live:lo"),
                       (["--profile", "ethdev", "--device", "lo"], "is no PCI address like 0000:01:00.0"),
                       (["--profile", "af_packet", "--device", "lo"], "root" if os.geteuid() else "a loopback carries no planes"),
                       (["--connect", "192.0.2.1"], "--listen ADDRESS"),
                       (["--listen", "192.0.2.9"], "no address of this machine")):
        text = Program(program, "serve", *args, "--port", 0).finish(2, 30)
        lines = [l for l in text.splitlines() if not l.startswith(("Try ", "EAL: ", "profile "))]
        check(said in text and not STACK.search(text) and (len(lines) == 1 or "--listen" in args), text)
    if prefix:
        text = Program(*prefix, copy, "serve", "--profile", "vhost", "--device", "/root/s.sock", "--port", 0).finish(2, 30)
        check("plane 0: directory /root is not writable" in text and "remove it" not in text and text.count("\n") == 1, text)
    text = lib.run(2, program, "run", "--profile", "af_packet", "--device", "d0", "--ip", "10.0.0.1", "--ip", "10.0.0.2")
    check("--ip is given 2 times and --device 1" in text, text)
    text = lib.run(2, program, "run", "--ip", "300.1.1.1")
    check("'300.1.1.1'" in text and "quoted" not in text, text)
    # `run` says so before it waits for a peer: nobody listens on port 1.
    begin = time.monotonic()
    text = lib.run(2, program, "run", "--profile", "af_packet", "--device", "nosuch0", "--connect", "127.0.0.1", "--port", 1)
    check("interface nosuch0: No such device" in text and "connection" not in text, text)
    if prefix:
        text = Program(*prefix, copy, "run", "--profile", "af_packet", "--device", "lo", "--connect", "127.0.0.1", "--port", 1).finish(2, 30)
        check("CAP_NET_RAW" in text and "connection" not in text, text)
    check(time.monotonic() - begin < 8, "it waited for the peer all the same")
    print("ok: what lacks rights, devices or files says so in one line, code 2")


def eal_arguments():
    text = lib.run(0, program, "run", "--loopback", "--idle", "yield", "-s", 64, "-n", 10, "--", "-m", "300", "--no-huge")
    line = next(l for l in text.splitlines() if l.startswith("EAL: mrc-endpoint "))
    check("-m 300" in line and line.count("-m ") == 1, line)
    for words, said in ((["--nonsense"], "an EAL argument is unknown"), (["-h"], "EAL argument '-h': not passed on"),
                        (["--no-huge", "--in-memory"], "contradict each other"), (["--no-huge", "-m"], "lacks its value"),
                        (["--lcores", "0@99"], "not usable here"), (["-m", "16"], "memory"),
                        (["--proc-type=secondary"], "a secondary one would wait"),
                        (["--proc-type", "secondary"], "a secondary one would wait")):
        text = lib.run(2, program, "run", "--loopback", "-s", 64, "-n", 10, "--", *words)
        check(said in text and not STACK.search(text) and "Usage:" not in text, f"{words}: {text}")
    print("ok: EAL arguments behind '--' are passed on, printed, and answered in words when they are wrong")


def the_result_file():
    """It is found out at the start whether it can be written, and no older result is left by a run that does not start."""
    old = lib.path("old.json")
    for args, said in ((["-q", 0], "below the limit"), (["--", "--nonsense"], "an EAL argument is unknown")):
        with open(old, "w", encoding="utf-8") as f:
            f.write("an older result")
        text = lib.run(2, program, "run", "--loopback", "--json", old, *args)
        check(said in text, text)
        if os.path.exists(old):
            result = lib.load_result("old.json")
            check(not result["pass"] and said in result["failures"][0] and result["phases"] == [], result)
    for path, said in (("/nonexistent/r.json", "No such file"), (lib.TMP, "Is a directory")):
        for command in (["run", "--loopback", "-D", 60], ["demo"]):
            start = time.monotonic()
            text = lib.run(2, program, *command, "--json", path)
            check(said in text and time.monotonic() - start < 10, text)
    text = lib.run(2, program, "run", "--loopback", "-s", 64, "-n", 10, "--idle", "yield", "--json", "/dev/full")
    check("No space left" in text and "exit code 2)" in text and "PASS" not in text, text)
    text = lib.run(2, program, "run", "--loopback", "-s", 64, "-n", 10, "--idle", "yield", "--report", "/dev/full")
    check("No space left" in text and "exit code 2)" in text and "PASS" not in text, text)
    print("ok: --json is claimed at the start; a failed start leaves no older result")


def options_of_the_demo():
    for args, said in ((["--delay-us", 1], "from 100 to 2000"), (["--planes", 1], "from 2 to 16"),
                       (["--loss-percent", 50], "from 0 to 10"), (["--paths", 64], "to 128 in all"),
                       (["--paths", 2], "from 4 paths"),
                       (["--bytes", "1MB"], "--bytes"), (["--planes", 0], "--planes"), (["--delay-us", "nan"], "--delay-us"),
                       (["more"], "not expected")):
        text = lib.run(2, program, "demo", *args)
        check(said in text and not STACK.search(text), f"{args}: {text}")
    text = lib.run(0, program, "demo", "--planes", 2, "--paths", 4, "--loss-percent", 0, "--bytes", "256MB")
    check("demo: pass" in text, text)
    print("ok: options that the demo's checks could not stand are refused with limit and reason")


def on_a_terminal():
    """A line that overwrites itself; standard output keeps the table alone."""
    master, slave = pty.openpty()
    p = subprocess.Popen([program, "run", "--loopback", "--idle", "yield", "-s", "64K", "-D", "2.5"], stdout=subprocess.PIPE,
                         stderr=slave, stdin=subprocess.DEVNULL)
    lib.PROCESSES.append(p)
    os.close(slave)
    seen = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.2)[0]:
            if p.poll() is not None:
                break
            continue
        try:
            seen += os.read(master, 4096)
        except OSError:
            break
    table = p.communicate()[0].decode()
    text = seen.decode()
    lines = re.findall(r"\rwrite_bw 65536 B  \d+ messages  \d+/s  [\d.]+ Gb/s", text)
    check(p.returncode == 0 and len(lines) >= 2, f"{len(lines)} progress lines: {text}")
    check("PASS" in table and "\r" not in table and "messages  " not in table, table)
    print("ok: on a terminal", len(lines), "progress lines in one place")


def without_a_terminal():
    p = Program(program, "run", "--loopback", "--idle", "yield", "-s", "64K", "-D", 11)
    text = p.finish(0, 60)
    lines = re.findall(r"^write_bw 65536 B  \d+ messages  \d+/s  [\d.]+ Gb/s$", text, re.MULTILINE)
    check(len(lines) >= 1 and "\r" not in text and "\x1b" not in text, text)
    quiet = lib.run(0, program, "run", "--loopback", "--idle", "yield", "-s", "64K", "-n", 100, "-Q")
    check(quiet.startswith("\nwrite_bw 65536 B, 1 QP") and "EAL" not in quiet, quiet)
    print("ok: without a terminal plain lines,", len(lines), "of them; with -Q the table alone")


lib.run_cases(no_arguments, the_command_of_the_help_works, two_processes_of_the_help, a_pair_of_nobody, what_needs_rights_says_so, eal_arguments,
              the_result_file, options_of_the_demo, on_a_terminal, without_a_terminal)
