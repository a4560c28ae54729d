# SPDX-License-Identifier: BSD-3-Clause
"""MRC 1.0 for scapy, written from lib/SPECIFICATION.md and not from the C++ code: an oracle for tests.

A packet is Ether / [VLANs] / [IPv6 / [SRH]] / IP or IPv6 / UDP / Bth / extension headers / Raw / Icrc. seal() puts the right
ICRC at the end, parse() takes a frame apart, icrc_of() computes what the ICRC should be.
"""

import zlib

from scapy.fields import (BitEnumField, BitField, ByteField, IntField, ShortField, SignedShortField,
                          ThreeBytesField, XByteField, XIntField, XLongField, XShortField)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers

OPCODES = {
    0xC6: 'RDMA Write First',
    0xC7: 'RDMA Write Middle',
    0xC8: 'RDMA Write Last',
    0xC9: 'RDMA Write Last with Immediate',
    0xCA: 'RDMA Write Only',
    0xCB: 'RDMA Write Only with Immediate',
    0xD1: 'Acknowledge',
    0xD8: 'Endpoint Request',
    0xD9: 'Endpoint Response',
    0xDC: 'Reliability SACK',
    0xDD: 'Reliability NACK',
    0xDE: 'Reliability Probe Request',
}
WRITES = range(0xC6, 0xCC)
IMMEDIATES = (0xC9, 0xCB)
PORTS = (4791, 4971)
RESERVED = ('res', 'res1', 'res2', 'res3', 'res4', 'type', 'nxt', 'nh', 'inv', 'r', 'variant', 'tver')  # sent as 0 (C32)


class Chained(Packet):
    """A header that does not swallow what follows as padding."""

    def guess_payload_class(self, payload):
        return Packet.guess_payload_class(self, payload)


class Bth(Chained):
    name = 'BTH'
    fields_desc = [
        XByteField('opcode', 0xCA),
        BitField('se', 0, 1), BitField('m', 0, 1), BitField('pad', 0, 2), BitField('tver', 0, 4),
        XShortField('pkey', 0xFFFF),
        ByteField('variant', 0),
        BitField('dqp', 0, 24),
        BitField('a', 0, 1), BitField('r', 0, 1), BitField('rtx', 0, 1), BitField('ts', 0, 1), BitField('inv', 0, 4),
        BitField('psn', 0, 24),
    ]


class Meth(Chained):
    name = 'METH'
    fields_desc = [ShortField('rqmsn', 0), ShortField('msn', 0)]

    def guess_payload_class(self, payload):
        return Tseth if self.underlayer is not None and self.underlayer.ts else Reth


class Tseth(Chained):
    name = 'TSETH'
    fields_desc = [ShortField('tx_timestamp', 0), BitField('tsr', 0, 1), BitField('res', 0, 11), BitField('ftype', 1, 4)]


class Reth(Chained):
    name = 'RETH'
    fields_desc = [XLongField('va', 0), XIntField('rkey', 0), IntField('dmalen', 0)]

    def guess_payload_class(self, payload):
        below = self.underlayer
        while below is not None and not isinstance(below, Bth):
            below = below.underlayer
        return Immdt if below is not None and below.opcode in IMMEDIATES else Raw


class Immdt(Chained):
    name = 'ImmDt'
    fields_desc = [XIntField('immdt', 0)]


class Aeth(Chained):
    name = 'AETH'
    fields_desc = [XByteField('syndrome', 0x1F), ThreeBytesField('msn', 0)]


class Seth(Chained):
    name = 'SETH'
    fields_desc = [
        BitField('type', 0, 4), BitField('nxt', 0, 5), BitField('m', 0, 2), BitField('res1', 0, 3), BitField('pr', 0, 1),
        BitField('res2', 0, 1),
        SignedShortField('ack_psn_offset', 0),
        XIntField('entropy', 0),
        XShortField('spdcid', 0), XShortField('dpdcid', 0),
        ByteField('res3', 0), ThreeBytesField('cack_psn', 0),
        BitField('cc_type', 0, 4), BitField('cc_fl', 0, 4),
        ByteField('mpr', 0),
        SignedShortField('sack_offset', 0),
        XLongField('sack_bitmap', 0),
    ]


class CcState(Chained):
    name = 'CC_STATE'
    fields_desc = [
        ShortField('tx_timestamp', 0),
        BitField('res', 0, 1), BitField('ooo_count', 0, 15),
        BitField('restore_cwnd', 0, 1), BitField('rcv_cwnd_pen', 0, 7),
        ThreeBytesField('rcvd_bytes', 0),
    ]


class Neth(Chained):
    name = 'NETH'
    fields_desc = [
        BitField('type', 0, 4), BitField('nxt', 0, 5), BitField('res1', 0, 7),
        XByteField('nack_reason', 1), XByteField('vendor_info', 0),
        XIntField('entropy', 0),
        XShortField('spdcid', 0), XShortField('dpdcid', 0),
        ByteField('res2', 0), ThreeBytesField('nack_psn', 0),
        BitField('cc_type', 2, 4), BitField('cc_fl', 0, 4),
        ByteField('res3', 0),
        ShortField('tx_timestamp', 0),
    ]


class Peth(Chained):
    name = 'PETH'
    fields_desc = [
        BitField('type', 0, 4), BitField('nh', 0, 5), BitField('res1', 0, 7),
        ByteField('res2', 0), XByteField('vendor_info', 0),
        XShortField('probe_id', 0), ShortField('res3', 0),
        XShortField('spdcid', 0), XShortField('dpdcid', 0),
        ShortField('tx_timestamp', 0), BitField('tsr', 0, 1), BitField('res4', 0, 11), BitField('ftype', 1, 4),
    ]


