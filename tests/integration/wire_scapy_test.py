#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our wire code against scapy, both ways, field by field and with ICRC.

  wire_scapy_test.py MRC_DECODE WIRE_EMIT [SEED]

read:  scapy builds random packets of every opcode over every wrapping, mrc-decode --json must read the same values.
write: wire_emit encodes random packets, scapy must read the values it meant, and recompute the ICRC.
Exit code 77: scapy is missing (said why).
"""

import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import logging
    logging.getLogger('scapy').setLevel(logging.ERROR)
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
    from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
    from scapy.packet import Raw
    from scapy.utils import RawPcapNgReader, wrpcap
    import mrc_scapy as mrc
except ImportError as e:
    print('skipped: no scapy for %s (%s); apt-get install python3-scapy' % (sys.executable, e))
    sys.exit(77)

import wire_lib
from wire_lib import check

PER_OPCODE = 6  # random packets an opcode and wrapping


def wrappings(rng):
    """Name and the layers from Ethernet to the IP header in front of UDP."""
    def eth():
        return Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')

    def ip4():
        return IP(src='10.1.2.%d' % rng.randrange(1, 255), dst='10.3.4.5', tos=rng.choice([0x00, 0x12, 0x22, 0xB8]),
                  id=rng.randrange(65536), flags='DF', ttl=rng.randrange(1, 256))

    def ip6(tc=None, fl=None):
        return IPv6(src='fd00:a::%x' % rng.randrange(1, 65536), dst='fd00:a::2',
                    tc=rng.choice([0x00, 0x12, 0x22, 0xB8]) if tc is None else tc,
                    fl=rng.randrange(1 << 20) if fl is None else fl, hlim=rng.randrange(1, 256))

    def uplink():
        return IPv6(src='fd00:b::1', dst='cafe:cafe:%x:%x:%x::' % tuple(rng.randrange(1, 65536) for _ in range(3)),
                    tc=0x12, fl=rng.randrange(1 << 20))

    def srh():
        return IPv6ExtHdrSegmentRouting(addresses=['deca:fbad:%x::' % rng.randrange(1, 65536)], segleft=1, lastentry=0)

    return {
        'ipv4': lambda: eth() / ip4(),
        'ipv4-vlan': lambda: eth() / Dot1Q(vlan=rng.randrange(1, 4095), prio=rng.randrange(8)) / ip4(),
        'ipv6': lambda: eth() / ip6(),
        'ipv6-qinq': lambda: eth() / Dot1AD(vlan=rng.randrange(1, 4095)) / Dot1Q(vlan=rng.randrange(1, 4095)) / ip6(),
        'srv6': lambda: eth() / uplink() / ip6(tc=0x12),
        'srv6-srh': lambda: eth() / uplink() / srh() / ip6(tc=0x12),
        'srv6-srh-qinq': lambda: eth() / Dot1AD(vlan=7) / Dot1Q(vlan=8) / uplink() / srh() / ip6(tc=0x12),
    }


def randomized(rng, cls, **fixed):
    """`cls` with every field random but the reserved ones."""
    values = {}
    for f in cls.fields_desc:
        name = f.name
        if name in mrc.RESERVED:
            continue
        bits = getattr(f, 'size', None) or f.sz * 8
        values[name] = rng.getrandbits(int(bits))
        if name in ('ack_psn_offset', 'sack_offset') and values[name] >= 1 << 15:
            values[name] -= 1 << 16
    values.update(fixed)
    return cls(**values)


def mrc_packet(rng, opcode):
    """BTH and what follows, without ICRC. Returns it and the payload's length."""
    bth = dict(opcode=opcode, tver=0, pad=0, pkey=rng.choice([0xFFFF, 0x0000, 0x8001]))
    if opcode in mrc.WRITES:
        n = rng.choice([0, 1, 2, 3, 4, 5, 63, 64, 255, 256, 1021])
        pad = -n % 4
        p = randomized(rng, mrc.Bth, **{**bth, 'pad': pad})
        p /= randomized(rng, mrc.Meth)
        if p.ts:
            p /= randomized(rng, mrc.Tseth)
        p /= randomized(rng, mrc.Reth)
        if opcode in mrc.IMMEDIATES:
            p /= randomized(rng, mrc.Immdt)
        body = rng.randbytes(n) + bytes(pad)
        return (p / Raw(body) if body else p), n
    p = randomized(rng, mrc.Bth, **bth)
    if opcode == 0xDC:
        return p / randomized(rng, mrc.Seth) / randomized(rng, mrc.CcState), 0
    return p / randomized(rng, {0xD1: mrc.Aeth, 0xD8: mrc.Erth, 0xD9: mrc.Eeth, 0xDD: mrc.Neth, 0xDE: mrc.Peth}[opcode]), 0


