# SPDX-License-Identifier: BSD-3-Clause
"""An end of MRC in Python: its planes are veth interfaces of a namespace, its frames scapy's, its exchange the one that
apps/mrc-endpoint/README.md documents. One thread: everything happens in pump()."""
import json
import select
import socket
import struct
import sys
import time

import endpoint_lib as lib
import netns_lib
from endpoint_lib import check, fail

try:
    import logging
    logging.getLogger("scapy").setLevel(logging.ERROR)
    import mrc_scapy as mrc
    from responder_model import response_to
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
except ImportError as e:
    netns_lib.skip(f"no scapy for {sys.executable} ({e}); apt-get install python3-scapy")

PATIENCE = 20  # seconds for anything that should come at once; machines may be busy. Below the 30 s of stall_timeout_s
NO_TRIM, TRIMMABLE, TRIMMABLE_RETX, TRIMMED, TRIMMED_LASTHOP, CONTROL = 0, 4, 8, 12, 16, 46
NOT_ECT, ECT0, CE = 0, 2, 3
WORD = (1 << 64) - 1
SO_TIMESTAMPNS = 35
STEP = 0x9E3779B97F4A7C15


def mix64(x):
    x = (x + STEP) & WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & WORD
    return x ^ x >> 31


def pattern(seed, flow, phase, message, size):
    """The bytes of a message ("How it verifies"); flow is 2 x QP, and 1 more from run to serve."""
    first = mix64((mix64(seed ^ mix64(flow << 32 | phase)) + message) & WORD)
    words = (size + 7) // 8
    return struct.pack(f"<{words}Q", *((first + STEP * i) & WORD for i in range(words)))[:size]


