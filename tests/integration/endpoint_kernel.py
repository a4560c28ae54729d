#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two endpoint processes in two network namespaces, over kernel interfaces (veth): af_packet and af_xdp, IPv4 and IPv6, the
path MTU chosen to fit, several workers, and links that go down while traffic runs. Needs root.

endpoint_kernel.py MRC_ENDPOINT [CASE...]"""
import signal
import socket
import sys
import time

import endpoint_lib as lib
from endpoint_lib import Interfaces, Pair, check, check_verified, rate
from netns_lib import Veth

program = sys.argv[1]


def pair(link, *args, serve=(), **kind):
    return Pair(program, args, serve, link=Interfaces(link, **kind))


def mtus():
    """The path MTU follows the planes: 1500 carries 1024, 9000 carries 4096, and of a mixture the smallest counts."""
    for sizes, chosen, versions in (((1500, 1500), 1024, (4, 6)), ((9000, 9000), 4096, (4, 6)), ((9000, 2500), 2048, (6,))):
        veth = Veth(*sizes)
        for ip in versions:
            ran, served = pair(veth, "-s", "20000", "-n", 100, "-q", 2, ip=ip).finish()
            check_verified(ran, served, 100)
            for result in (ran, served):
                check(result["phases"][0]["path_mtu_bytes"] == chosen, f"{sizes}: {result['phases'][0]['path_mtu_bytes']}")
            print(f"ok: af_packet, IPv{ip}, MTU {sizes}: path MTU {chosen}, {rate(ran)}")


def mtu_does_not_fit():
    veth = Veth(1500, 9000)
    plane = ["--profile", "af_packet", "--device", "d0", "--device", "d1"]
    for mtu, rest in ((4096, "ip link set dev d0 mtu 4188, or --mtu 1024 or auto"), (2048, "mtu 2140, or --mtu 1024")):
        text = lib.Program(program, "serve", *plane, "--mtu", mtu, "--port", 0, netns=veth.a).finish(2, 20)
        said = "mrc-endpoint: plane 0: interface d0 carries packets of 1500 bytes, qp.mtu "
        check(said in text and rest in text and text.count("\n") == 1, text)
    # The other end insists on what the planes here do not carry.
    veth.set(veth.b, "d0", "mtu", 9000)
    p = pair(veth, "-s", 4096, "-n", 10, "--mtu", 4096)
    text = p.run.finish(3)
    check("the peer refused: qp.mtu is 4096 on one end, and the planes of the other carry at most 1024" in text, text)
    p.serve.finish(3)
    # An interface too small for any path MTU.
    veth.set(veth.a, "d0", "mtu", 300)
    text = lib.Program(program, "serve", *plane, "--port", 0, netns=veth.a).finish(2, 20)
    check("carries packets of 300 bytes, qp.mtu 256 makes 348; ip link set dev d0 mtu 348" in text, text)
    print("ok: a path MTU that does not fit is refused with both ways to mend it")


def workloads():
    veth = Veth(1500, 1500)
    for args in (["-w", "write_lat", "-s", 64, "-n", 200], ["-w", "write_imm", "-s", 5000, "-n", 100, "-b"],
                 ["-w", "write_bw", "-s", 0, "-n", 50]):
        ran, served = pair(veth, *args).finish()
        check_verified(ran, served, args[args.index("-n") + 1], "-b" in args or "write_lat" in args)
        print("ok: af_packet", *args, f"- p99 {ran['phases'][0]['latency']['p99_ns'] / 1e3:.0f} us")


def two_workers():
    """Two workers an end, on two CPUs where there are two; the hash of the kernel puts packets anywhere."""
    veth = Veth(1500, 1500)
    workers = ["--workers", 2, "--lcores", lib.two_cpus()]
    for args, serve in ((workers, workers), (workers, ())):
        ran, served = pair(veth, "-s", 20000, "-n", 100, "-q", 4, "-b", *args, serve=serve).finish()
        check_verified(ran, served, 100, True)
    check(any("hand-over by QPN in software" in line for line in ran["effective"]), ran["effective"])
    print("ok: af_packet, two workers on CPUs", workers[-1], "-", rate(ran), "- and two with one at the other end")


def one_link():
    """Kernel addresses on the plane's own interface, and the TCP connection over it too: the kernel answers UDP/4791 with
    ICMP errors, which disturb nothing."""
    veth = Veth(1500)
    for netns, host in ((veth.a, 1), (veth.b, 2)):
        lib.netns_lib.ip("-n", netns, "addr", "add", f"10.214.0.{host}/24", "dev", "d0")
    link = Interfaces(veth, ip=4)
    link.address = "10.214.0.1"
    ran, served = Pair(program, ["-s", 20000, "-n", 200], link=link).finish()
    check_verified(ran, served, 200)
    print("ok: data and exchange over one interface that has the address too; drops", served["phases"][0]["drops"])


def busy_pair(veth, *args):
    p = pair(veth, "-s", 16384, *args)
    p.under_way()
    return p


def one_plane_down():
    """Traffic goes on over the other plane, and comes back when the link does. The dead end is ours, then the peer's."""
    for netns in ("a", "b"):
        veth = Veth(1500, 1500)
        p = busy_pair(veth, "-D", 4)
        veth.set(getattr(veth, netns), "d0", "down")
        p.run.wait_for("plane 0: link DOWN", 5)
        time.sleep(1)
        veth.set(getattr(veth, netns), "d0", "up")
        p.run.wait_for("plane 0: link up", 5)
        ran, served = p.finish()
        phase = ran["phases"][0]
        shares = [plane["tx_share"] for plane in phase["planes"]]
        check(ran["pass"] and phase["peer_verification"]["messages"] == phase["messages_completed"] > 0, p.run.text())
        check(shares[1] > 0.55 and shares[0] > 0.05, f"shares {shares}: the other plane carries on, and the dead one returns")
        check("plane 0: link DOWN" in ran["warnings"] and "plane 0: link up" in ran["warnings"], ran["warnings"])
        check(all(e["state"] in ("GOOD", "SKIP") for e in phase["evs"]), "an EV stayed bad")
        print(f"ok: link of plane 0 down at {netns} for 1 s: shares {shares[0]:.2f} {shares[1]:.2f}, all verified")


