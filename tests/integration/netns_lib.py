# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces of a test's own, joined by veth interfaces, and gone when the test is over."""
import atexit
import contextlib
import ctypes
import os
import socket
import subprocess
import sys

NAMESPACES = []
ETH_P_ALL, CLONE_NEWNET = 3, 0x40000000


@atexit.register
def remove_all():
    for name in NAMESPACES:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def need_root():
    if os.geteuid() != 0:
        skip("needs root (network namespaces and raw sockets)")


def ip(*args):
    done = subprocess.run(["ip", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(f"FAILED: ip {' '.join(map(str, args))}: {done.stdout}")
        sys.exit(1)
    return done.stdout


def inside(netns, *args):
    """The command as run in a namespace."""
    return (["ip", "netns", "exec", netns] if netns else []) + [str(a) for a in args]


@contextlib.contextmanager
def entered(netns):
    """This thread is in the namespace; sockets made meanwhile stay there when it is back."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{netns}") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            skip(f"setns: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def raw_socket(iface):
    """All frames of an interface of the namespace that the thread is in, those that leave included."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.bind((iface, ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    return s


def sysctl(netns, key, value):
    subprocess.run(inside(netns, "sh", "-c", f"echo {value} > /proc/sys/{key}"), check=True)


def new_namespace(letter):
    need_root()
    name = f"mrc-{letter}-{os.getpid()}-{len(NAMESPACES)}"
    if subprocess.run(["ip", "netns", "add", name]).returncode != 0:
        skip("the kernel refuses network namespaces")
    NAMESPACES.append(name)
    ip("-n", name, "link", "set", "dev", "lo", "up")
    return name


def join(a, name_a, b, name_b, mtu, addresses=None):
    """A veth from namespace a to b. Without addresses its kernel ends stay silent: they would answer UDP/4791."""
    if subprocess.run(inside(a, "ip", "link", "add", "name", name_a, "type", "veth", "peer", "name", name_b, "netns",
                             b)).returncode != 0:
        skip("the kernel has no veth interfaces")
    for netns, iface, address in zip((a, b), (name_a, name_b), addresses or (None, None)):
        if address:
            ip("-n", netns, "addr", "add", address, "dev", iface, *(["nodad"] if ":" in address else []))
        else:
            sysctl(netns, f"net/ipv6/conf/{iface}/disable_ipv6", 1)
        ip("-n", netns, "link", "set", "dev", iface, "mtu", mtu, "up")


class Veth:
    """Two namespaces with interfaces d0, d1 ... between them, one a plane (`mtus` in order), and one with addresses for
    the TCP connection."""

    A, B = "10.213.0.1", "10.213.0.2"

    def __init__(self, *mtus):
        self.a, self.b = new_namespace("a"), new_namespace("b")
        self.planes = len(mtus)
        for i, mtu in enumerate(mtus):
            join(self.a, f"d{i}", self.b, f"d{i}", mtu)
        join(self.a, "mgmt", self.b, "mgmt", 1500, (self.A + "/24", self.B + "/24"))

    def set(self, netns, iface, *words):
        ip("-n", netns, "link", "set", "dev", iface, *words)