def stride_of(size):
    """From one slot of a source or target to the next."""
    return max(1, (size + 63) // 64) * 64


def differences(got, want):
    """Fields in which two packets of the same layers differ, reserved ones included."""
    out = []
    while isinstance(want, mrc.Chained):
        if not isinstance(got, type(want)):
            return out + [f"{want.name} expected, {got.name} found"]
        for f in want.fields_desc:
            a, b = getattr(got, f.name), getattr(want, f.name)
            if a != b:
                out.append(f"{want.name}.{f.name} is {a:#x}, {b:#x} expected")
        got, want = got.payload, want.payload
    if isinstance(got, mrc.Chained):
        out.append(f"{got.name} follows")
    return out


def ev_config(version):
    """Four EVs a plane: source ports over IPv4, with a flow label over IPv6. As YAML, and as (port, label) by plane."""
    evs = [[(0xC000 + 16 * i + plane, 0 if version == 4 else 0x0A01 + 256 * i + plane) for i in range(4)] for plane in (0, 1)]
    lines = ["ev:", f"  format: {'udp' if version == 4 else 'stev'}", "  mode: explicit", "  values:"]
    for plane in (0, 1):
        for sport, label in evs[plane]:
            lines.append(f"    - {{ev: '0x{sport:04x}" + ("" if version == 4 else f"{label:04x}") + f"', plane: {plane}}}")
    return lib.write_config(f"ev{version}.yaml", "\n".join(lines) + "\n"), evs


def endpoint_args(version, host):
    return ["--profile", "af_packet", "--device", "d0", "--device", "d1"] + (
        [w for i in (0, 1) for w in ("--ip", f"10.214.{i}.{host}")] if version == 4 else [])


def cable():
    """Namespaces a and b with two planes between them, whose links are up: the kernel says so a moment after they are, and an
    endpoint that looks earlier tells its peer of a port that is down."""
    veth = netns_lib.Veth(1500, 1500)
    end = time.monotonic() + PATIENCE
    for netns in (veth.a, veth.b):
        for i in range(veth.planes):
            while " state UP " not in netns_lib.ip("-n", netns, "link", "show", "dev", f"d{i}"):
                check(time.monotonic() < end, f"d{i} does not come up")
                time.sleep(0.02)
    return veth


class Peer:
    """`netns`: where its interfaces d0, d1 ... are. Frames of the other end wait in .inbox as (plane, raw, layers) after the
    checks that hold for all; Endpoint Requests are checked and answered at once. Exchange messages wait in .messages."""

    def __init__(self, netns, version, evs, host):
        self.version, self.evs = version, evs
        self.planes = [f"d{i}" for i in range(len(evs))]
        with netns_lib.entered(netns):
            self.sockets = [netns_lib.raw_socket(iface) for iface in self.planes]
        for s in self.sockets:
            s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.macs = [s.getsockname()[4].hex(":") for s in self.sockets]
        self.ips = [f"10.214.{i}.{host}" if version == 4 else f"fd00:77:{i + 1}::{host:x}" for i in range(len(evs))]
        self.peer_macs = self.peer_ips = None
        self.tcp, self.line = None, b""
        self.messages, self.inbox, self.waiting = [], [], []
        self.requests = {"port status": 0, "EV probe": 0}
        self.ports_up = (1 << len(evs)) - 1 << 1  # what a Port Status Update has to say (C21)
        self.ignore = 0  # Port Status Updates that are to stay without an answer
        self.next_ping = 0

    # --- the exchange

    def connect(self, netns, address, port):
        with netns_lib.entered(netns):
            self.tcp = socket.create_connection((address, port), PATIENCE)

    def accept(self, listener, program):
        listener.settimeout(PATIENCE)
        try:
            self.tcp, _ = listener.accept()
        except TimeoutError:
            fail(f"{program.args} does not connect:\n{program.text()}")

    def say(self, kind, **members):
        try:
            self.tcp.sendall(json.dumps({"type": kind, **members}).encode() + b"\n")
        except OSError as error:
            fail(f"'{kind}' cannot be sent: {error}")

    def hear(self, kind, seconds=PATIENCE):
        """The next message of that type; `progress` may come before it and stays."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for m in self.messages:
                if m["type"] == kind:
                    self.messages.remove(m)
                    return m
                check(m["type"] in ("progress", "phase_done"), f"'{m}' where '{kind}' was due")
            self.pump(0.1)
        return fail(f"no '{kind}' came; {self.messages}")

    def released(self):
        """Messages that the other end has checked in this phase."""
        return max((q[2] for m in self.messages if m["type"] == "progress" for q in m["qps"]), default=0)

    def resources(self, qpn, first_psn, rkey, target_va, target_bytes):
        """What `offer` and `accept` have in common."""
        return {"mtu": 1024, "mtu_fixed": False, "udp_port": 4791, "accept_udp_ports": [4791, 4971],
                "attributes": {"MAX_WIMM_DEST": 32, "MAX_MPR_DEST": 8, "DYNAMIC_MPR": False, "TRIM_NACK": True, "SVC_TIME": False},
                "addresses": [[{"ip": i, "mac": m} for i, m in zip(self.ips, self.macs)]],
                "qps": [{"qpn": qpn, "first_psn": first_psn, "worker": 0, "rkey": rkey, "target_va": str(target_va),
                         "target_bytes": str(target_bytes)}]}

    def meet(self, resources):
        """Takes the other end's addresses; returns its only QP."""
        (planes,) = resources["addresses"]
        self.peer_macs, self.peer_ips = [p["mac"] for p in planes], [p["ip"] for p in planes]
        (qp,) = resources["qps"]
        a = resources["attributes"]
        check(len(planes) == len(self.planes) and resources["mtu"] == 1024 and 4791 in resources["accept_udp_ports"], resources)
        check(a["MAX_WIMM_DEST"] >= 32 and a["MAX_MPR_DEST"] >= 8 and a["TRIM_NACK"], f"T10-1: {a}")
        check(a["SVC_TIME"] is False, f"C20: no field carries a service time, so that none is offered: {a}")
        check(3 <= qp["qpn"] < 1 << 24 and 0 <= qp["first_psn"] < 1 << 24, qp)
        return qp

    # --- frames

    def wrap(self, plane, packet, dscp=CONTROL, ecn=NOT_ECT, sport=None, flow_label=0, dport=4791, src=None):
        """A frame to the other end, sealed. Without `sport` over the first EV of the plane."""
        if sport is None:
            sport, flow_label = self.evs[plane][0]
        layers = Ether(src=self.macs[plane], dst=self.peer_macs[plane])
        src = src or self.ips[plane]
        if self.version == 4:
            layers /= IP(src=src, dst=self.peer_ips[plane], tos=dscp << 2 | ecn, flags="DF", id=0)
        else:
            layers /= IPv6(src=src, dst=self.peer_ips[plane], tc=dscp << 2 | ecn, fl=flow_label)
        return mrc.seal(layers / UDP(sport=sport, dport=dport, chksum=0) / packet)

    def send(self, plane, raw):
        self.sockets[plane].send(raw)

    def pump(self, seconds):
        """Takes what has come, or waits for something to come. Frames in the order of their arrival, whatever the plane: one
        socket after the other would look like a network that holds back all planes but the first."""
        if time.monotonic() >= self.next_ping and self.tcp is not None:
            self.say("ping")
            self.next_ping = time.monotonic() + 0.25
        ready, _, _ = select.select([*self.sockets, *([self.tcp] if self.tcp else [])], [], [], 0 if self.waiting else seconds)
        if self.tcp in ready:
            self.take_lines()
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        frames = sorted(self.waiting + [f for plane in range(len(self.sockets)) for f in self.frames_of(plane)])
        self.waiting = [f for f in frames if f[0] > now]  # came while the other socket was read
        for _, plane, raw in frames[:len(frames) - len(self.waiting)]:
            self.take(plane, raw)

    def take_lines(self):
        data = self.tcp.recv(1 << 16)
        if not data:
            self.tcp.close()
            self.tcp = None
        *lines, self.line = (self.line + data).split(b"\n")
        for line in lines:
            m = json.loads(line)
            check(m["type"] not in ("abort", "refuse"), f"the other end gives up: {m}")
            if m["type"] != "ping":
                self.messages.append(m)

    def frames_of(self, plane):
        """What waits in the socket: (time of arrival in ns, plane, frame)."""
        while True:
            try:
                raw, notes, _, address = self.sockets[plane].recvmsg(65536, 256, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            if address[2] != socket.PACKET_OUTGOING:
                (stamp,) = (data for _, kind, data in notes if kind == SO_TIMESTAMPNS)
                seconds, ns = struct.unpack("qq", stamp)
                yield seconds * 10**9 + ns, plane, raw

    def take(self, plane, raw):
        frame = mrc.parse(raw)
        found = mrc.faults(raw)
        check(not found, f"plane {plane}: {found} in {frame!r} {raw.hex()}")
        ip = mrc.innermost_ip(frame)
        wrong = []
        for what, got, want in (("MACs", (frame.src, frame.dst), (self.peer_macs[plane], self.macs[plane])),
                                ("addresses", (ip.src, ip.dst), (self.peer_ips[plane], self.ips[plane])),
                                ("hop limit", ip.ttl if self.version == 4 else ip.hlim, 64),
                                ("UDP port", frame[UDP].dport, 4791)):
            if got != want:
                wrong.append(f"{what} {got}, {want} expected")
        op = frame[mrc.Bth].opcode
        if op != 0xD9 and self.path(frame) not in self.evs[plane]:  # a Response keeps the entropy of its request
            wrong.append(f"no EV of plane {plane}: {self.path(frame)}")
        data = op in mrc.WRITES or op == 0xDE
        if not data and self.traffic_class(frame) != (CONTROL, NOT_ECT):
            wrong.append(f"DSCP and ECN {self.traffic_class(frame)} of a control packet")
        if data and self.traffic_class(frame) != (TRIMMABLE_RETX if frame[mrc.Bth].rtx else TRIMMABLE, ECT0):
            wrong.append(f"DSCP and ECN {self.traffic_class(frame)} of a data packet")
        check(not wrong, f"{wrong} in {frame!r}")
        if op == 0xD8:
            self.on_request(plane, frame)
        else:
            self.inbox.append((plane, raw, frame))

    def path(self, frame):
        """The EV of a frame as (source port, flow label)."""
        ip = mrc.innermost_ip(frame)
        return frame[UDP].sport, (ip.fl if self.version == 6 else 0)

    def traffic_class(self, frame):
        ip = mrc.innermost_ip(frame)
        tos = ip.tos if self.version == 4 else ip.tc
        return tos >> 2, tos & 3

    def on_request(self, plane, frame):
        """A Port Status Update says .ports_up, an EV Probe asks (4.2, 4.3, D19)."""
        bth, erth = frame[mrc.Bth], frame[mrc.Erth]
        mask = 0 if erth.op == 1 else self.ports_up
        want = (mrc.Bth(opcode=0xD8, dqp=2, psn=bth.psn & 0xFFFF) /
                mrc.Erth(op=erth.op, port_status_mask=mask, tx_timestamp=erth.tx_timestamp))
        found = differences(bth, want)
        check(erth.op in (0, 1) and not found, f"{found} in {frame!r}")
        self.requests["EV probe" if erth.op else "port status"] += 1
        if erth.op == 0 and self.ignore > 0:
            self.ignore -= 1
            return
        sport, flow_label = self.path(frame)
        self.send(plane, self.wrap(plane, response_to(frame), sport=sport, flow_label=flow_label))
