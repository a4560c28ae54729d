#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""802.1Q and 802.1ad (QinQ) tags of each plane, as tshark reads them behind the wire, and as the kernel's own VLAN interfaces
take them off at the other end.

endpoint_vlan.py MRC_ENDPOINT [CASE...]"""
import collections
import logging
import shutil
import signal
import subprocess
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)

import endpoint_lib as lib
import netns_lib
from endpoint_lib import Interfaces, Pair, Program, check, check_verified
from netns_lib import Veth, ip

program = sys.argv[1]
if shutil.which("tshark") is None or shutil.which("dumpcap") is None:
    lib.skip("no tshark; apt-get install tshark")


class Sniffer:
    """dumpcap on an interface, from before the run until the file has all of it."""

    def __init__(self, netns, iface):
        self.file = lib.path(f"{netns}-{iface}.pcapng")
        self.dumpcap = Program("dumpcap", "-q", "-i", iface, "-w", self.file, netns=netns)
        self.dumpcap.wait_for("File:", 15)  # the capture is open

    def read(self, *fields):
        words = [w for f in fields for w in ("-e", f)]
        # While dumpcap writes, the end of the file may be half a packet: tshark then says so and gives the rest.
        out = subprocess.run(["tshark", "-r", self.file, "-Y", "udp.dstport==4791", "-T", "fields", "-E", "occurrence=a",
                              "-E", "separator=|", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        return [tuple(line.split("|")) for line in out.splitlines()]

    def rows(self, least, *fields):
        """At least so many packets have passed. dumpcap takes them from the kernel and writes them when it has time, and
        drops at its end what it has not."""
        end = time.monotonic() + 30
        while len(self.read("frame.number")) < least and time.monotonic() < end:
            time.sleep(0.2)
        self.dumpcap.signal(signal.SIGINT)
        self.dumpcap.process.wait(20)
        return self.read(*fields)


def tagged(kind, *tags, ip_version=6):
    """tags: (outer or 0, vlan) a plane; the same at both ends, all that `run` sent read by tshark."""
    veth = Veth(1500, 1500)
    settings = []
    for i, (outer, vlan) in enumerate(tags):
        settings += ["--set", f"planes[{i}].vlan={vlan}", "--set", f"planes[{i}].outer_vlan={outer}"]
    # Where they arrive: the driver goes past the taps of the sending interface.
    sniffers = [Sniffer(veth.a, f"d{i}") for i in range(2)]
    ran, served = Pair(program, [*settings, "-s", 10000, "-n", 50], settings, link=Interfaces(veth, ip=ip_version)).finish()
    check_verified(ran, served, 50)
    for i, (outer, vlan) in enumerate(tags):
        want = (str(outer or ""), str(vlan or ""))
        sent = ran["phases"][0]["planes"][i]["tx_pkts"]
        seen = collections.Counter(sniffers[i].rows(sent, "ieee8021ad.id", "vlan.id", "eth.type"))
        check(sum(seen.values()) >= sent > 100, f"{kind}: plane {i}: {sent} sent, {seen}")
        for (service, customer, eth_type), n in seen.items():
            check((service, customer) == want, f"{kind}: plane {i}: {n} frames with tags {service, customer}, wanted {want}")
            check(eth_type.startswith("0x88a8" if outer else "0x8100" if vlan else "0x0800" if ip_version == 4 else "0x86dd"),
                  f"{kind}: outermost type {eth_type}")
        print(f"ok: {kind}, IPv{ip_version}, plane {i}: {sum(seen.values())} frames, all with tags {want}")


def one_tag():
    tagged("802.1Q", (0, 100), (0, 4094))
    tagged("802.1Q on one plane", (0, 7), (0, 0), ip_version=4)


def two_tags():
    tagged("QinQ", (200, 100), (4094, 1))
    tagged("QinQ", (200, 100), (201, 100), ip_version=4)


def kernel_end():
    """serve knows no tags: its interface is the kernel's VLAN device, which takes them off and puts them on."""
    for outer, vlan in ((0, 100), (200, 100)):
        veth = Veth(1600)
        below = "d0"
        for proto, tag in (("802.1ad", outer), ("802.1Q", vlan)):
            if tag == 0:
                continue
            done = subprocess.run(netns_lib.inside(veth.a, "ip", "link", "add", "link", below, "name", f"{below}.{tag}", "type",
                                                   "vlan", "proto", proto, "id", tag), stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                lib.skip(f"the kernel has no VLAN interfaces: {done.stderr.strip()}")
            below = f"{below}.{tag}"
            netns_lib.sysctl(veth.a, f"net/ipv6/conf/{below}/disable_ipv6", 1)
            ip("-n", veth.a, "link", "set", "dev", below, "mtu", 1500, "up")
        link = Interfaces(veth)
        link.of = lambda role: ["--profile", "af_packet", "--device", below if role == "serve" else "d0"]
        ran, served = Pair(program, ["--set", f"planes[0].vlan={vlan}", "--set", f"planes[0].outer_vlan={outer}", "-s", 10000,
                                     "-n", 50, "-b"], link=link).finish()
        check_verified(ran, served, 50, True)
        print(f"ok: tags {outer} {vlan} against the kernel's {below}")


def full_frames():
    """Path MTU 1024 on an interface that just carries it: one tag passes on top of the kernel's MTU, two need room."""
    veth = Veth(1116)
    for settings in ([], ["--set", "planes[0].vlan=5"]):
        ran, served = Pair(program, [*settings, "-s", 10000, "-n", 50], settings, link=Interfaces(veth)).finish()
        check_verified(ran, served, 50)
        check(ran["phases"][0]["path_mtu_bytes"] == 1024, ran["phases"][0]["path_mtu_bytes"])
    settings = ["--set", "planes[0].vlan=5", "--set", "planes[0].outer_vlan=6"]
    ran, served = Pair(program, [*settings, "-s", 10000, "-n", 50], settings, link=Interfaces(veth)).finish()
    check_verified(ran, served, 50)
    check(ran["phases"][0]["path_mtu_bytes"] == 512, ran["phases"][0]["path_mtu_bytes"])
    print("ok: tags and the largest packet: 1024 bare and with one tag, 512 with two, on an MTU of 1116")


def mistakes():
    for value, said in (("planes[0].vlan=4095", "is above the limit 4094"), ("planes[0].outer_vlan=5", "5 needs vlan as well"),
                        ("planes[0].vlan=x", "expected a whole number")):
        text = lib.run(2, program, "run", "--profile", "af_packet", "--device", "d0", "--set", value)
        check(said in text, text)
    print("ok: tags out of range are refused")


lib.run_cases(one_tag, two_tags, kernel_end, full_frames, mistakes)
