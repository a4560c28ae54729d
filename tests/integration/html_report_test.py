#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The HTML reports as a reader meets them: opened in headless Chromium without a network, in light and dark, wide and narrow.

  html_report_test.py MRC_SIM SCENARIO.yaml [MRC_ENDPOINT]

Exit code 77: Chromium is missing (said why).
"""

import os
import subprocess
import sys
import tempfile

import browser_lib

MRC_SIM, SCENARIO = sys.argv[1:3]
MRC_ENDPOINT = sys.argv[3] if len(sys.argv) > 3 else None  # not built without DPDK
FAILURES = []


def check(ok, what):
    if not ok:
        FAILURES.append(what)
        print('FAILED: ' + what)


def must_complain(browser, where):
    """A page with every mistake that we look for: none may go unseen."""
    path = os.path.join(where, 'bad.html')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('<!DOCTYPE html><title>x</title><img src="http://example.com/a.png"><script src="absent.js"></script>'
                '<script>console.error("said"); null.f()</script>')
    browser.open(path)
    said = ' '.join(browser.complaints())
    for needle in ('example.com', 'absent.js', 'said', 'TypeError', 'a request failed'):
        check(needle in said, f'the check sees {needle}: {said}')


# Of every line, bar and cell path: its length, and how much of the plot it spans.
DRAWN = '''
[...document.querySelectorAll('svg.plot')].map(svg => ({
  id: svg.id,
  box: [svg.getBoundingClientRect().width, svg.getBoundingClientRect().height],
  named: svg.querySelector('title').textContent.length > 0 && svg.querySelector('desc').textContent.length > 0,
  marks: [...svg.querySelectorAll('path.line, path.bar, path.cell, path.dot')].map(p => {
    const b = p.getBBox();
    return {kind: p.getAttribute('class'), chars: p.getAttribute('d').length, width: b.width, height: b.height};
  }),
}))'''
# Contrast of the page's text colours with the card they stand on.
CONTRAST = '''
(() => {
  const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const light = colour => {
    paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    const c = [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
      .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * c[0] + .7152 * c[1] + .0722 * c[2];
  };
  const style = getComputedStyle(document.documentElement), of = name => light(style.getPropertyValue(name));
  const against = name => { const [a, b] = [of(name), of('--card')]; return (Math.max(a, b) + .05) / (Math.min(a, b) + .05); };
  return Object.fromEntries(['--ink', '--soft', '--good', '--bad', '--c0', '--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7',
                             '--lb'].map(n => [n, against(n)]));
})()'''


def check_plots(browser, name, wanted, events):
    plots = {p['id']: p for p in browser.evaluate(DRAWN)}
    for plot, (kind, least) in wanted.items():
        check(plot in plots, f'{name}: a plot "{plot}"; there are {sorted(plots)}')
        if plot not in plots:
            continue
        p = plots[plot]
        marks = [m for m in p['marks'] if kind in m['kind'].split()]
        check(len(marks) >= least, f'{name}: {plot} has {least} or more of "{kind}", it has {len(marks)}')
        check(all(m['chars'] > 5 for m in marks), f'{name}: every {kind} of {plot} has a shape: {marks}')
        check(p['named'], f'{name}: {plot} is named and described')
        check(p['box'][0] > 500 and p['box'][1] > 100, f'{name}: {plot} is to be seen: {p["box"]}')
        if kind == 'line':
            check(max((m['width'] for m in marks), default=0) > 100, f'{name}: {plot} goes through time: {marks}')
            check(max((m['height'] for m in marks), default=0) > 5, f'{name}: {plot} moves: {marks}')
    lines = browser.evaluate("document.querySelectorAll('svg.plot .marker path').length")
    listed = browser.evaluate("document.querySelectorAll('ol.events li').length")
    check(listed >= events and lines >= listed * 5, f'{name}: {events} events or more in the list and through the plots: {listed}, {lines}')


def check_pointer(browser, name, pointed):
    """The crosshair: over a line and over the map it says what is there."""
    for plot, needle in pointed:
        box = browser.evaluate(f"(() => {{ const e = document.getElementById('{plot}'); e.scrollIntoView({{block: 'center'}}); "
                               'const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()')
        browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=box[0] + box[2] / 2, y=box[1] + box[3] / 2)
        tip = browser.evaluate("(() => { const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent; })()")
        check(needle in tip, f'{name}: pointing at {plot} says "{tip}"')
    browser.call('Input.dispatchMouseEvent', type='mouseMoved', x=1, y=1)
    check(browser.evaluate("document.getElementById('tip').hidden"), f'{name}: beside the plots nothing is said')


def check_looks(browser, name):
    grounds = set()
    for theme in ('light', 'dark'):
        browser.theme(theme)
        grounds.add(browser.evaluate('getComputedStyle(document.body).backgroundColor'))
        for colour, contrast in browser.evaluate(CONTRAST).items():
            least = 4.5 if colour in ('--ink', '--soft', '--good', '--bad') else 3
            check(contrast >= least, f'{name}: {colour} in {theme} has a contrast of {contrast:.2f}, {least} are needed')
    check(len(grounds) == 2, f'{name}: light and dark differ: {grounds}')
    for width in (1200, 420):
        browser.call('Emulation.setDeviceMetricsOverride', width=width, height=800, deviceScaleFactor=1, mobile=False)
        wide = browser.evaluate('document.documentElement.scrollWidth')
        check(wide <= width, f'{name}: at {width} pixels the page is {wide} wide')
    browser.call('Emulation.clearDeviceMetricsOverride')


def check_report(browser, path, name, wanted, events, pointed=(('planes', 'plane 0'), ('ev-map-0', 'EV '))):
    size = os.path.getsize(path)
    check(10_000 < size < 5_000_000, f'{name}: {size} bytes')
    browser.open(path)
    check(browser.evaluate('document.documentElement.dataset.script') == 'ready', f'{name}: the script ran to its end')
    check_plots(browser, name, wanted, events)
    check_pointer(browser, name, pointed)
    check_looks(browser, name)
    for complaint in browser.complaints():
        check(False, f'{name}: {complaint}')
    print(f'{name}: {size} bytes, {len(wanted)} plots')


def simulated(browser, where):
    path = os.path.join(where, 'sim.html')
    subprocess.run([MRC_SIM, 'run', SCENARIO, '--report', path, '-q'], check=True, stdout=subprocess.DEVNULL)
    check_report(browser, path, 'mrc-sim run --report',
                 {'goodput': ('line', 2), 'planes': ('line', 4), 'cwnd': ('line', 2), 'queues': ('line', 4), 'repair': ('line', 2),
                  'delay': ('line', 2), 'ev-map-0': ('lb', 1), 'delays': ('bar', 5)}, 2)
    again = os.path.join(where, 'again.html')
    subprocess.run([MRC_SIM, 'run', SCENARIO, '--report', again, '-q'], check=True, stdout=subprocess.DEVNULL)
    with open(path, 'rb') as a, open(again, 'rb') as b:
        check(a.read() == b.read(), 'the same seed gives the same report')
    path = os.path.join(where, 'rc.html')
    subprocess.run([MRC_SIM, 'run', SCENARIO, '--set', 'transport=rc', '--set', 'faults=[]', '--report', path, '-q'], check=True,
                   stdout=subprocess.DEVNULL)
    check_report(browser, path, 'mrc-sim run --report of the baseline', {'goodput': ('line', 1), 'planes': ('line', 4)}, 0,
                 (('planes', 'plane 0'),))


def claims(browser, where):
    """What the field claims: dots beside limits, and the curve. Whether they hold with two seeds is not the matter here."""
    path = os.path.join(where, 'claims.html')
    command = [MRC_SIM, 'claims', '--dir', os.path.dirname(SCENARIO), '--seeds', '2', '--only', 'active', '--only', 'permutation',
               '--only', 'port', '--only', 'failover']
    r = subprocess.run(command + ['--report', path], capture_output=True, text=True, check=False)
    check(r.returncode in (0, 1), f'claims --report: {r.returncode} {r.stdout} {r.stderr}')
    browser.open(path)
    plots = {p['id']: p for p in browser.evaluate(DRAWN)}
    for plot, dots in (('claims', 6), ('curve-3', 7)):
        p = plots.get(plot, {'marks': [], 'box': [0, 0], 'named': False})
        drawn = [m for m in p['marks'] if 'dot' in m['kind'].split()]
        check(len(drawn) == dots and all(m['width'] > 4 for m in drawn), f'claims: {plot} has {dots} dots: {drawn}')
        check(p['named'] and p['box'][0] > 500 and p['box'][1] > 100, f'claims: {plot} is named and to be seen: {p["box"]}')
    inside = browser.evaluate("""[...document.querySelectorAll('svg.plot')].every(svg => {
      const all = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('path, text')].every(e => { const b = e.getBoundingClientRect();
        return b.left >= all.left - 2 && b.right <= all.right + 60; }); })""")
    check(inside, 'claims: nothing stands beside its plot')
    check_looks(browser, 'claims')
    for complaint in browser.complaints():
        check(False, f'claims: {complaint}')
    print(f'mrc-sim claims --report: {os.path.getsize(path)} bytes')
    r = subprocess.run(command + ['--report', os.path.join(where, 'no', 'such', 'place')], capture_output=True, text=True, check=False)
    check(r.returncode == 2 and '--report' in r.stderr, f'a report that cannot be written: {r.returncode} {r.stderr}')


def live(browser, where):
    """Real time: whether the demo's own checks hold while other tests run is the demo test's business."""
    path = os.path.join(where, 'demo.html')
    r = subprocess.run([MRC_ENDPOINT, 'demo', '--bytes', '256MiB', '--report', path], capture_output=True, text=True, check=False)
    check(r.returncode in (0, 1) and f'report: {path}' in r.stdout, f'demo --report: {r.returncode} {r.stdout} {r.stderr}')
    check_report(browser, path, 'mrc-endpoint demo --report',
                 {'goodput': ('line', 2), 'planes': ('line', 4), 'queues': ('line', 1), 'repair': ('line', 1), 'cwnd': ('line', 2),
                  'latency': ('line', 2), 'ev-map-0': ('lb', 1), 'latencies': ('bar', 5)}, 3)
    path = os.path.join(where, 'run.html')
    r = subprocess.run([MRC_ENDPOINT, 'run', '--loopback', '-D', '1', '--workers', '2', '-q', '2', '--report', path],
                       capture_output=True, text=True, check=False)
    check(r.returncode == 0, f'run --report: {r.returncode} {r.stdout} {r.stderr}')
    check_report(browser, path, 'mrc-endpoint run --report',
                 {'goodput': ('line', 1), 'planes': ('line', 4), 'latency': ('line', 2), 'ev-map-0': ('cell', 2), 'latencies': ('bar', 5)}, 1)
    r = subprocess.run([MRC_ENDPOINT, 'run', '--loopback', '-n', '100', '--report', os.path.join(where, 'no', 'such', 'place')],
                       capture_output=True, text=True, check=False)
    check(r.returncode == 2 and '--report' in r.stderr, f'a report that cannot be written: {r.returncode} {r.stderr}')


def main():
    if browser_lib.find() is None:
        print('skipped: chromium is not installed (tools/setup --for test installs it)')
        return 77
    with tempfile.TemporaryDirectory() as where, browser_lib.Browser() as browser:
        must_complain(browser, where)
        simulated(browser, where)
        claims(browser, where)
        if MRC_ENDPOINT:
            live(browser, where)
    return 1 if FAILURES else 0


if __name__ == '__main__':
    sys.exit(main())
