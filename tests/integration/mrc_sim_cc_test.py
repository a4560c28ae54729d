#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mrc-sim cc as a team with RTL meets it: the published vectors line by line, hostile lines, a conversation over pipes.

  mrc_sim_cc_test.py MRC_SIM
"""

import json
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
FAILURES = 0
CHECKS = 0
TOLERANCE = 5e-3  # bytes; the vectors are printed with two to five digits
V1 = {'rate_bps': 100e9, 'base_rtt_ns': 12000, 'mtu_bytes': 4096}
EXACT = {'choices': {'average': 'last_sample'}, 'adjust_period_threshold_ns': 10**12, 'send_test': 'uet'}
STATE = ('cwnd wmax inflight inc ach rcv qa_end ign_goal ign_done trig fast clean saved base avg '
         't_adj t_dec t_avg').split()


def check(ok, what):
    global FAILURES, CHECKS
    CHECKS += 1
    if not ok:
        FAILURES += 1
        print('FAILED: ' + what)


def run(lines, *args):
    text = lines if isinstance(lines, bytes) else ''.join(
        (l if isinstance(l, str) else json.dumps(l)) + '\n' for l in lines).encode()
    return subprocess.run([PROGRAM, 'cc', *args], input=text, capture_output=True, check=False)


def config(cwnd=None, inflight=0, link=V1, **extra):
    c = dict(link, **EXACT)
    c.update(extra)
    state = dict(c.get('state', {}), inflight=inflight)
    if cwnd is not None:
        state['cwnd'] = cwnd
    c['state'] = state
    return c


def ack(t, delay=None, marked=False, n=4096, **extra):
    e = {'t_ns': t, 'event': 'ack', 'bytes': n, 'marked': marked, **extra}
    if delay is not None:
        e['delay_ns'] = delay
    return e


def acks(count, t, delay, marked=False, n=4096):
    return [ack(t + 1000 * i, delay, marked, n) for i in range(count)]


def nack(t, reason, n):
    return {'t_ns': t, 'event': 'nack', 'bytes': n, 'reason': reason}


def event(kind, t, n):
    return {'t_ns': t, 'event': kind, 'bytes': n}


def play(name, *lines):
    """All answers; lines[0] is a configuration."""
    r = run(lines)
    check(r.returncode == 0, '%s: exit code %d: %s' % (name, r.returncode, r.stderr.decode()))
    answers = [json.loads(l) for l in r.stdout.decode().splitlines()]
    check(len(answers) == len(lines), '%s: %d answers to %d lines' % (name, len(answers), len(lines)))
    return answers


def expect(name, answer, **want):
    for key, value in want.items():
        got = answer[key]
        same = abs(got - value) <= TOLERANCE if isinstance(value, float) else got == value and type(got) is type(value)
        check(same, '%s: %s is %r, not %r' % (name, key, got, value))


def test_v01_derivation():
    rows = [  # rate Gb/s, base RTT, trimming: target, alpha, fi, fi_scale, eta, MaxWnd
        (100, 12000, True, 9000, 4096 / 3000, 20480, .25, 614.4, 225000),
        (400, 12000, True, 9000, 4 * 4096 / 3000, 81920, 1, 2457.6, 900000),
        (400, 12000, False, 12000, 4 * 4096 / 3000, 81920, 1, 2457.6, 900000),
        (800, 12000, True, 9000, 8 * 4096 / 3000, 163840, 2, 4915.2, 1800000),
        (400, 8000, True, 6000, 3.640889, 54613.333, .6666667, 1638.4, 600000)]
    for rate, rtt, trim, target, alpha, fi, fi_scale, eta, wmax in rows:
        a = play('V01', {'rate_bps': rate * 1e9, 'base_rtt_ns': rtt, 'mtu_bytes': 4096, 'trimming': trim})[0]
        expect('V01', a, event='config', target_delay_ns=target, max_cwnd_bytes=wmax, cwnd=wmax, wmax=wmax, base=rtt,
               inflight=0, gamma=0.8, max_md_jump=0.5, qa_gate=3, disable_qa=False,
               qa_threshold_ns=None if trim else 4 * target, adjust_bytes_threshold=32768, adjust_period_threshold_ns=rtt)
        for key, value in (('alpha', alpha), ('fi', fi), ('fi_scale', fi_scale), ('eta', eta)):
            check(abs(a[key] / value - 1) < 1e-6, 'V01: %s is %r, not %r' % (key, a[key], value))


def test_v02_to_v04_quadrants():
    a = play('V02', config(100000), *acks(9, 1000, 3000))
    expect('V02', a[8], cwnd=100000, inc=268435456, rcv=32768)
    expect('V02', a[9], cwnd=103019.89888, inc=0, rcv=0, qa_end=22000)
    expect('V03', play('V03', config(100000), *acks(9, 1000, 9000))[-1], cwnd=107549.7472)
    expect('V04', play('V04', config(100000), *acks(9, 1000, 8999, True))[-1], cwnd=100000, rcv=0)


def test_v05_to_v08_decrease_and_eta():
    for delay, cwnd in ((9000, 100000.), (9128, 98878.177), (10000, 92000.), (12000, 80000.), (13500, 73333.333),
                        (18000, 60000.), (24000, 50000.), (36000, 50000.)):
        expect('V05 d=%d' % delay, play('V05', config(100000), ack(12001, delay, True))[1], cwnd=cwnd)
    a = play('V06', config(100000), *[ack(t, 18000, True) for t in (12000, 12001, 24001, 24002)])
    for got, cwnd in zip(a[1:], (100000., 60000., 60000., 36000.)):
        expect('V06', got, cwnd=cwnd)
    ewma = {'choices': {'average': 'ewma_quarter'}}
    a = play('V07', config(100000, state={'fast': True, 'clean': 5000}, **ewma), ack(14000, 9000, True))
    expect('V07 low average', a[1], cwnd=100000, fast=False, clean=0, avg=2250)
    a = play('V07', config(100000, state={'avg': 50000}, **ewma), ack(15000, 8999, True))
    expect('V07 high average', a[1], cwnd=100000, avg=39749.75)
    a = play('V08', config(100000, adjust_period_threshold_ns=12000),
             *[ack(t, 3000, True) for t in (11999, 12000, 23999, 24000)])
    for got, cwnd, t_adj in zip(a[1:], (100000., 100614.4, 100614.4, 101228.8), (0, 12000, 12000, 24000)):
        expect('V08', got, cwnd=cwnd, t_adj=t_adj)


def test_v10_fast_increase():
    a = play('V10', config(12288), *acks(6, 1000, 0), ack(7000, 1000), ack(8000, 0))
    for got, clean in zip(a[1:4], (4096, 8192, 12288)):
        expect('V10', got, cwnd=12288, clean=clean, fast=False)
    expect('V10', a[3], inc=150994944)
    for got, cwnd in zip(a[4:7], (13312, 14336, 15360)):
        expect('V10', got, cwnd=cwnd, fast=True)
    expect('V10', a[7], fast=False, clean=0, inc=195734186.667, cwnd=15360)
    expect('V10', a[8], fast=False, clean=4096)


def test_v11_to_v15_quick_adapt():
    start = [config(225000, 120000), nack(5000, 'TRIMMED', 4096)]
    a = play('V11', *start, *acks(5, 6000, 3000, True), ack(25999, 3000, True))
    expect('V11', a[1], cwnd=220904, inflight=115904, ign_done=4096, trig=True, qa_end=26000)
    expect('V11 early', a[7], cwnd=220904, ach=24576)
    a = play('V11', *start, *acks(5, 6000, 3000, True), ack(26000, 3000, True))
    expect('V11', a[7], cwnd=24576, ign_goal=91328, inflight=91328, ign_done=0, trig=False, ach=0, qa_end=47000)
    a = play('V13', *start, *acks(6, 6000, 3000, True), ack(26000, 3000, True))
    expect('V13', a[8], cwnd=220904, trig=True, ach=0, qa_end=47000)
    a = play('V15', config(225000, 120000, disable_qa=True), start[1], *acks(5, 6000, 3000, True), ack(26000, 3000, True))
    expect('V15', a[1], cwnd=220904)
    expect('V15', a[7], cwnd=220904)


def test_v16_to_v18_nacks_and_losses():
    for reason in ('TRIMMED', 'TRIMMED_LASTHOP', 1, 2):
        a = play('V16', config(50000, 40000), nack(5000, reason, 4136))
        expect('V16 %s' % reason, a[1], cwnd=45864, inflight=35864, ign_done=4136, avg=12000, trig=True, qa_end=26000)
    a = play('V16', config(50000, 40000, choices={'average': 'last_sample', 'lasthop_credited': True}),
             nack(5000, 'TRIMMED_LASTHOP', 4136))
    expect('V16 credited', a[1], cwnd=50000, inflight=35864, ign_done=4136, avg=12000, trig=False)
    for reason in ('NO_BITMAP', 'NO_PKT_BUFFER', 'NO_RESOURCE', 'PSN_OOR_WINDOW', 'UNEXP_EVENT', 7, 0x19):
        a = play('V16', config(50000, 40000), nack(5000, reason, 4136))
        expect('V16 %s' % reason, a[1], cwnd=50000, inflight=35864, ign_done=0, avg=0, qa_end=0, trig=False)
    expect('V17', play('V17', config(5000, 10000), nack(5000, 'TRIMMED', 4136))[1], cwnd=4096)
    for kind in ('loss', 'timeout'):
        expect('V17', play('V17', config(5000, 10000), event(kind, 5000, 4136))[1], cwnd=4096)
        a = play('V18', config(50000, 40000), event(kind, 5000, 4136))
        expect('V18 ' + kind, a[1], cwnd=45864, inflight=35864, ign_done=4136, qa_end=0, trig=False)


def test_v19_penalty():
    a = play('V19', config(100000, 64096), ack(1000, 3000, pen=64), ack(2000, 3000, pen=127),
             ack(3000, 3000, pen=0, restore=True))
    expect('V19', a[1], inflight=60000, cwnd=57952, saved=100000, inc=0)
    expect('V19', a[2], inflight=55904, cwnd=51840)
    expect('V19', a[3], cwnd=100000, saved=0, inc=33554432)
    a = play('V19', config(100000, 64096), ack(1000, pen=64))
    expect('V19 without RTT', a[1], cwnd=57952, qa_end=0)


def test_v21_to_v24_samples():
    for resends, rtx, valid in ((0, False, True), (0, True, False), (1, False, False), (1, True, True), (2, False, False),
                                (2, True, False)):
        a = play('V21', config(100000), ack(1000, 3000, resends=resends, rtx=rtx))
        expect('V21 %d %s' % (resends, rtx), a[1], qa_end=22000 if valid else 0)
    a = play('V23', config(), event('send', 0, 300), {'t_ns': 1, 'event': 'ack', 'rcvd_bytes': 2})
    expect('V23', a[2], inflight=-212, may_send=True)
    a = play('V23', config(inflight=9000), {'t_ns': 1, 'event': 'ack', 'rcvd_bytes': 8},
             {'t_ns': 2, 'event': 'ack', 'rcvd_bytes': 6}, {'t_ns': 3, 'event': 'ack', 'rcvd_bytes': 8})
    expect('V23 old SACKs', a[3], inflight=9000 - 2048, ach=2048)
    now = 0x10010 * 128
    a = play('V24', config(), {'t_ns': now, 'event': 'ack', 'bytes': 0, 'tx_timestamp': 0xFFF0})
    expect('V24', a[1], base=4096)


def test_v25_v26_send_and_ack_request():
    for test, inflight, may in (('uet', 4096, True), ('uet', 4097, False), ('mrc', 8191, True), ('mrc', 8192, False)):
        expect('V25 %s %d' % (test, inflight), play('V25', config(8192, inflight, send_test=test))[0], may_send=may)
    for cwnd, inflight, wants in ((20000, 15904, False), (20000, 15905, True), (16383, 0, True), (16383, 100, True)):
        expect('V26 %d %d' % (cwnd, inflight), play('V26', config(cwnd, inflight))[0], ack_req=wants)


def test_v33_published_unit_checks():
    link = {'rate_bps': 1.2e12, 'base_rtt_ns': 10000, 'mtu_bytes': 1000}
    expect('V33', play('V33', link)[0], target_delay_ns=7500, max_cwnd_bytes=2250000, fi_scale=2.5)
    for marked, delay, cwnd in ((False, 2000, 1000165.), (False, 15000, 1000450.), (True, 15000, 600000.),
                                (True, 2000, 1000000.)):
        a = play('V33', config(1000000, link=link), *acks(9, 11000, delay, marked, 1000))
        expect('V33', a[-1], cwnd=cwnd)
    a = play('V33', config(1000000, 53000, link=link), nack(1000, 'TRIMMED', 1000), *acks(11, 2000, 2000, True, 1000),
             ack(18500, 2000, True, 1000), *acks(40, 19500, 20000, True, 1000))
    expect('V33', a[13], inflight=40000, cwnd=12000)
    expect('V33', a[52], cwnd=12000)
    expect('V33', a[53], cwnd=6000)
    a = play('V33', config(3000, link=link), *acks(4, 1000, 0, False, 1000))
    expect('V33', a[3], cwnd=3000)
    expect('V33', a[4], cwnd=5500)


def test_late_and_uncharged():
    a = play('D7', config(50000, 8272), event('loss', 1000, 4136), event('late', 2000, 4136), ack(3000, 3000, n=8448),
             dict(nack(4000, 'TRIMMED', 4136), charged=False))
    expect('D7', a[2], inflight=8272)
    expect('D7', a[3], inflight=-176)
    expect('D7 uncharged', a[4], inflight=-176)


def test_resume_and_determinism():
    lines = [config(60000, 50000)] + [l for i in range(40) for l in (
        ack(1000 * i + 1000, 137 * i % 15000, i % 3 == 0), nack(1000 * i + 1500, 1 if i % 7 == 0 else 7, 4096),
        event('send', 1000 * i + 1600, 4136))]
    whole = run(lines).stdout
    check(whole == run(lines).stdout, 'the same lines, the same bytes')
    answers = [json.loads(l) for l in whole.decode().splitlines()]
    middle = answers[60]
    again = config(start_ns=middle['t_ns'])
    again['state'] = {k: middle[k] for k in STATE}
    rest = run([again] + lines[61:]).stdout.splitlines()[1:]
    check(rest == whole.splitlines()[61:], 'a state printed and read back goes on with the same bytes')
    with tempfile.NamedTemporaryFile('w', suffix='.jsonl') as f:
        f.write(''.join(json.dumps(l) + '\n' for l in lines))
        f.flush()
        check(run(b'', f.name).stdout == whole, 'the same from a file')
    a = play('config twice', V1, ack(1000, 3000), dict(V1, event='config'), ack(5, 3000))
    expect('config twice', a[3], t_ns=5, rcv=4096)
    a = play('htsim', dict(V1, preset='htsim', mss_bytes=4032))
    expect('htsim', a[0], choices=dict(a[0]['choices'], average='ewma_htsim', strict_due=True), fi=20160)


def test_hostile():
    good = json.dumps(V1)
    bad = [  # lines, number of the wrong one, words of the message
        ([], 0, 'first line configures'), (['', '  '], 2, 'first line configures'),
        (['{'], 1, 'not JSON from byte'), (['[]'], 1, 'not an object'), (['7'], 1, 'not an object'),
        (['{"rate_bps":100e9,"rate_bps":1}'], 1, 'stands twice'), ([ack(1, 2)], 1, 'before any configuration'),
        (['{"rate_bps":100e9}'], 1, 'no base_rtt_ns'), ([dict(V1, rate_bps=0)], 1, 'rate'),
        ([dict(V1, rate_bps=-1)], 1, 'rate_bps is -1'), ([dict(V1, mtu_bytes=0)], 1, 'from 1 to 65535'),
        ([dict(V1, mtu_bytes=4096.5)], 1, 'a whole number'), ([dict(V1, gamma=1.5)], 1, 'gamma'),
        ([dict(V1, qa_gate=99)], 1, 'qa_gate'), ([dict(V1, qa_treshold_ns=5)], 1, 'unknown key "qa_treshold_ns"'),
        ([dict(V1, preset='best')], 1, 'uet or htsim'), ([dict(V1, send_test='x')], 1, 'mrc or uet'),
        ([dict(V1, choices={'average': 'mean'})], 1, 'last_sample'), ([dict(V1, choices={'x': 1})], 1, 'choices.x'),
        ([dict(V1, choices=[])], 1, 'an object'), ([dict(V1, state={'cwnd': 10})], 1, 'state.cwnd'),
        ([dict(V1, state={'base': 0})], 1, 'state.base'), ([dict(V1, rate_bps=1e15, base_rtt_ns=10**12)], 1, 'max_cwnd'),
        ([good, '{"t_ns":1}'], 2, 'no event'), ([good, '{"t_ns":1,"event":"akc"}'], 2, 'one of ack'),
        ([good, '{"t_ns":1,"event":5}'], 2, 'no string'), ([good, '{"event":"ack","bytes":1}'], 2, 'no t_ns'),
        ([good, '{"event":"ack","t_ns":1}'], 2, 'no bytes'), ([good, ack(-1, 0)], 2, 't_ns is -1'),
        ([good, ack(5, 0), ack(4, 0)], 3, 'must not lie before 5'), ([good, ack(1, -1)], 2, 'delay_ns is -1'),
        ([good, ack(1, 0, n=2**33)], 2, 'bytes is'), ([good, ack(1, 0, n=2**64)], 2, 'bytes is'),
        ([good, ack(1, 0, n='x')], 2, 'bytes is'), ([good, ack(1, 0, pen=128)], 2, 'from 0 to 127'),
        ([good, ack(1, 0, rtt_ns=5)], 2, 'keep one'), ([good, ack(1, 0, marked=1)], 2, 'true or false'),
        ([good, ack(1, 0, rcvd_bytes=1)], 2, 'keep one'), ([good, ack(1, 0, reason=1)], 2, 'unknown key "reason"'),
        ([good, event('nack', 1, 4)], 2, 'no reason'), ([good, nack(1, 'TRIM', 4)], 2, 'NO_PKT_BUFFER (0x07)'),
        ([good, nack(1, 3, 4)], 2, 'reason is 3'), ([good, nack(1, None, 4)], 2, 'reason is null'),
        ([good, '{"t_ns":1,"event":"ack","bytes":1e999}'], 2, ''), ([good, '{"t_ns":NaN}'], 2, 'not JSON'),
        ([good, ' ' * 70000 + 'x'], 2, 'a line has at most'), ([good, '[' * 60000], 2, 'nested'), ([good, '{"rate_bps":' + '[' * 32000 + ']' * 32000 + '}'], 2, 'nested'),
        ([good, '{"a":' * 10000 + '1' + '}' * 10000], 2, 'nested'), ([good, '\x1b[31m"'], 2, 'not JSON')]
    for lines, number, words in bad:
        r = run(lines)
        said = r.stderr.decode()
        what = '%.80r' % (lines[-1:],)
        check(r.returncode == 2, '%s: exit code %d' % (what, r.returncode))
        check(said.count('\n') == 1 and ': line %d: ' % number in said and words in said, '%s: %s' % (what, said))
        check(said.isascii() and all(c.isprintable() for c in said[:-1]), '%s: unprintable: %r' % (what, said))
        check(len(r.stdout.splitlines()) == max(number - 1, 0) if lines and lines[0] else True, '%s: answers before' % what)
    for raw in (b'\xff\xfe{"a":1}\n', b'\x00\n', good.encode() + b'\n{"t_ns":1,"event":"\xff"}\n',
                good.encode() + b'\n{"t_ns":1,"event":"\\ud83d\\ude00"}\n'):
        r = run(raw)
        check(r.returncode == 2 and r.stderr.isascii() and r.stderr.count(b'\n') == 1, '%r: %r' % (raw, r.stderr))
    check(run([], '/does/not/exist').returncode == 2, 'no such file: exit code 2')
    check(run([V1], '/').returncode == 2, 'a directory: exit code 2')
    with open('/dev/full', 'w', encoding='utf-8') as full:
        r = subprocess.run([PROGRAM, 'cc'], input=good.encode(), stdout=full, stderr=subprocess.PIPE, check=False)
        check(r.returncode == 2 and b'cannot be written' in r.stderr, 'a full disk: %r' % r.stderr)


def test_conversation():
    """A test bench asks, waits for the answer, and asks again."""
    with subprocess.Popen([PROGRAM, 'cc'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        for i, line in enumerate([V1] + acks(50, 1000, 3000)):
            p.stdin.write(json.dumps(line).encode() + b'\n')
            p.stdin.flush()
            answer = json.loads(p.stdout.readline())
            check(answer['t_ns'] == 1000 * i, 'conversation, line %d: %s' % (i, answer))
        p.stdin.close()
        check(p.wait() == 0, 'conversation: exit code')


def test_command_line():
    r = subprocess.run([PROGRAM], capture_output=True, check=False)
    check(r.returncode == 2, 'no command: exit code 2')
    first = next(l for l in r.stderr.decode().splitlines() if l.startswith('  printf'))
    shell = 'PATH=%s:$PATH; %s' % (PROGRAM.rsplit('/', 1)[0], first)
    r = subprocess.run(['bash', '-o', 'pipefail', '-c', shell], capture_output=True, check=False)
    check(r.returncode == 0 and len(r.stdout.splitlines()) == 2, 'the first command works: %r' % r)
    for args, code in ((['--help'], 0), (['--version'], 0), (['cc', '--help'], 0), (['bogus'], 2), (['cc', '--bogus'], 2)):
        check(subprocess.run([PROGRAM, *args], capture_output=True, check=False).returncode == code, '%s' % args)


for name, test in sorted(globals().items()):
    if name.startswith('test_'):
        test()
print('%d checks, %d failed' % (CHECKS, FAILURES))
sys.exit(1 if FAILURES or CHECKS < 300 else 0)