class Erth(Chained):
    name = 'ERTH'
    fields_desc = [
        BitField('type', 0, 4), BitField('nxt', 0, 5), BitField('res1', 0, 5),
        BitEnumField('op', 0, 2, {0: 'port status update', 1: 'EV probe'}),
        ByteField('res2', 0), XByteField('vendor_info', 0),
        XIntField('port_status_mask', 0),
        IntField('res3', 0),
        ShortField('tx_timestamp', 0), BitField('tsr', 0, 1), BitField('res4', 0, 11), BitField('ftype', 1, 4),
    ]


class Eeth(Chained):
    name = 'EETH'
    fields_desc = [
        BitField('type', 0, 4), BitField('nxt', 0, 5), BitField('res1', 0, 3), BitField('op', 0, 2), BitField('res2', 0, 2),
        BitField('res3', 0, 208),
        ShortField('tx_timestamp', 0),
        BitField('res4', 0, 48),
    ]


class Icrc(Packet):
    """The last four bytes: least significant byte first."""
    name = 'ICRC'
    fields_desc = [BitField('bytes', 0, 32)]


for _port in PORTS:
    bind_layers(UDP, Bth, dport=_port)
for _op in WRITES:
    bind_layers(Bth, Meth, opcode=_op)
bind_layers(Tseth, Reth)
bind_layers(Immdt, Raw)
bind_layers(Bth, Aeth, opcode=0xD1)
bind_layers(Bth, Erth, opcode=0xD8)
bind_layers(Bth, Eeth, opcode=0xD9)
bind_layers(Bth, Seth, opcode=0xDC)
bind_layers(Seth, CcState)
bind_layers(Bth, Neth, opcode=0xDD)
bind_layers(Bth, Peth, opcode=0xDE)


def innermost_ip(frame):
    """The IP layer directly in front of UDP."""
    return frame[UDP].underlayer


def icrc_of(frame):
    """ICRC of a parsed frame (its last four bytes are not looked at): rule by rule on layers, then zlib."""
    ip = innermost_ip(frame).copy()
    if isinstance(ip, IP):
        ip.tos, ip.ttl, ip.chksum = 0xFF, 0xFF, 0xFFFF
    else:
        ip.tc, ip.fl, ip.hlim = 0xFF, 0xFFFFF, 0xFF
    ip[UDP].chksum = 0xFFFF
    ip[Bth].variant = 0xFF
    covered = bytes(ip)
    length = ip.len if isinstance(ip, IP) else ip.plen + 40
    return zlib.crc32(b'\xff' * 8 + covered[:length - 4]) & 0xFFFFFFFF


def faults(raw):
    """What in a frame of ours breaks a rule that holds for each of them, whatever it carries; [] for a good one."""
    frame = parse(raw)
    if Bth not in frame:
        return ['no BTH: ' + frame.summary()]
    found = []

    def need(ok, what):
        if not ok:
            found.append(what)

    ip, udp, bth = innermost_ip(frame), frame[UDP], frame[Bth]
    need(int.from_bytes(raw[-4:], 'little') == icrc_of(frame), 'ICRC')
    need(bth.pkey == 0xFFFF, 'pkey 0x%x' % bth.pkey)
    need(bth.m == 0, 'BTH.m')
    need(udp.chksum == 0 and udp.len == len(udp), 'UDP length, checksum')
    if isinstance(ip, IPv6):
        need(ip.plen == len(udp), 'IPv6 payload length')
    else:
        need(ip.len == len(ip) and ip.flags == 'DF' and ip.id == 0, 'IPv4 length, DF, id')
        fresh = ip.copy()
        del fresh.chksum
        need(IP(bytes(fresh)).chksum == ip.chksum, 'IPv4 checksum')
    layer = bth
    while isinstance(layer, Chained):
        for f in layer.fields_desc:
            need(f.name not in RESERVED or getattr(layer, f.name) == 0, 'reserved %s.%s is not 0' % (layer.name, f.name))
        layer = layer.payload
    return found


def trimmed(frame, keep, dscp, new_lengths):
    """What a switch leaves of a parsed frame: `keep` bytes from the BTH on, `dscp` and ECT(0) on the outermost header, IP and
    UDP lengths old or new."""
    frame = frame.copy()
    outer = frame.getlayer(IP) or frame.getlayer(IPv6)
    if isinstance(outer, IP):
        outer.tos = dscp << 2 | 2
        del outer.chksum
    else:
        outer.tc = dscp << 2 | 2
    raw = bytes(frame)[:len(frame) - len(frame[Bth]) + keep]
    if not new_lengths:
        return raw
    layer = Ether(raw)
    for l in (layer.getlayer(IP), layer.getlayer(IPv6), layer[UDP].underlayer, layer[UDP]):
        if l is None:
            continue
        if isinstance(l, IPv6):
            l.plen = len(l) - 40
        else:
            l.len = len(l)
        if isinstance(l, IP):
            del l.chksum
    return bytes(layer)


def seal(frame):
    """`frame` without ICRC as bytes with it; lengths and checksums are computed by scapy."""
    parsed = frame.__class__(bytes(frame / Icrc()))
    raw = bytes(parsed)
    return raw[:-4] + icrc_of(parsed).to_bytes(4, 'little')


def parse(raw):
    """A frame as layers; Raw at the end holds payload, pad and ICRC."""
    return Ether(raw)


def entropy_of(frame, order='B'):
    """The EV as a responder reflects it (3.5, C7)."""
    ip = innermost_ip(frame)
    flow = ip.fl & 0xFFFF if isinstance(ip, IPv6) else 0
    sport = frame[UDP].sport
    return sport << 16 | flow if order == 'B' else flow << 16 | sport
