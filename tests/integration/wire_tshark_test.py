#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures and packets of ours in tshark's eyes: pcapng, Ethernet, VLAN, IP, SRv6 and UDP. tshark knows no MRC opcode, so
this certifies nothing behind UDP.

  wire_tshark_test.py WIRE_EMIT [SEED]

Exit code 77: tshark is missing (said why).
"""

import shutil
import subprocess
import sys
import tempfile

import wire_lib
from wire_lib import check

FIELDS = ['frame.comment', 'frame.interface_name', 'frame.packet_flags_direction', 'frame.time_epoch', 'frame.protocols',
          'vlan.id', 'ieee8021ad.id', 'ip.src', 'ip.dsfield', 'ip.checksum.status', 'ip.flags.df', 'ip.len', 'ipv6.src',
          'ipv6.dst', 'ipv6.tclass', 'ipv6.flow', 'ipv6.plen', 'ipv6.routing.type', 'ipv6.routing.segleft',
          'ipv6.routing.srh.addr', 'udp.srcport', 'udp.dstport', 'udp.length', 'data.len', '_ws.malformed', '_ws.expert.message']
COUNT = 360
SEPARATOR = '|'


def tshark(path):
    command = ['tshark', '-r', path, '-n', '-o', 'ip.check_checksum:TRUE', '-d', 'udp.port==4791,data', '-T', 'fields',
               '-E', 'separator=' + SEPARATOR, '-E', 'occurrence=a', '-E', 'aggregator=;']
    for f in FIELDS:
        command += ['-e', f]
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    if r.returncode != 0:
        sys.exit('tshark failed: ' + r.stderr)
    return [dict(zip(FIELDS, line.split(SEPARATOR))) for line in r.stdout.splitlines()]


def number(text):
    return int(text, 0)


def check_capture(where, got, meant):
    check(got['frame.comment'] == meant['comment'], '%s: comment %s' % (where, got['frame.comment']))
    check(got['frame.interface_name'] == 'plane%d' % meant['plane'], where + ': interface')
    direction = got['frame.packet_flags_direction']
    check((number(direction) if direction else 0) == meant['direction'], '%s: direction %s' % (where, direction))
    seconds, fraction = got['frame.time_epoch'].split('.')
    check(int(seconds) * 10**9 + int(fraction.ljust(9, '0')) == meant['time_ns'], '%s: time %s' % (where, got['frame.time_epoch']))


def check_packet(where, got, meant):
    check(got['_ws.malformed'] == '', where + ': malformed')
    words = [w for w in got['_ws.expert.message'].split(';') if w not in ('', meant['comment'])]
    # RoCEv2 sends UDP checksum 0 over IPv6 as well; the ICRC covers what it would.
    allowed = ['Illegal checksum value (0)'] if meant['ipv6'] else []
    check(words == allowed, '%s: %s' % (where, words))
    protocols = got['frame.protocols'].split(':')
    ip = ['ipv6'] if meant['ipv6'] else ['ip']
    tail = [p for p in protocols if p in ('ip', 'ipv6', 'ipv6.routing', 'udp', 'data')]
    want = {0: ip, 1: ['ipv6', 'ipv6'], 2: ['ipv6', 'ipv6.routing', 'ipv6']}[meant['encap']] + ['udp', 'data']
    check(tail == want, '%s: layers %s' % (where, got['frame.protocols']))
    vlans = [v for v in (got['ieee8021ad.id'] + ';' + got['vlan.id']).split(';') if v]
    check(len(vlans) == meant['vlan_tags'], '%s: VLANs %s' % (where, vlans))
    check(number(got['udp.srcport']) == meant['sport'] and got['udp.dstport'] == '4791', where + ': ports')
    check(number(got['udp.length']) == number(got['data.len']) + 8, where + ': UDP length')
    if not meant['ipv6']:
        check(got['ip.checksum.status'] == '1', '%s: IPv4 checksum status %s' % (where, got['ip.checksum.status']))
        check(number(got['ip.dsfield']) == meant['tos'], where + ': TOS')
        check(number(got['ip.len']) == number(got['udp.length']) + 20, where + ': IPv4 length')
        return
    classes = [number(x) for x in got['ipv6.tclass'].split(';')]
    labels = [number(x) for x in got['ipv6.flow'].split(';')]
    headers = 2 if meant['encap'] else 1
    check(classes == [meant['tos']] * headers, '%s: classes %s' % (where, classes))
    check(labels == [meant['flow_label']] * headers, '%s: labels %s' % (where, labels))
    lengths = [number(x) for x in got['ipv6.plen'].split(';')]
    check(lengths[-1] == number(got['udp.length']), where + ': payload length')
    if meant['encap']:
        check(lengths[0] == lengths[1] + 40 + (24 if meant['encap'] == 2 else 0), where + ': outer length')
        check(got['ipv6.dst'].split(';')[0] == 'cafe:cafe:43ba:48d6:a43d:e086::', where + ': outer destination')
    if meant['encap'] == 2:
        check(got['ipv6.routing.type'] == '4' and got['ipv6.routing.segleft'] == '1', where + ': SRH')
        check(got['ipv6.routing.srh.addr'] == 'deca:fbad:7777:8888::', '%s: segment %s' % (where, got['ipv6.routing.srh.addr']))


def check_capinfos(path):
    if shutil.which('capinfos') is None:
        print('capinfos not there: file summary not checked')
        return
    text = subprocess.run(['capinfos', path], capture_output=True, text=True, check=True).stdout
    for needle in ('pcapng', 'nanoseconds (9)', 'Number of packets:   %d' % COUNT, 'Name = plane3', 'Capture application: wire_emit'):
        check(needle in text, 'capinfos does not say "%s":\n%s' % (needle, text))


def main():
    if shutil.which('tshark') is None:
        print('skipped: no tshark in PATH; apt-get install tshark')
        return 77
    with tempfile.TemporaryDirectory() as directory:
        path, meant = wire_lib.emitted(sys.argv[1], directory, COUNT, wire_lib.seed(2))
        got = tshark(path)
        check(len(got) == len(meant) == COUNT, '%d packets meant, tshark sees %d' % (len(meant), len(got)))
        for i, (g, m) in enumerate(zip(got, meant)):
            check_capture('packet %d' % (i + 1), g, m)
            check_packet('packet %d' % (i + 1), g, m)
        check_capinfos(path)
    return wire_lib.verdict('%d packets: tshark agrees' % COUNT)


if __name__ == '__main__':
    sys.exit(main())
