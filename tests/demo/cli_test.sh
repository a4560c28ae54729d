#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo as a program: a miss and a signal, by exit code and words.
#
#   cli_test.sh MRC_ENDPOINT
set -u -o pipefail
demo=("$1" demo)
work=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT
failed=0

# verdict NAME GOT WANT PATTERN: the exit code, and a line of the output.
verdict() {
  if [ "$2" != "$3" ] || ! grep -qE -- "$4" "$work/out"; then
    echo "FAILED: $1: exit code $2 (want $3), want a line '$4':"
    sed 's/^/    /' "$work/out"
    failed=1
  else
    echo "ok: $1"
  fi
}

# Slow paths and no congestion control: the queues overflow where they will, and no two EVs carry alike.
timeout 100 "${demo[@]}" --bytes 64MB --delay-us 100 --path-gbps 0.1 --cc off >"$work/out" 2>&1
verdict 'a miss is exit code 1' $? 1 '^\[MISS\] '
grep -q '^demo: FAIL$' "$work/out" || {
  echo "FAILED: no 'demo: FAIL'"
  failed=1
}

"${demo[@]}" --bytes 1TB --json "$work/r.json" >"$work/out" 2>&1 &
pid=$!
sleep 4
kill -INT $pid
wait $pid
code=$?
pid=
verdict 'one SIGINT: what was posted is finished, results, exit code by them' $code 0 '^demo: pass \(interrupted'
grep -q '"interrupted": true' "$work/r.json" || {
  echo 'FAILED: the JSON does not say that it was interrupted'
  failed=1
}
exit $failed
