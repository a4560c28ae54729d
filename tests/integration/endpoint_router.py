#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two endpoint processes on two planes, each plane one router: the Linux kernel, which asks for our neighbours (ARP, ND),
forwards IPv4 and IPv6, and carries out SRv6 uSIDs and SRHs that we made (seg6local, an oracle for C8).

endpoint_router.py MRC_ENDPOINT [CASE...]"""
import subprocess
import sys

import endpoint_lib as lib
import netns_lib
from endpoint_lib import Pair, check, check_verified, rate
from netns_lib import ip

program = sys.argv[1]
PLANES = 2


def mac(plane, side):
    return f"02:00:00:00:0{plane}:{'aa' if side == 'a' else 'bb'}"


class Routed:
    """Namespaces a (serve) and b (run), and a router a plane between them."""
    address = netns_lib.Veth.A

    def __init__(self, version, configs=None):
        self.a, self.b = netns_lib.new_namespace("a"), netns_lib.new_namespace("b")
        self.netns = {"serve": self.a, "run": self.b}
        self.version, self.configs = version, configs
        self.routers = [netns_lib.new_namespace("r") for _ in range(PLANES)]
        for i, router in enumerate(self.routers):
            netns_lib.sysctl(router, "net/ipv6/conf/all/forwarding", 1)
            netns_lib.sysctl(router, "net/ipv4/ip_forward", 1)
            netns_lib.sysctl(router, "net/ipv6/conf/default/accept_dad", 0)
            for end, side in ((self.a, "a"), (self.b, "b")):
                netns_lib.join(end, f"d{i}", router, side, 1500)
                netns_lib.sysctl(router, f"net/ipv6/conf/{side}/disable_ipv6", 0)
                ip("-n", router, "link", "set", "dev", side, "address", mac(i, side))
                ip("-n", router, "addr", "add", self.plane_ip(i, side, 254) + ("/24" if version == 4 else "/64"), "dev", side)
        netns_lib.join(self.a, "mgmt", self.b, "mgmt", 1500, (self.address + "/24", netns_lib.Veth.B + "/24"))

    def plane_ip(self, plane, side, host):
        if self.version == 4:
            return f"10.{10 if side == 'a' else 11}.{plane}.{host}"
        return f"fd00:{side}:{plane}::{host:x}"

    def of(self, role):
        side = "a" if role == "serve" else "b"
        args = ["--profile", "af_packet"]
        for i in range(PLANES):
            args += ["--device", f"d{i}", "--ip", self.plane_ip(i, side, 1), "--set",
                     f"planes[{i}].next_hop_mac={mac(i, side)}"]
        if self.configs:
            args += ["--config", self.configs[role]]
        return args


def plain():
    for version in (4, 6):
        ran, served = Pair(program, ["-s", 10000, "-n", 100, "-b"], link=Routed(version)).finish()
        check_verified(ran, served, 100, True)
        print(f"ok: IPv{version} through a router a plane, neighbours resolved by the kernel, {rate(ran)}")


def ev_config(role, lines):
    return lib.write_config(f"{role}.yaml", "\n".join(lines) + "\n")


def with_sids(link):
    """Router i owns the uSIDs 11 to 14; behind the last of them the packet goes to a0 (serve) or b0 (run)."""
    for i, router in enumerate(link.routers):
        for sid in range(0x11, 0x15):
            done = subprocess.run(netns_lib.inside(router, "ip", "-6", "route", "add", f"fcbb:bb00:{sid:x}::/48", "encap",
                                                   "seg6local", "action", "End", "flavors", "next-csid", "lblen", 32,
                                                   "nflen", 16, "dev", "a"), stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                lib.skip(f"the kernel has no uSIDs (seg6local flavors): {done.stderr.strip()}")
        for side in ("a", "b"):
            ip("-n", router, "-6", "route", "add", f"fcbb:bb00:{side}0::/48", "via", link.plane_ip(i, side, 1), "dev", side)
    return link


def usids():
    configs = {role: ev_config(role, [
        "ev:", "  format: srv6", "  mode: generated", "  count: 8", "  fields:",
        "    - {width: 32, format_width: 32, init: 0xfcbbbb00}",
        "    - {width: 16, format_width: 16, init: 0x10, mask: 0x0f, min: 1, max: 4}",
        f"    - {{width: 16, format_width: 16, init: 0x{peer}}}",
        "    - {width: 32, format_width: 32, init: 0}", "    - {width: 32, format_width: 32, init: 0}"])
        for role, peer in (("serve", "b0"), ("run", "a0"))}
    ran, served = Pair(program, ["-s", 10000, "-n", 100, "-b"], link=with_sids(Routed(6, configs))).finish()
    check_verified(ran, served, 100, True)
    evs = ran["phases"][0]["evs"]
    check(len(evs) == 8 and all(e["tx_pkts"] > 0 for e in evs), evs)
    print(f"ok: SRv6, 4 uSID paths on each of 2 planes, shifted by the kernel's router, {rate(ran)}")


def segment_lists():
    """Two uSID carriers: the router works off the first one, then takes the next from the SRH."""
    def values(peer):
        return [f"    - {{ev: '0xfcbbbb00001{k}0000{0:016x}fcbbbb0000{peer}0000{0:016x}', plane: {k % 2}}}" for k in range(1, 5)]
    configs = {role: ev_config(role, ["ev:", "  format: srv6_srh", "  mode: explicit", "  values:"] + values(peer))
               for role, peer in (("serve", "b0"), ("run", "a0"))}
    ran, served = Pair(program, ["-s", 10000, "-n", 100, "-b"], link=with_sids(Routed(6, configs))).finish()
    check_verified(ran, served, 100, True)
    print("ok: SRv6 with a segment routing header, both carriers worked off by the kernel's router,", rate(ran))


lib.run_cases(plain, usids, segment_lists)
