#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mrc-decode as its users meet it: exit codes, first command, one line for a malformed packet, captures of all kinds.

  mrc_decode_test.py MRC_DECODE VECTORS.json
"""

import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile

PROGRAM, VECTORS = sys.argv[1:3]
FAILURES = 0
with open(VECTORS, encoding='utf-8') as f:
    HEX = {v['name']: v['hex'] for v in json.load(f)['vectors']}
V4 = HEX['V01-IPv4 full packet with ICRC']
V6 = HEX['V11-IPv6 full packet with ICRC']
ETH4 = bytes.fromhex('0200000000020200000000010800')
ARP = bytes.fromhex('ffffffffffff0200000000010806') + bytes(46)


def check(ok, what):
    global FAILURES
    if not ok:
        FAILURES += 1
        print('FAILED: ' + what)


def run(*args, stdin=None):
    return subprocess.run([PROGRAM, *args], capture_output=True, check=False, input=stdin)


def expect(code, needle, *args, stdin=None):
    """Exit code, and `needle` somewhere in what was said. Returns standard output's lines."""
    r = run(*args, stdin=stdin)
    said = (r.stdout + r.stderr).decode()
    check(r.returncode == code, '%s: exit code %d, expected %d: %s' % (args, r.returncode, code, said))
    check(needle in said, '%s: no "%s" in: %s' % (args, needle, said))
    return r.stdout.decode().splitlines()


def pcap(packets, link=1, snap=65535, magic=0xA1B2C3D4):
    out = struct.pack('<IHHiIII', magic, 2, 4, 0, 0, snap, link)
    for i, p in enumerate(packets):
        out += struct.pack('<IIII', 1700000000, i, min(len(p), snap), len(p)) + p[:snap]
    return out


def test_command_line():
    r = run()
    check(r.returncode == 2, 'no arguments: exit code 2')
    command = next((l for l in r.stderr.decode().splitlines() if 'mrc-decode --ip-hex' in l), None)
    check(command is not None, 'no arguments: a first command')
    if command is not None:
        check(shlex.split(command)[0] == PROGRAM, 'the first command starts what was started: ' + command)
        expect(0, 'Acknowledge', *shlex.split(command)[1:])
    expect(2, '--bogus', '--bogus')
    expect(2, 'no hex digit', '--ip-hex', '45xx')
    expect(2, 'half a byte', '--ip-hex', '451')
    expect(2, 'no bytes', '--ip-hex', ' ')
    expect(2, '--dscp', '--dscp', '0,4,8,12,12,46', '--ip-hex', V4)
    expect(2, 'cannot be opened', '/does/not/exist.pcap')
    expect(0, 'mrc-decode', '--version')


def test_hex():
    expect(0, 'icrc     e13f6ed1 ok', '--ip-hex', V4)
    expect(0, 'Reliability SACK', '--ip-hex', ' '.join(V6[i:i + 2] for i in range(0, len(V6), 2)))
    expect(0, 'mask', '--explain-icrc', '--ip-hex', V4)
    bad = V4[:-2] + '00'
    lines = expect(1, 'WRONG, should be e13f6ed1', '--ip-hex', bad)
    check(lines[-1].count('malformed at byte 68: icrc:') == 1, 'bad ICRC: last line says so')
    for hexes, byte, reason in ((V4[:120], 2, 'ip_length'), ('55' + V4[2:], 0, 'ip_version'), (V4[:4], 2, 'too_short'),
                                (V4[:56] + 'cc' + V4[58:], 28, 'opcode')):
        lines = expect(1, 'malformed at byte %d: %s' % (byte, reason), '--ip-hex', hexes)
        check(len(lines) == 1, 'a malformed packet is one line, not %d' % len(lines))
        got = json.loads(run('--json', '--ip-hex', hexes).stdout)
        check(got['error_byte'] == byte and got['reason'] == reason, 'JSON of a malformed packet: %s' % got)
    expect(0, 'probe_id', '--ib-hex', HEX['V17 Reliability Probe Request'])
    expect(1, 'exactly 16 bytes behind the BTH, there are 12', '--ib-hex', HEX['V17 Reliability Probe Request'][:-8])
    orders = [json.loads(run('--json', '--ev-order', o, '--ip-hex', V6).stdout)['entropy'] for o in 'AB']
    check(orders == [0x56781234, 0x12345678], 'EV orders: %s' % orders)
    expect(1, 'udp_port', '--ports', '5000', '--ip-hex', V4)
    expect(0, 'icrc     e13f6ed1 ok (bytes in packet order)', '--ports', '4791,5000', '--ip-hex', V4)


