#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mrc-endpoint and a peer that is no mrc-endpoint: one in Python, its frames and the fields it expects made with scapy from
lib/SPECIFICATION.md. `serve` is sent Writes of every kind, in and out of order, doubled, trimmed, marked and damaged, and each
SACK, NACK, Transport ACK and Endpoint Response is compared field by field. Needs root.

endpoint_scapy.py MRC_ENDPOINT [CASE...]"""
import random
import sys
import time

import endpoint_lib as lib
import peer_lib  # skips where there is no scapy
from endpoint_lib import check, fail
from netns_lib import Veth
from peer_lib import CE, CONTROL, ECT0, NO_TRIM, NOT_ECT, TRIMMABLE, TRIMMABLE_RETX, TRIMMED, TRIMMED_LASTHOP, Peer, pattern

import mrc_scapy as mrc
from responder_model import Responder, response_to
from scapy.packet import Raw

program = sys.argv[1]
SEED = 20260321
PMTU = 1024
QPN = 0xABCDE7
SLOTS = 4


class Requestor:
    """Writes of the Python end: numbers them, and sends them over any source port and flow label."""

    def __init__(self, qp, first_psn):
        self.qp, self.psn, self.msn, self.rqmsn = qp, first_psn, 0, 0
        self.clock = 0x1234

    def packet(self, opcode, at, dmalen, data, immdt=None, **bth):
        """One Write with the next PSN."""
        self.clock = (self.clock + 77) % 65536
        p = mrc.Bth(opcode=opcode, pad=-len(data) % 4, dqp=self.qp["qpn"], ts=1, psn=self.psn, **bth)
        p /= mrc.Meth(rqmsn=self.rqmsn if self.immediate else 0, msn=self.msn)
        p /= mrc.Tseth(tx_timestamp=self.clock) / mrc.Reth(va=at, rkey=self.qp["rkey"], dmalen=dmalen)
        if immdt is not None:
            p /= mrc.Immdt(immdt=immdt)
        self.psn = (self.psn + 1) % (1 << 24)
        return p / Raw(data + bytes(-len(data) % 4)) if data else p

    def message(self, at, data, immdt=None):
        """All packets of a message (2.1), none of which asks for an acknowledgement."""
        self.immediate = immdt is not None
        pieces = [data[i:i + PMTU] for i in range(0, len(data), PMTU)] or [b""]
        out = []
        for i, piece in enumerate(pieces):
            last = i == len(pieces) - 1
            opcode = (0xCA if i == 0 else 0xC8) if last else (0xC6 if i == 0 else 0xC7)
            out.append(self.packet(opcode + (last and self.immediate), at + i * PMTU, len(data), piece, immdt if last else None))
        self.msn += 1
        self.rqmsn += self.immediate
        return out


def but(packet, **fields):
    """The packet with other values of BTH fields, or (`junk`) other payload of the same length."""
    p = packet.copy()
    if fields.pop("junk", False):
        p[Raw].load = bytes(255 - b for b in p[Raw].load)
    for name, value in fields.items():
        setattr(p[mrc.Bth], name, value)
    return p


class Serve:
    """`mrc-endpoint serve` and the Python end that writes to it. A frame is sent when all that the ones before it caused has
    come, and none may draw an answer that the model does not know; so every answer is exact."""

    def __init__(self, version):
        self.version, self.rng = version, random.Random(SEED + version)
        self.veth = peer_lib.cable()
        config, evs = peer_lib.ev_config(version)
        self.program = lib.Program(program, "serve", *peer_lib.endpoint_args(version, 1), "--config", config, "--listen", Veth.A,
                                   "--port", 0, "--json", lib.path("scapy-serve.json"), netns=self.veth.a)
        port = int(self.program.wait_for(r"serving on \S+ port (\d+)").group(1))
        self.peer = Peer(self.veth.b, version, evs, 2)
        self.unheard = None  # plane with frames that draw no answer, so that nothing tells whether they arrived
        self.seed = 0x123456789ABCDEF
        first_psn = 0xFFFFF0  # wraps soon
        self.peer.connect(self.veth.b, Veth.A, port)
        self.peer.say("hello", protocol="softmrc.exchange", version=1, role="run", software="scapy")
        check(self.peer.hear("hello")["role"] == "serve", "hello")
        workload = {"kind": "write_imm", "seed": str(self.seed), "qps": 1, "max_size_bytes": 3001,
                    "region_bytes": str(SLOTS * peer_lib.stride_of(3001)), "bidirectional": False, "verify": True}
        self.peer.say("offer", workload=workload, **self.peer.resources(QPN, first_psn, 0, 0, 0))
        accepted = self.peer.hear("accept")
        check(accepted["verify"] is True, accepted)
        self.qp = self.peer.meet(accepted)
        self.requestor = Requestor(self.qp, first_psn)
        self.model = Responder(self.qp["qpn"], QPN, first_psn)
        self.peer.say("ready")
        self.peer.hear("ready")

    # --- frames and what they draw

    def frame(self, plane, packet, dscp=TRIMMABLE, ecn=ECT0, **how):
        """Over a source port and flow label of no profile: a responder has to reflect what it got."""
        how = {"sport": self.rng.randrange(1024, 65536), "flow_label": self.rng.getrandbits(20), **how}
        return self.peer.wrap(plane, packet, dscp, ecn, **how)

    def expect(self, what, plane, answers):
        """Exactly these packets, on that plane (D5)."""
        end = time.monotonic() + peer_lib.PATIENCE
        while len(self.peer.inbox) < len(answers):
            if time.monotonic() > end:
                fail(f"{what}: {len(answers)} answers were due, {self.peer.inbox} came:\n{self.program.text()}")
            self.peer.pump(0.5)
        got, self.peer.inbox = self.peer.inbox, []
        check(len(got) == len(answers), f"{what}: {len(got)} answers where {len(answers)} were due: {got}")
        for want, (on, _, frame) in zip(sorted(answers, key=lambda p: p.opcode), sorted(got, key=lambda g: g[2][mrc.Bth].opcode)):
            found = peer_lib.differences(frame[mrc.Bth], want)
            check(not found, f"{what}: {found}\n{frame.show(dump=True)}")
            check(on == plane, f"{what}: {mrc.OPCODES[want.opcode]} on plane {on}, due on {plane}")

    def draw(self, what, plane, raw, model):
        """Sends a frame; `model()` says what it draws."""
        if self.unheard not in (None, plane):
            self.probe(self.unheard)
        check(not self.peer.inbox, f"before '{what}' something came that nothing asked for: {self.peer.inbox}")
        answers = model()
        self.peer.send(plane, raw)
        self.unheard = None if answers else plane
        if answers:
            self.expect(what, plane, answers)

    def write(self, what, plane, packet, **how):
        raw = self.frame(plane, packet, **how)
        frame = mrc.parse(raw)
        self.draw(what, plane, raw, lambda: self.model.on_write(frame, how.get("ecn") == CE))
        return frame

    def silent(self, what, plane, raw):
        """Dropped: the probe behind it shows that nothing has changed, and draws the only answer."""
        self.draw(what, plane, raw, list)
        self.probe(plane, what)

    def probe(self, plane, what="probe", **how):
        p = mrc.Bth(opcode=0xDE, dqp=self.qp["qpn"]) / mrc.Peth(
            probe_id=self.rng.getrandbits(16), spdcid=QPN & 0xFFFF, dpdcid=self.qp["qpn"] & 0xFFFF,
            tx_timestamp=self.rng.getrandbits(16), ftype=how.pop("ftype", 1))
        raw = self.frame(plane, p, **how)
        frame = mrc.parse(raw)
        self.unheard = None
        if how.get("dscp") == TRIMMED:
            return self.silent("a trimmed probe", plane, raw)
        return self.draw(what, plane, raw, lambda: self.model.on_probe(frame, how.get("ecn") == CE))

    def trimmed(self, plane, packet, keep, dscp, new_lengths):
        frame = mrc.parse(self.frame(plane, packet))
        reason = {TRIMMED: 1, TRIMMED_LASTHOP: 2}[dscp]
        self.draw(f"cut to {keep} bytes", plane, mrc.trimmed(frame, keep, dscp, new_lengths),
                  lambda: self.model.on_trimmed(frame, reason, keep >= 20))

    def endpoint_request(self, plane, op, mask, dscp, ftype=1):
        request = mrc.Bth(opcode=0xD8, dqp=2, psn=self.rng.getrandbits(16)) / mrc.Erth(
            op=op, port_status_mask=mask, tx_timestamp=self.rng.randrange(1, 65536), ftype=ftype)
        self.draw(f"endpoint request {op}", plane, self.frame(plane, request, dscp, NOT_ECT if dscp == CONTROL else ECT0),
                  lambda: [response_to(request)])

    # --- messages of a phase

    def begin(self, index, size):
        self.index, self.size, self.next, self.drops = index, size, 0, {}
        self.peer.messages.clear()
        self.sent_before = dict(self.model.sent)
        self.peer.say("phase", index=index, size_bytes=size, slots=SLOTS, iterations=0, duration_s=0.0)
        self.peer.hear("phase_ready")

    def next_message(self, junk=False):
        """(where, bytes, number) of the message that comes next, its slot being free."""
        m, self.next = self.next, self.next + 1
        end = time.monotonic() + peer_lib.PATIENCE
        while m - self.peer.released() >= SLOTS:
            check(time.monotonic() < end, f"message {m - SLOTS} is not released: {self.peer.messages}")
            self.peer.pump(0.1)
        at = int(self.qp["target_va"]) + m % SLOTS * peer_lib.stride_of(self.size)
        return at, pattern(self.seed, 1, self.index, m, self.size), m

    def whole(self, name, planes, **how):
        """A WriteIMM in order, its last packet asking."""
        packets = self.requestor.message(*self.next_message())
        packets[-1].a = 1
        for p, plane in zip(packets, planes):
            self.write(name, plane, p, **how)

    def end(self):
        """Both reports; every message was delivered once and held what it should."""
        for plane in (0, 1):
            self.probe(plane, "at the end")
        self.peer.say("phase_done", index=self.index, interrupted=False, sent=[self.next])
        self.peer.say("phase_report", index=self.index, verified=True, messages=0, bytes=0, messages_bad=0, first_bad="")
        report = self.peer.hear("phase_report")
        want = {"verified": True, "messages": self.next, "bytes": self.next * self.size, "messages_bad": 0, "first_bad": ""}
        check({k: report[k] for k in want} == want, f"{report}, {want} expected")
        self.peer.pump(0.1)
        check(not self.peer.inbox, f"after the end: {self.peer.inbox}")
        sent = {k: n - self.sent_before[k] for k, n in self.model.sent.items()}
        return {"sent": sent, "messages": self.next, "drops": self.drops}

    def drop(self, reason):
        self.drops[reason] = self.drops.get(reason, 0) + 1


def endpoint_operations(s):
    s.endpoint_request(0, 0, 0b110, CONTROL)
    s.endpoint_request(1, 1, 0, NO_TRIM)
    s.endpoint_request(0, 1, 0, TRIMMABLE)
    s.endpoint_request(1, 1, 0, NO_TRIM, ftype=0)  # no timestamp
    s.endpoint_request(0, 0, 0b110, CONTROL, ftype=0)
    s.probe(0, "a probe before any Write")
    s.probe(1, "a probe without a timestamp", ftype=0)
    s.probe(1, "a marked probe", ecn=CE)


def order(s):
    s.whole("in order", (0, 0, 1))
    first, middle, last = s.requestor.message(*s.next_message())
    s.write("the last packet first", 1, but(last, a=1))
    s.write("the first packet behind it", 0, first)
    s.write("the hole closes", 1, middle)


def duplicates(s):
    first, middle, last = s.requestor.message(*s.next_message())
    s.write("first", 0, first)
    s.write("a duplicate below ePSN", 1, but(first, junk=True))
    s.write("last", 0, last)
    s.write("a duplicate above the hole", 0, but(last, junk=True))
    s.write("a retransmitted one", 1, but(last, junk=True, rtx=1), dscp=TRIMMABLE_RETX)
    s.write("a marked one", 1, but(last, junk=True), ecn=CE)
    s.write("a marked Write", 0, middle, ecn=CE)
    for _ in range(4):
        s.drop("duplicate")


def trims(s):
    first, middle, last = s.requestor.message(*s.next_message())
    s.trimmed(0, first, 60, TRIMMED, True)
    s.trimmed(1, first, 20, TRIMMED_LASTHOP, False)
    s.trimmed(0, first, 16, TRIMMED, True)  # TSETH is gone
    s.trimmed(1, first, 12, TRIMMED, False)
    s.write("the retransmission", 1, but(first, rtx=1), dscp=TRIMMABLE_RETX)
    s.trimmed(0, first, 40, TRIMMED, True)  # known: a SACK
    s.trimmed(0, but(first, psn=(s.model.cack + 1 + 1024) % (1 << 24)), 40, TRIMMED, True)  # outside: says so
    s.probe(0, dscp=TRIMMED)
    s.drop("trimmed_opcode")
    s.write("middle", 0, middle)
    s.write("last", 0, but(last, a=1))


def damaged(s):
    """What must be dropped; each would be placed but for one thing."""
    first, middle, last = s.requestor.message(*s.next_message())
    junk = but(first, junk=True, a=1)
    raw = s.frame(0, junk)
    s.silent("a bad ICRC", 0, raw[:-1] + bytes([raw[-1] ^ 0x10]))
    s.drop("icrc")
    raw = s.frame(1, junk)
    s.silent("a bit of the payload", 1, raw[:-200] + bytes([raw[-200] ^ 1]) + raw[-199:])
    s.drop("icrc")
    raw = s.frame(0, but(junk, inv=0))
    at = len(raw) - len(mrc.parse(raw)[mrc.Bth]) + 8
    s.silent("rtx set on the way: inside the ICRC", 0, raw[:at] + bytes([raw[at] ^ 0x20]) + raw[at + 1:])
    s.drop("icrc")
    for fields, reason in (({"tver": 1}, "tver"), ({"pkey": 0x1234}, "pkey"), ({"dqp": s.qp["qpn"] ^ 0x3F}, "unknown_qp")):
        s.silent(f"{fields}", 1, s.frame(1, but(junk, **fields)))
        s.drop(reason)
    unknown = mrc.Bth(opcode=0xC5, dqp=s.qp["qpn"], psn=junk.psn) / Raw(bytes(junk.payload))
    s.silent("an unknown opcode", 0, s.frame(0, unknown))
    s.drop("opcode")
    s.silent("a stranger", 0, s.frame(0, junk, src="10.214.0.9" if s.version == 4 else "fd00:77::9"))
    s.drop("not_for_us")
    for p in (first, middle, but(last, a=1)):
        s.write("the good ones", 1, p)


def overtaken(s):
    """A Write's bytes replace those of a WriteIMM behind it that came first: where and when it was placed shows in memory, and
    the WriteIMM is not delivered before it."""
    at, data, m = s.next_message()
    plain = s.requestor.message(at, data)
    immediate = s.requestor.message(at, bytes(255 - b for b in data), m)
    for p in immediate:
        s.write("the WriteIMM", 1, but(p, a=1))
    for p in plain:
        s.write("the Write before it", 0, p)


def wide_window(s):
    """140 messages of nothing. One SACK shows 64 PSNs, the next one other 64, and the walk comes back to the hole while the
    newest PSN grows (D5). Their address and key are nobody's, which is not looked at (2.1)."""
    fillers = [p for _ in range(140) for p in s.requestor.message(0xDEAD0000, b"")]
    s.write("outside the window", 0, but(fillers[0], psn=(s.model.cack + 1 + 1024) % (1 << 24)))
    s.drop("out_of_window")
    s.write("far above the hole", 1, but(fillers[99], a=1))
    for i in range(5):
        s.probe(i % 2, "the walk")
    for p in fillers[130:]:
        s.write("farther and farther", 1, but(p, a=1))
    rest = fillers[:99] + fillers[100:130]
    s.rng.shuffle(rest)
    for i, p in enumerate(rest):
        s.write(f"filler {i}", 1, p)
    s.probe(1, "all there")