FIELDS = {
    'bth': (mrc.Bth, ('se', 'm', 'pad', 'tver', 'pkey', 'dqp', 'a', 'rtx', 'ts', 'psn')),
    'meth': (mrc.Meth, ('rqmsn', 'msn')),
    'tseth': (mrc.Tseth, ('tx_timestamp', 'tsr', 'ftype')),
    'reth': (mrc.Reth, ('va', 'rkey', 'dmalen')),
    'aeth': (mrc.Aeth, ('syndrome', 'msn')),
    'seth': (mrc.Seth, ('m', 'pr', 'ack_psn_offset', 'entropy', 'spdcid', 'dpdcid', 'cack_psn', 'cc_type', 'cc_fl', 'mpr',
                        'sack_offset', 'sack_bitmap')),
    'cc_state': (mrc.CcState, ('tx_timestamp', 'ooo_count', 'restore_cwnd', 'rcv_cwnd_pen', 'rcvd_bytes')),
    'neth': (mrc.Neth, ('nack_reason', 'vendor_info', 'entropy', 'spdcid', 'dpdcid', 'nack_psn', 'cc_type', 'cc_fl',
                        'tx_timestamp')),
    'peth': (mrc.Peth, ('vendor_info', 'probe_id', 'spdcid', 'dpdcid', 'tx_timestamp', 'tsr', 'ftype')),
    'erth': (mrc.Erth, ('op', 'vendor_info', 'port_status_mask', 'tx_timestamp', 'tsr', 'ftype')),
    'eeth': (mrc.Eeth, ('op', 'tx_timestamp')),
}


def as_number(v):
    return int(v, 16) if isinstance(v, str) else int(v)


def compare_json(where, frame, got, payload, raw):
    """What mrc-decode says of `frame`, a scapy packet sent as the bytes `raw`."""
    check('error' not in got, '%s: error %s' % (where, got.get('error')))
    check(got.get('opcode') == frame[mrc.Bth].opcode and got.get('op') == mrc.OPCODES[frame[mrc.Bth].opcode],
          where + ': opcode')
    for header, (cls, names) in FIELDS.items():
        check((header in got) == (cls in frame), '%s: presence of %s' % (where, header))
        if cls not in frame or header not in got:
            continue
        for name in names:
            want = getattr(frame[cls], name)
            have = got[header].get(name)
            check(have is not None and as_number(have) == want, '%s: %s.%s is %s, sent %s' % (where, header, name, have, want))
        extra = set(got[header]) - set(names) - {'probe_id'}
        check(not extra, '%s: unexpected %s in %s' % (where, extra, header))
    check(('immdt' in got) == (mrc.Immdt in frame), where + ': presence of immdt')
    if mrc.Immdt in frame:
        check(got.get('immdt') == frame[mrc.Immdt].immdt, where + ': immdt')
    if mrc.Seth in frame and frame[mrc.Seth].pr:
        check(got['seth'].get('probe_id') == frame[mrc.Seth].ack_psn_offset & 0xFFFF, where + ': probe_id')
    check(got.get('entropy') == mrc.entropy_of(frame), where + ': entropy')
    check(got.get('payload_len') == payload, '%s: payload_len %s, sent %s' % (where, got.get('payload_len'), payload))
    check(got.get('trimmed') is False, where + ': trimmed')
    icrc = int.from_bytes(raw[-4:], 'little')
    check(got.get('icrc') == {'ok': True, 'got': icrc, 'want': icrc}, where + ': icrc %s' % got.get('icrc'))
    compare_around(where, frame, got)