def all_planes_down():
    for netns in ("a", "b"):
        veth = Veth(1500, 1500)
        p = busy_pair(veth, "-D", 60)
        for iface in ("d0", "d1"):
            veth.set(getattr(veth, netns), iface, "down")
        start = time.monotonic()
        text = p.run.finish(4, 20)
        took = time.monotonic() - start
        check("all 2 planes are down" in text, text)
        check(took < 5, f"it took {took:.1f} s")
        check("all 2 planes are down" in p.serve.finish(4, 20), p.serve.text())
        ran, _ = p.results()
        check(ran["exit_code"] == 4 and not ran["pass"] and ran["phases"][0]["messages_completed"] > 0, "results so far")
        check([plane["link_up"] for plane in ran["phases"][0]["planes"]] == [False, False], ran["phases"][0]["planes"])
        print(f"ok: all links down at {netns}: both ends say so and end with code 4 after {took:.1f} s")


def down_from_the_start():
    veth = Veth(1500, 1500)
    veth.set(veth.a, "d1", "down")
    ran, served = pair(veth, "-s", 16384, "-n", 100).finish()
    check(ran["pass"] and served["pass"], "one plane is enough")
    check([plane["link_up"] for plane in ran["phases"][0]["planes"]] == [True, False], ran["phases"][0]["planes"])
    for result in (ran, served):  # a veth falls at both ends
        check("plane 1: link DOWN from the start" in result["warnings"], result["warnings"])
    veth.set(veth.a, "d0", "down")
    p = pair(veth, "-s", 16384, "-n", 100)
    check("all 2 planes are down after 5 s; check cables" in p.run.finish(4, 30), p.run.text())
    p.serve.finish(4, 30)
    print("ok: one plane down from the start is left out; with none it ends in words")