def habits(s):
    """What other requestors may do: no pad field (C3), the other port (C1), reserved bits set (C32), no timestamp."""
    first, middle, last = s.requestor.message(*s.next_message())
    first[mrc.Tseth].res = 0x7FF
    s.write("reserved bits", 0, but(first, inv=0xF, r=1, variant=0xA5, a=1))
    stampless = but(middle, ts=0)
    stampless[mrc.Meth].remove_payload()
    stampless /= middle[mrc.Reth].copy()
    s.write("no TSETH", 1, but(stampless, a=1))
    s.write("no pad field, port 4971", 0, but(last, pad=0, a=1), dport=4971)


def only_messages(s):
    s.whole("Only with immediate", (0,))
    at, data, m = s.next_message()
    plain = s.requestor.message(at, data)
    (immediate,) = s.requestor.message(at, bytes(255 - b for b in data), m)
    s.write("Only with immediate", 1, but(immediate, a=1))
    s.write("the Only before it", 0, plain[0])
    s.write("a duplicate of what was delivered", 1, but(immediate, rtx=1, a=1), dscp=TRIMMABLE_RETX)
    s.drop("duplicate")
    s.whole("Only with immediate", (1,), dscp=NO_TRIM)


def port_status(s):
    """A port without a link is told of over the other plane, until the answer comes; so is its return (4.3, D19)."""
    for link, up in (("down", 0b010), ("up", 0b110)):
        s.peer.ports_up, s.peer.ignore, before = up, 4, s.peer.requests["port status"]
        s.veth.set(s.veth.a, "d1", link)
        end = time.monotonic() + peer_lib.PATIENCE
        while s.peer.requests["port status"] < before + 5:
            check(time.monotonic() < end, f"link {link}, told of {s.peer.requests['port status'] - before} times")
            s.peer.pump(0.1)
        s.probe(0 if link == "down" else 1)
        before = s.peer.requests["port status"]
        s.peer.pump(0.05)
        check(s.peer.requests["port status"] == before, "told of after it was answered")