def compare_around(where, frame, got):
    ip = mrc.innermost_ip(frame)
    check(got['ip']['src'] == ip.src and got['ip']['dst'] == ip.dst, where + ': addresses')
    tos = ip.tos if isinstance(ip, IP) else ip.tc
    check(got['ip']['dscp'] == tos >> 2 and got['ip']['ecn'] == tos & 3, where + ': DSCP, ECN')
    check(got['udp']['sport'] == frame[UDP].sport and got['udp']['dport'] == frame[UDP].dport, where + ': ports')
    tags = [l.vlan for l in (frame.getlayer(Dot1AD), frame.getlayer(Dot1Q)) if l is not None]
    check([v['vid'] for v in got['eth'].get('vlan', [])] == tags, where + ': VLANs')
    outer = frame[IPv6] if frame.getlayer(IPv6) is not None and frame[IPv6] is not ip else None
    check(('srv6' in got) == (outer is not None), where + ': presence of srv6')
    if outer is not None:
        srh = frame.getlayer(IPv6ExtHdrSegmentRouting)
        check(got['srv6']['dst'] == outer.dst, where + ': srv6.dst')
        check(got['srv6']['segments'] == (srh.addresses if srh is not None else []), where + ': srv6.segments')


def decode(mrc_decode, path, expect_code, *options):
    r = subprocess.run([mrc_decode, '--json', path, *options], capture_output=True, text=True, check=False)
    check(r.returncode == expect_code, 'mrc-decode %s: exit code %d, expected %d; %s' % (path, r.returncode, expect_code, r.stderr))
    return [json.loads(line) for line in r.stdout.splitlines()]


def test_read(rng, mrc_decode, directory):
    sent = []
    for name, make in wrappings(rng).items():
        for opcode in mrc.OPCODES:
            for k in range(PER_OPCODE):
                body, payload = mrc_packet(rng, opcode)
                udp = UDP(sport=rng.randrange(65536), dport=rng.choice(mrc.PORTS), chksum=0)
                raw = mrc.seal(make() / udp / body)
                sent.append(('%s %s #%d' % (name, mrc.OPCODES[opcode], k), raw, payload))
    path = os.path.join(directory, 'scapy.pcap')
    wrpcap(path, [raw for _, raw, _ in sent], linktype=1, nano=True)
    got = decode(mrc_decode, path, 0)
    check(len(got) == len(sent), '%d packets sent, %d decoded' % (len(sent), len(got)))
    for (where, raw, payload), g in zip(sent, got):
        compare_json(where, mrc.parse(raw), g, payload, raw)
    print('read: %d packets of scapy' % len(sent))
    return path, sent


def test_damage(rng, mrc_decode, directory, sent):
    """One flipped payload or header bit behind the BTH's opcode must be seen by the ICRC."""
    damaged = []
    for where, raw, _ in rng.sample(sent, 100):
        frame = mrc.parse(raw)
        first = len(raw) - len(frame[UDP].payload)
        at = rng.randrange(first + 5, len(raw))
        b = bytearray(raw)
        b[at] ^= 1 << rng.randrange(8)
        damaged.append((where + ', bit flipped in byte %d' % at, bytes(b)))
    path = os.path.join(directory, 'damaged.pcap')
    wrpcap(path, [b for _, b in damaged], linktype=1)
    for (where, _), got in zip(damaged, decode(mrc_decode, path, 1)):
        check('error' in got and got.get('icrc', {}).get('ok') is False, where + ': not found: %s' % got)
    print('damage: %d packets' % len(damaged))


def test_trimmed(rng, mrc_decode, directory):
    """What a switch leaves: DSCP 12 or 16 on the outermost header, cut anywhere behind METH and TSETH, lengths old or new."""
    cut = []
    for name, make in wrappings(rng).items():
        for lasthop in (False, True):
            for new_lengths in (False, True):
                body = (mrc.Bth(opcode=0xCA, ts=1, dqp=0xB2, psn=rng.getrandbits(24)) / mrc.Meth(msn=rng.getrandbits(16)) /
                        mrc.Tseth(tx_timestamp=rng.getrandbits(16)) / mrc.Reth(dmalen=1000) / Raw(bytes(1000)))
                frame = mrc.parse(mrc.seal(make() / UDP(sport=rng.randrange(65536), dport=4791, chksum=0) / body))
                raw = mrc.trimmed(frame, rng.randrange(20, 120), 16 if lasthop else 12, new_lengths)
                cut.append(('%s lasthop %s new lengths %s' % (name, lasthop, new_lengths), frame, raw, lasthop))
    path = os.path.join(directory, 'trimmed.pcap')
    wrpcap(path, [raw for _, _, raw, _ in cut], linktype=1)
    for (where, frame, _, lasthop), got in zip(cut, decode(mrc_decode, path, 0)):
        check(got.get('trimmed') is True and got.get('trimmed_lasthop', False) == lasthop, 'trimmed %s: %s' % (where, got))
        check('icrc' not in got, 'trimmed %s: icrc' % where)
        check(got.get('bth', {}).get('psn') == frame[mrc.Bth].psn, 'trimmed %s: psn' % where)
        check(got.get('tseth', {}).get('tx_timestamp') == frame[mrc.Tseth].tx_timestamp, 'trimmed %s: timestamp' % where)
        check(got.get('entropy') == mrc.entropy_of(frame), 'trimmed %s: entropy' % where)
    print('trimmed: %d packets' % len(cut))


