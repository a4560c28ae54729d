#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mrc-sim sweep: the commands that it prints for a batch system, run one by one and collected, give the table and the JSON
that it has from running them itself.

  mrc_sim_sweep_test.py MRC_SIM
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
SCENARIO = 'network: {planes: 2, hosts: 4}\nworkload: {shape: permutation, bytes: 256K}\n'
GRID = ['--seeds', '3', '--set', 'paths.evs=32', '--grid', 'faults=[],[{kind: loss, place: fabric, probability: 0.02}]',
        '--grid', 'cc.kind=nscc,off']


def run(args, cwd):
    done = subprocess.run(args, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        there = pathlib.Path(name)
        (there / 's.yaml').write_text(SCENARIO)
        here = run([PROGRAM, 'sweep', '-q', 's.yaml', *GRID, '--json', 'here.json'], there)
        assert here[0] == 0, here
        code, lines, _ = run([PROGRAM, 'sweep', 's.yaml', *GRID, '--print-commands', '--prefix', 'r-'], there)
        assert code == 0 and lines.count('\n') == 12, lines
        for line in lines.splitlines():
            assert line.startswith('mrc-sim run '), line
            done = run(['sh', '-c', PROGRAM + line[len('mrc-sim'):]], there)
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
        # A trace that is not all there is no result.
        full = run([PROGRAM, 'run', '-q', 's.yaml', '--trace', '/dev/full'], there)
        assert full[0] == 2 and 'disk full' in full[2], full
    print('12 runs: the same table, the same JSON')


main()