def refused(s):
    """A request that may not be carried out ends the QP with a NAK, which is repeated (D17). Outside any phase: nobody polls."""
    at = int(s.qp["target_va"])
    syndrome = 0x62 if s.version == 4 else 0x61
    before, p = s.requestor.message(at, bytes(64)) + s.requestor.message(at, bytes(64))
    if syndrome == 0x62:
        p[mrc.Reth].rkey ^= 0x10000
    else:
        p[mrc.Reth].dmalen = PMTU + 1  # of an Only
    s.draw("a Write that is refused, behind a hole", 1, s.frame(1, p), list)
    s.probe(1, "the hole")
    nak = s.model.nak(p.psn, syndrome)
    nak[mrc.Aeth].msn += 1
    s.draw("the hole closes", 0, s.frame(0, before), lambda: [nak])
    s.draw("a Write to a QP in ERROR", 1, s.frame(1, p), lambda: [nak])
    return syndrome


def serve(version):
    s = Serve(version)
    results = []
    for index, size, scenes in ((0, 3001, (endpoint_operations, order, duplicates, trims, damaged, overtaken, wide_window, habits)),
                                (1, 502, (only_messages, port_status))):
        s.begin(index, size)
        for scene in scenes:
            scene(s)
        results.append(s.end())
    syndrome = refused(s)
    s.peer.say("bye")
    s.peer.hear("bye")
    s.program.finish(0, 30)
    told = lib.load_result("scapy-serve.json")
    check(told["pass"] and len(told["phases"]) == 2, told["failures"])
    for phase, want in zip(told["phases"], results):
        t = phase["transport"]
        v = phase["verification"]
        check(v["messages"] == want["messages"] and v["messages_bad"] == 0, v)
        check(phase["drops"] == want["drops"], f"drops {phase['drops']}, {want['drops']} expected")
        for kind, n in want["sent"].items():
            check(t[f"tx_{kind}"] == n, f"{t[f'tx_{kind}']} {kind}s counted, {n} came")
        check(t["rx_rqmsn_mismatch"] == 0 and phase["conserved"], f"{t} {phase['conservation']}")
    check(all(s.peer.requests.values()), f"its own endpoint requests: {s.peer.requests}")
    n = s.model.sent
    print(f"ok: serve, IPv{version}: {n['sack']} SACKs, {n['nack']} NACKs, {n['ack']} ACKs, NAK 0x{syndrome:x}, {s.peer.requests}; "
          f"drops {results[0]['drops']}")


def serve_ipv4():
    serve(4)


def serve_ipv6():
    serve(6)


lib.run_cases(serve_ipv4, serve_ipv6)