def compare_meant(where, frame, meant):
    for header, (cls, _) in {**FIELDS, 'immdt': (mrc.Immdt, ('immdt',))}.items():
        check((header in meant) == (cls in frame), '%s: presence of %s' % (where, header))
        if header not in meant or cls not in frame:
            continue
        for name, want in meant[header].items():
            check(getattr(frame[cls], name) == want, '%s: %s.%s is %s, meant %s' % (where, header, name, getattr(frame[cls], name), want))


def compare_wrapping(where, frame, meant):
    ip = mrc.innermost_ip(frame)
    check(isinstance(ip, IPv6) == meant['ipv6'], where + ': IP version')
    check(len([1 for c in (Dot1AD, Dot1Q) if c in frame]) == meant['vlan_tags'], where + ': VLAN tags')
    check((ip.tc if meant['ipv6'] else ip.tos) == meant['tos'], where + ': TOS')
    check(frame[UDP].sport == meant['sport'] and frame[UDP].dport == 4791, where + ': ports')
    if meant['ipv6']:
        check(ip.fl == meant['flow_label'], where + ': flow label')
    if meant['encap'] != 0:
        outer = frame[IPv6]
        check(outer is not ip and outer.dst == 'cafe:cafe:43ba:48d6:a43d:e086::', where + ': outer destination')
        check(outer.plen == len(outer) - 40, where + ': outer length')
        check(outer.tc == meant['tos'] and outer.fl == meant['flow_label'], where + ': outer class and label')
        srh = frame.getlayer(IPv6ExtHdrSegmentRouting)
        check((srh is not None) == (meant['encap'] == 2), where + ': SRH')
        if srh is not None:
            check((srh.type, srh.segleft, srh.lastentry, srh.len, srh.nh) == (4, 1, 0, 2, 41), where + ': SRH fields')
            check(srh.addresses == ['deca:fbad:7777:8888::'], where + ': SRH segment')


def test_write(wire_emit, directory, seed):
    path, meant = wire_lib.emitted(wire_emit, directory, 288, seed)
    packets = list(RawPcapNgReader(path))
    check(len(packets) == len(meant) == 288, '%d packets meant, %d in the file' % (len(meant), len(packets)))
    for i, ((raw, info), m) in enumerate(zip(packets, meant)):
        where = 'emitted packet %d' % (i + 1)
        found = mrc.faults(raw)
        check(not found, '%s: %s' % (where, found))
        frame = mrc.parse(raw)
        if mrc.Bth not in frame:
            continue
        compare_meant(where, frame, m)
        compare_wrapping(where, frame, m)
        if 'payload' in m:
            payload = bytes.fromhex(m['payload'])
            body = bytes(frame[Raw].load)
            check(body[:-4] == payload + bytes(-len(payload) % 4), where + ': payload and pad')
        check((info.tshigh << 32 | info.tslow) == m['time_ns'], where + ': time')
        check(info.tsresol == 1000000000, where + ': resolution')
    print('write: %d packets of ours' % len(packets))
    return path, meant


def main():
    mrc_decode, wire_emit = sys.argv[1:3]
    seed = wire_lib.seed(3)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        _, sent = test_read(rng, mrc_decode, directory)
        test_damage(rng, mrc_decode, directory, sent)
        test_trimmed(rng, mrc_decode, directory)
        path, meant = test_write(wire_emit, directory, seed)
        # The same file through our own reader: what is meant, read and printed agree.
        for m, got in zip(meant, decode(mrc_decode, path, 0)):
            check(got['bth']['psn'] == m['bth']['psn'] and got['interface_name'] == 'plane%d' % m['plane'], 'mrc-decode on ours')
    return wire_lib.verdict('all equal')


if __name__ == '__main__':
    sys.exit(main())
