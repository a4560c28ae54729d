#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mrc-sim sweep: the commands that it prints for a batch system, run one by one and collected, give the table and the JSON
that it has from running them itself. Files that cannot be written, words for a person and progress, of all commands; the matrices of config/sim.

  mrc_sim_sweep_test.py MRC_SIM CONFIG_SIM
"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = os.path.abspath(sys.argv[2])
SCENARIO = 'network: {planes: 2, hosts: 4}\nworkload: {shape: permutation, bytes: 256K}\n'
GRID = ['--seeds', '3', '--set', 'paths.evs=32', '--grid', 'faults=[],[{kind: loss, place: fabric, probability: 0.02}]',
        '--grid', 'cc.kind=nscc,off']


def run(args, cwd):
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def unwritable_results(there):
    """Refused before anything runs; what shows only while writing ends in exit code 2 too."""
    for args in (['run', 's.yaml', '--json'], ['run', 's.yaml', '--report'], ['run', 's.yaml', '--replay'],
                 ['run', 's.yaml', '--trace'], ['run', 's.yaml', '--matrix'], ['sweep', 's.yaml', '--json'],
                 ['claims', '--dir', CONFIG, '--report']):
        code, out, words = run([PROGRAM, *args, '/nope/x'], there)
        assert code == 2 and out == '' and args[-1] in words and '/nope/x' in words, (args, code, out, words)
    code, _, words = run([PROGRAM, 'run', '-q', 's.yaml', '--trace', '/dev/full'], there)
    assert code == 2 and '--trace' in words, words
    code, _, words = run(['sh', '-c', PROGRAM + ' run -q s.yaml > /dev/full'], there)
    assert code == 2 and 'standard output' in words, words


def on_a_terminal(there):
    """Progress on a terminal in one place, that ends wiped; none where standard error is none, or with -q."""
    args = [PROGRAM, 'run', CONFIG + '/demo.yaml', '--set', 'workload.bytes=64M']
    for quiet in ([], ['-q']):
        master, slave = pty.openpty()
        with subprocess.Popen(args + quiet, cwd=there, stdout=subprocess.PIPE, stderr=slave) as p:
            os.close(slave)
            seen = b''
            while True:
                try:
                    part = os.read(master, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                seen += part
            table = p.stdout.read().decode()
        os.close(master)
        text = seen.decode()
        bars = re.findall(r'\r\[[#.]{30}\] +\d+%  [\d.]+ ms ', text)
        assert p.returncode == 0 and 'PASS' in table and '\r' not in table, table
        assert text == '' if quiet else bars and text.split('\n')[0].endswith('\r'), (quiet, text)
        assert quiet or '\r' + 100 * ' ' + '\r' in text, text
    assert '\r' not in run(args, there)[2]


def matrices(there):
    """The matrices beside the scenarios, which htsim reads, are those of the seeds that they are named for."""
    for hosts in (16, 128):
        for seed in range(1, 11):
            name = f'permutation-{hosts}-{seed}.cm'
            done = run([PROGRAM, 'run', '-q', f'{CONFIG}/htsim-{hosts}.yaml', '--set', f'seed={seed}', '--set', 'run.until_us=1',
                        '--matrix', name], there)
            assert done[0] in (0, 1), done
            assert (there / name).read_bytes() == pathlib.Path(CONFIG, 'matrices', name).read_bytes(), name


def words_for_a_terminal(there):
    code, out, words = run([PROGRAM, 'claims'], there)
    assert code == 2 and out == '' and words.count('\n') == 1 and '--dir' in words, (out, words)
    code, _, words = run([PROGRAM, 'bogus'], there)
    assert code == 2 and "'bogus'" in words and 'sweep' in words, words
    code, _, words = run([PROGRAM], there)
    assert code == 2 and words.count(PROGRAM) == 3, words
    first = [line.strip() for line in words.splitlines() if line.endswith(' cc')]
    code, out, _ = run(['sh', '-c', first[0]], there)
    assert code == 0 and '"cwnd"' in out, (first, out)
    code, lines, _ = run([PROGRAM, 'table', '--only', 'one flow', '--seeds', '1', '--print-commands'], there)
    code, out, words = run(['sh', '-c', lines], pathlib.Path(CONFIG).parent.parent)
    assert code == 0 and 'PASS' in out, (lines, out, words)


def main():
    with tempfile.TemporaryDirectory() as name:
        there = pathlib.Path(name)
        (there / 's.yaml').write_text(SCENARIO)
        here = run([PROGRAM, 'sweep', '-q', 's.yaml', *GRID, '--json', 'here.json'], there)
        assert here[0] == 0, here
        code, lines, _ = run([PROGRAM, 'sweep', 's.yaml', *GRID, '--print-commands', '--prefix', 'r-'], there)
        assert code == 0 and lines.count('\n') == 12, lines
        for line in lines.splitlines():
            assert line.startswith(PROGRAM + ' run '), line
            done = run(['sh', '-c', line], there)
            assert done[0] == 0, (line, done)
        files = sorted(p.name for p in there.glob('r-*.json'))
        assert len(files) == 12, files
        batch = run([PROGRAM, 'sweep', '--collect', *files, '--json', 'batch.json'], there)
        assert batch == here, (batch, here)
        assert (there / 'batch.json').read_bytes() == (there / 'here.json').read_bytes()
        # A run that fails is told, and so is what does not fit.
        run([PROGRAM, 'run', '-q', 's.yaml', '--set', 'run.until_us=5', '--json', 'short.json'], there)
        code, table, _ = run([PROGRAM, 'sweep', '--collect', 'short.json'], there)
        assert code == 1 and 'seed 1: FAIL' in table, table
        assert run([PROGRAM, 'sweep', '--collect', files[0], files[0]], there)[0] == 2
        assert run([PROGRAM, 'sweep', 's.yaml', '--collect', files[0]], there)[0] == 2
        assert run([PROGRAM, 'sweep'], there)[0] == 2
        unwritable_results(there)
        words_for_a_terminal(there)
        on_a_terminal(there)
        matrices(there)
    print('12 runs: the same table, the same JSON')


main()
