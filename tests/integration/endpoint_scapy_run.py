#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`mrc-endpoint run` against a responder in Python that shares no code with it: every Write is taken apart with scapy and each
of its fields compared with what lib/SPECIFICATION.md says of that PSN. The answers are scapy's too; some Writes are lost or
refused on purpose and have to come again over another EV, and forged answers must change nothing. Needs root.

endpoint_scapy_run.py MRC_ENDPOINT [CASE...]"""
import collections
import socket
import sys
import time

import endpoint_lib as lib
import netns_lib
import peer_lib  # skips where there is no scapy
from endpoint_lib import check
from netns_lib import Veth
from peer_lib import Peer, pattern

import mrc_scapy as mrc
from responder_model import PSNS, TRIMMED, Responder, payload_bytes

program = sys.argv[1]
PMTU = 1024
QPN, FIRST_PSN, RKEY, TARGET = 0x00BEEF, 0x123456, 0x5C0FFEE5, 0x7F0012345000
SMALL, LARGE, COUNT = 501, 20001, 8  # bytes of a message, messages of each size


class Scheme:
    """What the Writes of one phase have to be, by PSN; messages leave one after the other (depth 1)."""

    def __init__(self, qp, phase, kind, seed, first_psn, first_msn):
        self.size, self.slots, self.count, self.index = phase["size_bytes"], phase["slots"], phase["iterations"], phase["index"]
        self.seed, self.packets, self.datas = seed, {}, []
        per_message = max(1, -(-self.size // PMTU))
        immediate = kind == "write_imm"
        psn = first_psn
        for m in range(self.count):
            self.datas.append(pattern(seed, 1, self.index, m, self.size))
            for k in range(per_message):
                last, data = k == per_message - 1, self.datas[m][k * PMTU:(k + 1) * PMTU]
                opcode = (0xCA if k == 0 else 0xC8) if last else (0xC6 if k == 0 else 0xC7)
                imm = last and immediate
                want = (mrc.Bth(opcode=opcode + imm, pad=-len(data) % 4, dqp=QPN, a=int(last), ts=1, psn=psn) /
                        mrc.Meth(rqmsn=first_msn + m if immediate else 0, msn=first_msn + m) / mrc.Tseth() /
                        mrc.Reth(va=TARGET + self.slot(m) + k * PMTU, rkey=RKEY, dmalen=self.size))
                if imm:
                    want /= mrc.Immdt(immdt=m)
                self.packets[psn] = (m, k, last, want, data)
                psn = (psn + 1) % PSNS
        self.next_psn = psn

    def slot(self, m):
        return m % self.slots * peer_lib.stride_of(self.size)


class Run:
    """The Python end of a run. `plot` (message, packet) -> what happens to the first transmission of that packet."""

    def __init__(self, version, kind):
        self.version, self.kind = version, kind
        self.veth = peer_lib.cable()
        config, self.evs = peer_lib.ev_config(version)
        self.peer = Peer(self.veth.a, version, self.evs, 1)
        with netns_lib.entered(self.veth.a):
            listener = socket.create_server((Veth.A, 0))
        # A base RTT that Python can keep, as probes follow it, and no ACK timer while a busy machine lets it wait.
        self.program = lib.Program(
            program, "run", *peer_lib.endpoint_args(version, 2), "--config", config, "--connect", Veth.A, "--port",
            listener.getsockname()[1], "--json", lib.path("scapy-run.json"), "-w", kind, "--set",
            f"workload.sweep=[{SMALL},{LARGE}]", "-n", COUNT, "-t", 1, "--base-rtt-us", 50000, "--timeout", 21, "--set", "qp.exp_cnt=0",
            netns=self.veth.b)
        self.peer.accept(listener, self.program)
        self.peer.say("hello", protocol="softmrc.exchange", version=1, role="serve", software="scapy")
        check(self.peer.hear("hello")["role"] == "run", "hello")
        offer = self.peer.hear("offer")
        w = offer["workload"]
        check((w["kind"], w["qps"], w["max_size_bytes"], w["bidirectional"], w["verify"]) == (kind, 1, LARGE, False, True), w)
        self.seed = int(w["seed"])
        self.memory = bytearray(int(w["region_bytes"]))
        self.qp = self.peer.meet(offer)
        self.peer.say("accept", verify=True, **self.peer.resources(QPN, FIRST_PSN, RKEY, TARGET, len(self.memory)))
        self.peer.hear("ready")
        self.peer.say("ready")
        self.model = Responder(QPN, self.qp["qpn"], self.qp["first_psn"])
        self.plot, self.done = {}, collections.Counter()
        self.first = {}  # PSN -> (plane, EV, message, order) of the first transmission
        self.missing = set()  # PSNs that left and that some answer of ours showed as not there
        self.lost = {}  # PSN -> why, until it came again
        self.again = collections.Counter()

    def reply(self, plane, packets, damage=0):
        for p in packets:
            raw = self.peer.wrap(plane, p)
            self.peer.send(plane, raw[:-1] + bytes([raw[-1] ^ damage]))
            if mrc.Seth in p:
                self.missing |= self.model.holes(p) & set(self.lost)

    def take(self, plane, frame):
        bth = frame[mrc.Bth]
        check(bth.opcode in mrc.WRITES or bth.opcode == 0xDE, f"{frame!r} from a requestor")
        if bth.opcode == 0xDE:
            return self.take_probe(plane, frame)
        check(bth.psn in self.scheme.packets, f"PSN {bth.psn} is not of this phase: {frame!r}")
        m, k, last, want, data = self.scheme.packets[bth.psn]
        where = f"message {m} of {self.scheme.size} bytes, packet {k}"
        want = want.copy()
        want[mrc.Tseth].tx_timestamp = frame[mrc.Tseth].tx_timestamp if mrc.Tseth in frame else 0
        want.rtx = bth.rtx
        if bth.rtx:
            want.a = bth.a  # its own D3: may be the last that can be sent
        found = peer_lib.differences(bth, want)
        check(not found, f"{where}: {found}")
        rest = bytes(frame.lastlayer())[:-4]
        check(rest == data + bytes(-len(data) % 4), f"{where}: payload and pad")
        if bth.rtx:
            self.check_retransmission(where, plane, frame)
        else:
            check(bth.psn not in self.first, f"{where}: twice as new")
            self.first[bth.psn] = (plane, self.peer.path(frame), len(self.first))
        self.stamps.add(frame[mrc.Tseth].tx_timestamp)
        return self.answer(plane, frame, (m, k))

    def check_retransmission(self, where, plane, frame):
        """2.4, D10, I2: of something that was missing, over another plane and so another EV."""
        psn = frame[mrc.Bth].psn
        check(psn in self.first, f"{where}: rtx without a first transmission")
        on, ev, order = self.first[psn]
        flushed = any(self.first[h][1] == ev and self.first[h][2] < order for h in self.missing)  # D9: with its EV
        check(psn in self.missing or flushed, f"{where}: sent again, though nothing said that it is missing")
        if psn in self.lost:
            now = self.peer.path(frame)
            check(now != ev and plane != on, f"{where}: {self.lost[psn]} on plane {on}, {ev}, again on {plane}, {now}")
            self.again[self.lost.pop(psn)] += 1

    def take_probe(self, plane, frame):
        want = mrc.Bth(opcode=0xDE, dqp=QPN, psn=0) / mrc.Peth(
            probe_id=frame[mrc.Peth].probe_id, spdcid=self.qp["qpn"] & 0xFFFF, dpdcid=QPN & 0xFFFF,
            tx_timestamp=frame[mrc.Peth].tx_timestamp)
        found = peer_lib.differences(frame[mrc.Bth], want)
        check(not found, f"probe: {found}")
        self.done["probes"] += 1
        self.reply(plane, self.model.on_probe(frame))

    def answer(self, plane, frame, at):
        bth = frame[mrc.Bth]
        fate = self.plot.pop(at, None) if self.scheme.size == LARGE and not bth.rtx else None
        if fate == "lose":
            self.lost[bth.psn] = "lost"
            return
        if fate == "trim":
            self.lost[bth.psn] = "trimmed"
            self.missing.add(bth.psn)
            return self.reply(plane, self.model.on_trimmed(frame, TRIMMED))
        if fate == "forge":
            self.forge(plane, frame)
        if not self.model.has(bth.psn):
            start = frame[mrc.Reth].va - TARGET
            n = payload_bytes(frame)
            self.memory[start:start + n] = bytes(frame.lastlayer())[:n]
        answers = self.model.on_write(frame)
        self.reply(plane, [p for p in answers if mrc.Aeth not in p])
        self.check_messages()
        self.reply(plane, [p for p in answers if mrc.Aeth in p])

    def forge(self, plane, frame):
        """Answers that must not be believed: all of the phase acknowledged, with a bad ICRC, and what was never sent."""
        psn = self.scheme.next_psn - 1
        ack = mrc.Bth(opcode=0xD1, dqp=self.qp["qpn"], psn=psn % PSNS) / mrc.Aeth(msn=2 * COUNT)
        sack = (mrc.Bth(opcode=0xDC, dqp=self.qp["qpn"], psn=psn % PSNS) /
                mrc.Seth(cack_psn=psn % PSNS, sack_offset=1) / mrc.CcState(rcvd_bytes=0xFFFF))
        for p in (ack, sack):
            raw = self.peer.wrap(plane, p)
            self.peer.send(plane, raw[:-2] + bytes([raw[-2] ^ 1, raw[-1]]))
            self.peer.send(plane, raw)

    def check_messages(self):
        """Compares what is complete."""
        while self.checked < self.model.messages - self.messages_before:
            m = self.checked
            at = self.scheme.slot(m)
            got = self.memory[at:at + self.scheme.size]
            check(got == self.scheme.datas[m], f"message {m} of {self.scheme.size} bytes holds other bytes")
            self.memory[at:at + self.scheme.size] = bytes(self.scheme.size)
            self.checked += 1
            self.peer.say("progress", index=self.scheme.index, qps=[[0, 0, self.checked]])

    def phase(self, first_psn):
        start = self.peer.hear("phase")
        check(start["iterations"] == COUNT, start)
        self.messages_before, self.checked, self.stamps = self.model.messages, 0, set()
        self.scheme = Scheme(self.qp, start, self.kind, self.seed, first_psn, self.messages_before)
        self.peer.messages.clear()
        self.peer.say("phase_ready", index=start["index"])
        self.peer.say("phase_done", index=start["index"], interrupted=False, sent=[0])
        end = time.monotonic() + 2 * peer_lib.PATIENCE
        done = None
        while done is None:
            self.peer.pump(0.1)
            frames, self.peer.inbox = self.peer.inbox, []
            for plane, _, frame in frames:
                self.take(plane, frame)
            done = next((m for m in self.peer.messages if m["type"] == "phase_done"), None)
            check(time.monotonic() < end, f"{self.checked} of {COUNT} messages came; {self.lost}\n{self.program.text()}")
        check(done["sent"] == [COUNT] and self.checked == COUNT, f"{done}, {self.checked} checked")
        self.peer.messages.remove(done)
        check(len(self.stamps) > 1, "one timestamp for all")
        report = {"verified": True, "messages": COUNT, "bytes": COUNT * self.scheme.size, "messages_bad": 0, "first_bad": ""}
        self.peer.say("phase_report", index=start["index"], **report)
        self.peer.hear("phase_report")
        return self.scheme.next_psn

    def spread(self, count):
        """The first packets went over each EV equally often (2.1)."""
        used = collections.Counter((plane, ev) for plane, ev, order in self.first.values() if order < count)
        check(len(used) == 8 and set(used.values()) == {count // 8}, f"{count} packets over {used}")


def run(version, kind):
    r = Run(version, kind)
    next_psn = r.phase(r.qp["first_psn"])
    small = len(r.first)
    r.spread(small)
    r.plot = {(1, 6): "lose", (2, 3): "trim", (3, 10): "forge", (4, 19): "lose", (6, 0): "lose"}
    r.phase(next_psn)
    check(not r.plot and not r.lost and r.again == {"lost": 3, "trimmed": 1}, f"{r.plot} {r.lost} {r.again}")
    r.peer.hear("bye")
    r.peer.say("bye")
    r.program.finish(0, 30)
    told = lib.load_result("scapy-run.json")
    first, second = told["phases"]
    t = second["transport"]
    for phase in (first, second):
        check(phase["messages_completed"] == COUNT and phase["conserved"], f"{phase['messages_completed']} {phase['conservation']}")
        check(phase["peer_verification"]["messages"] == COUNT, phase["peer_verification"])
    check(second["drops"] == {"icrc": 2}, f"drops {second['drops']}, two bad ICRCs were sent")
    check((t["rx_ack_range"], t["rx_sack_range"], t["rx_nack"]) == (1, 1, 1), f"forged answers: {t}")
    rtx = second["retransmissions"]
    check(rtx["nack_trimmed"] == 1 and rtx["inferred_loss"] >= 3 and rtx["ack_timeout"] == rtx["tail_repeat"] == 0, rtx)
    check(t["rx_ack_msn_mismatch"] == 0, t)
    print(f"ok: run, IPv{version}, {kind}: {len(r.first)} Writes, each field of each; {dict(r.again)} and sent again elsewhere "
          f"({ {k: n for k, n in rtx.items() if n} }), {r.done['probes']} probes")


def write_bw_ipv4():
    run(4, "write_bw")


def write_imm_ipv6():
    run(6, "write_imm")


def write_imm_ipv4():
    run(4, "write_imm")


def write_bw_ipv6():
    run(6, "write_bw")


lib.run_cases(write_bw_ipv4, write_imm_ipv6, write_imm_ipv4, write_bw_ipv6)