def a_receiver_that_stops():
    """Frames for which the kernel had no room were lost at the port: counted there, and the run says so."""
    veth = Veth(9000)
    p = pair(veth, "-s", 65536, "-D", 5)
    p.under_way()
    p.serve.signal(signal.SIGSTOP)
    time.sleep(1)
    p.serve.signal(signal.SIGCONT)
    ran, served = p.finish()
    plane = served["phases"][0]["planes"][0]
    check(plane["rx_missed_pkts"] > 0 and any("rx_missed" in w for w in served["warnings"]), (plane, served["warnings"]))
    print("ok: a receiver that was stopped for a second: rx_missed", plane["rx_missed_pkts"], ran["phases"][0]["retransmissions"])


def ends():
    veth = Veth(1500, 1500)
    for which in ("run", "serve"):
        p = busy_pair(veth, "-D", 60)
        getattr(p, which).signal(signal.SIGINT)
        ran, served = p.finish(seconds=30)
        phase = ran["phases"][0]
        check(phase["interrupted"] and phase["messages_completed"] == served["phases"][0]["verification"]["messages"] > 0,
              "both ends count the same")
    for victim, survivor in (("serve", "run"), ("run", "serve")):
        p = busy_pair(veth, "-D", 60)
        getattr(p, victim).signal(signal.SIGKILL)
        check("the peer is gone" in getattr(p, survivor).finish(3, 15), getattr(p, survivor).text())
    print("ok: SIGINT to either end gives results, a killed peer ends the other with code 3")


def needs_af_xdp():
    try:
        socket.socket(44, socket.SOCK_RAW, 0).close()
    except OSError as error:
        lib.skip(f"this kernel has no AF_XDP sockets: {error}")


def af_xdp():
    needs_af_xdp()
    for mtu, chosen in ((1500, 1024), (3498, 2048)):
        veth = Veth(mtu, mtu)
        for ip in (4, 6):
            ran, served = pair(veth, "-s", 20000, "-n", 100, profile="af_xdp", ip=ip).finish()
            check_verified(ran, served, 100)
            check(ran["phases"][0]["path_mtu_bytes"] == chosen, f"{mtu}: {ran['phases'][0]['path_mtu_bytes']}")
            print(f"ok: af_xdp, IPv{ip}, MTU {mtu}: path MTU {chosen}, {rate(ran)}")
    text = lib.Program(program, "serve", "--profile", "af_xdp", "--device", "d0", "--mtu", 4096, "--port", 0,
                       netns=veth.a).finish(2, 20)
    check("carries packets of 3242 bytes, qp.mtu 4096 makes 4188; --mtu 2048 or auto" in text, text)


def af_xdp_down():
    needs_af_xdp()
    veth = Veth(1500, 1500)
    p = pair(veth, "-s", 16384, "-D", 60, profile="af_xdp")
    p.under_way()
    veth.set(veth.a, "d0", "down")
    p.run.wait_for("plane 0: link DOWN", 5)
    veth.set(veth.a, "d1", "down")
    check("all 2 planes are down" in p.run.finish(4, 20), p.run.text())
    p.serve.finish(4, 20)
    print("ok: af_xdp, links down one after the other")


def af_xdp_two_workers():
    needs_af_xdp()
    veth = Veth(1500)
    workers = ["--workers", 2, "--lcores", lib.two_cpus()]
    ran, served = pair(veth, "-s", 20000, "-n", 100, "-q", 4, *workers, profile="af_xdp", serve=workers).finish()
    check_verified(ran, served, 100)
    check(any("2 rx queues wanted, it has 1: using those" in line for line in ran["effective"]), ran["effective"])
    print("ok: af_xdp, two workers on the one queue that a veth has,", rate(ran))


lib.run_cases(mtus, mtu_does_not_fit, workloads, two_workers, one_link, one_plane_down, all_planes_down, down_from_the_start,
              a_receiver_that_stops,              ends, af_xdp, af_xdp_down, af_xdp_two_workers)
