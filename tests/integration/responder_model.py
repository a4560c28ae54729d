# SPDX-License-Identifier: BSD-3-Clause
"""MRC's responder in Python, written from lib/SPECIFICATION.md (chapter 3, D4, D5) and not from the C++ code. A frame goes in,
the packets that a responder owes for it come out: what `mrc-endpoint serve` must answer, and what answers `mrc-endpoint run`."""
import mrc_scapy as mrc
from scapy.layers.inet import UDP

PSNS, WINDOW = 1 << 24, 8 * 128
THRESHOLD, LEAST = 16384, 1024
LASTS = (0xC8, 0xC9, 0xCA, 0xCB)
TRIMMED, TRIMMED_LASTHOP, PSN_OOR_WINDOW = 1, 2, 0x0B


def signed(n, bits):
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> (bits - 1) else n


class Trigger:
    """What a SACK or NACK mirrors of the packet that caused it."""

    def __init__(self, frame, ce=False):
        bth = frame[mrc.Bth]
        self.psn, self.rtx, self.ce = bth.psn, bth.rtx, ce
        self.entropy = mrc.entropy_of(frame)
        stamp = frame.getlayer(mrc.Tseth) or frame.getlayer(mrc.Peth)
        self.tx_timestamp = stamp.tx_timestamp if stamp is not None and stamp.ftype == 1 else 0  # C12


class Responder:
    """Of the QP `qpn`, whose peer is `peer_qpn` and numbers its packets from `first_psn` on. PSNs have 24 bits outside and
    never wrap inside."""

    def __init__(self, qpn, peer_qpn, first_psn):
        self.qpn, self.peer_qpn = qpn, peer_qpn
        self.cack = self.newest = self.asked = self.shown = self.walk = first_psn - 1 + PSNS
        self.above = set()  # received, above cack
        self.asks, self.lasts = set(), set()
        self.bytes = self.since = self.messages = 0
        self.sent = {"sack": 0, "nack": 0, "ack": 0}

    def whole(self, psn):
        return self.cack + 1 + signed(psn - (self.cack + 1), 24)

    def has(self, psn):
        return self.whole(psn) <= self.cack or self.whole(psn) in self.above

    def on_write(self, frame, ce=False):
        """The answers to a Write that is whole and allowed; as many of each kind as its rules ask for, SACKs first. All of
        them leave over the plane on which it came (D5), an ACK that another packet had asked for as well."""
        bth, trigger = frame[mrc.Bth], Trigger(frame, ce)
        psn = self.whole(bth.psn)
        if psn - self.cack > WINDOW:
            return [self.nack(trigger, PSN_OOR_WINDOW)]
        if psn <= self.cack:
            return [self.sack(trigger), self.ack()]
        self.since += max(payload_bytes(frame), LEAST)
        if bth.a:
            self.asked = max(self.asked, psn)
            self.asks.add(psn)
        if psn not in self.above:
            self.accept(frame, psn)
        due = bth.a or bth.rtx or ce or self.since >= THRESHOLD or self.cack >= self.asked > self.shown
        answers = [self.sack(trigger)] if due else []
        if any(p <= self.cack for p in self.asks):
            self.asks = {p for p in self.asks if p > self.cack}
            answers.append(self.ack())
        return answers

    def accept(self, frame, psn):
        self.bytes += frame[UDP].len + 40
        self.above.add(psn)
        self.newest = max(self.newest, psn)
        if frame[mrc.Bth].opcode in LASTS:
            self.lasts.add(psn)
        while self.cack + 1 in self.above:
            self.cack += 1
            self.above.remove(self.cack)
            self.messages += self.cack in self.lasts

    def on_trimmed(self, frame, reason, timestamp=True):
        """`frame` is what was sent, before a switch cut it; `timestamp`: TSETH survived."""
        trigger = Trigger(frame)
        if not timestamp:
            trigger.tx_timestamp = 0
        if self.has(trigger.psn):
            return [self.sack(trigger)]
        beyond = self.whole(trigger.psn) - self.cack > WINDOW
        return [self.nack(trigger, PSN_OOR_WINDOW if beyond else reason)]

    def on_probe(self, frame, ce=False):
        answers = [self.sack(Trigger(frame, ce), frame[mrc.Peth].probe_id)]
        if self.messages:
            answers.append(self.ack())
        return answers

    def base(self):
        """Where the bitmap of the next SACK begins: it walks through a wide window (D5)."""
        if self.newest == self.cack:
            base = self.walk = self.cack + 1
        else:
            if not self.cack < self.walk <= self.newest:
                self.walk = self.cack + 1
            base = self.walk
            if base + 63 > self.newest:
                base = max(self.newest - 63, self.cack + 1)
        self.walk += 64
        return base

    def sack(self, trigger, probe_id=None):
        self.sent["sack"] += 1
        self.since = 0
        if self.cack >= self.asked:
            self.shown = self.asked
        base = self.base()
        offset = signed(trigger.psn - self.cack, 24) if probe_id is None else signed(probe_id, 16)
        return (mrc.Bth(opcode=0xDC, dqp=self.peer_qpn, rtx=0 if probe_id is not None else trigger.rtx, psn=self.cack % PSNS) /
                mrc.Seth(m=int(trigger.ce), pr=int(probe_id is not None), ack_psn_offset=offset if abs(offset) < 1 << 15 else 0,
                         entropy=trigger.entropy, spdcid=self.qpn & 0xFFFF, dpdcid=self.peer_qpn & 0xFFFF,
                         cack_psn=self.cack % PSNS, sack_offset=base - self.cack,
                         sack_bitmap=sum(1 << i for i in range(64) if base + i in self.above)) /
                mrc.CcState(tx_timestamp=trigger.tx_timestamp, ooo_count=len(self.above),
                            rcvd_bytes=(self.bytes + 255) // 256 % PSNS))

    def nack(self, trigger, reason):
        self.sent["nack"] += 1
        return (mrc.Bth(opcode=0xDD, dqp=self.peer_qpn, psn=trigger.psn) /
                mrc.Neth(nack_reason=reason, entropy=trigger.entropy, spdcid=self.qpn & 0xFFFF, dpdcid=self.peer_qpn & 0xFFFF,
                         nack_psn=trigger.psn, tx_timestamp=trigger.tx_timestamp))

    def ack(self):
        self.sent["ack"] += 1
        return mrc.Bth(opcode=0xD1, dqp=self.peer_qpn, psn=self.cack % PSNS) / mrc.Aeth(msn=self.messages)

    def nak(self, psn, syndrome):
        return mrc.Bth(opcode=0xD1, dqp=self.peer_qpn, psn=psn) / mrc.Aeth(syndrome=syndrome, msn=self.messages)

    def holes(self, sack):
        """The PSNs that a SACK just made shows as not there; those above the newest count too (3.5)."""
        base = self.cack + sack[mrc.Seth].sack_offset
        return {(base + i) % PSNS for i in range(64) if not sack[mrc.Seth].sack_bitmap >> i & 1}


def payload_bytes(frame):
    """Of a parsed Write: what is behind its headers, less padding and ICRC."""
    rest = bytes(frame.lastlayer())
    return len(rest) - 4 - frame[mrc.Bth].pad


def response_to(request):
    """What an endpoint answers to an Endpoint Request (1.8, 4.2, C12)."""
    erth = request[mrc.Erth]
    return (mrc.Bth(opcode=0xD9, dqp=2, psn=request[mrc.Bth].psn) /
            mrc.Eeth(op=erth.op, tx_timestamp=erth.tx_timestamp if erth.ftype == 1 else 0))