def test_words_of_others(directory):
    """Names and comments in a capture, and arguments, reach a terminal as visible characters only."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)

    def option(code, value):
        return struct.pack('<HH', code, len(value)) + value + bytes(-len(value) % 4)

    evil = b'\x1b]0;owned\x07\x1b[31mred\nfake: packet 2 fine\xc2\x9b31m\xe2\x80\xaereverse\x9b\x7f\xff'
    data = bytes.fromhex(V4)
    path = os.path.join(directory, 'evil.pcapng')
    with open(path, 'wb') as f:
        f.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
        f.write(block(1, struct.pack('<HHI', 101, 0, 0) + option(2, evil)))
        f.write(block(6, struct.pack('<IIIII', 0, 0, 0, len(data), len(data)) + data + bytes(-len(data) % 4) +
                      option(1, evil)))
    for args in ([path], ['--json', path], ['--ip-hex', '\x1b[31m'], [path + '\x1b[2J\x9b'], ['--\x1b[2J'],
                 ['--ports', '\x1b[2J', path]):
        r = run(*args)
        said = (r.stdout + r.stderr)
        bad = [c for c in said.decode('utf-8') if (c < ' ' and c != '\n') or '\x7f' <= c <= '\x9f' or c == '\u202e']
        check(not bad and said, '%s: raw %r in %r' % (args, bad, said))
    check(len(run(path).stdout.splitlines()) == len(run('--ip-hex', V4).stdout.splitlines()),
          'a newline in a comment is no new line')


def test_files(directory):
    expect(2, 'is a directory; name the captures in it', directory)
    path = os.path.join(directory, 'one.pcap')
    with open(path, 'wb') as f:
        f.write(pcap([ETH4 + bytes.fromhex(V4)]))
    expect(0, 'Write', '--ports', '4791,5000', path)
    expect(0, 'Write', '--ports', '4791', path)
    expect(0, 'Write', '--dscp', '0,4,8,12,16,46', path)


def test_captures(directory):
    def write(name, content):
        path = os.path.join(directory, name)
        with open(path, 'wb') as out:
            out.write(content)
        return path
    frame = ETH4 + bytes.fromhex(V4)
    mixed = write('mixed.pcap', pcap([ARP, frame]))
    lines = expect(0, 'not MRC at byte 12: ethertype', mixed)
    check(lines[0].startswith('packet 1  1700000000.000000000  60 bytes'), 'title: %s' % lines[0])
    objects = [json.loads(l) for l in expect(0, 'not_mrc', '--json', mixed)]
    check([o['packet'] for o in objects] == [1, 2] and objects[0]['not_mrc'] is True, 'one object a packet')
    expect(0, 'RDMA Write Only', '-', stdin=pcap([frame]))
    expect(2, 'no MRC packet among 1', write('arp.pcap', pcap([ARP])))
    expect(2, 'no MRC packet among 0', write('empty.pcap', pcap([])))
    expect(1, 'opcode', write('roce.pcap', pcap([frame, frame[:42] + b'\x04' + frame[43:]])))
    lines = expect(2, 'ends inside this record', write('cut.pcap', pcap([frame, frame])[:-5]))
    check(any('RDMA Write Only' in l for l in lines), 'packets in front of the damage are shown')
    expect(0, 'Write Only', write('raw.pcap', pcap([bytes.fromhex(V4)], link=101)))
    cooked = bytes(14) + b'\x08\x00' + bytes.fromhex(V4)
    expect(0, 'Write Only', write('sll.pcap', pcap([cooked, bytes(14) + b'\x08\x06' + bytes(28)], link=113)))
    expect(2, 'link type 147', write('link.pcap', pcap([frame], link=147)))
    # A snap length is told from a trim: what is there is shown, the ICRC is absent.
    got = json.loads(expect(0, 'snapped', '--json', write('snap.pcap', pcap([frame], snap=78)))[0])
    check(got['snapped'] is True and 'icrc' not in got and got['trimmed'] is False and got['payload_len'] == 8, 'snapped: %s' % got)
    expect(2, 'no MRC packet among 1', write('snap20.pcap', pcap([frame], snap=20)))
    check('incomplete' in run(os.path.join(directory, 'snap20.pcap')).stdout.decode(), 'snap length that cuts headers')


def main():
    test_command_line()
    test_hex()
    with tempfile.TemporaryDirectory() as directory:
        test_captures(directory)
        test_words_of_others(directory)
        test_files(directory)
    print('%d failures' % FAILURES)
    return 1 if FAILURES else 0


if __name__ == '__main__':
    sys.exit(main())
