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
timeout 100 "${demo[@]}" --bytes 64MB --delay-us 100 --path-gbps 0.05 --cc off >"$work/out" 2>&1
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
# told NAME ARGUMENT...: size is enough for the whole story. How fast the repair was is the machine's too: a miss of that
# one alone is none here.
told() {
  local name=$1 code
  shift
  timeout 100 "${demo[@]}" "$@" >"$work/out" 2>&1
  code=$?
  [ "$code" != 1 ] || [ "$(grep -c '^\[MISS\]' "$work/out")" != 1 ] || ! grep -q '^\[MISS\] what died on' "$work/out" || code=0
  verdict "$name" "$code" 0 '^\[ ok \] data went over it again'
}
# The smallest that is allowed is enough, and less is refused with that size.
for seed in 1 2 3 4; do told "the smallest, seed $seed" --bytes 64MB --seed $seed; done
told 'the smallest over 128 paths' --bytes 64MB --planes 16 --paths 8
timeout 100 "${demo[@]}" --bytes 64MB --delay-us 2000 >"$work/out" 2>&1
verdict 'too little for the distance names the least' $? 2 'at least [0-9]+MB'
told 'what it names is enough' --bytes "$(sed -nE 's/.*at least ([0-9]+MB).*/\1/p' "$work/out")" --delay-us 2000

# refuses WORDS PATTERN
refuses() {
  # shellcheck disable=SC2086  # words are to be split
  timeout 20 "${demo[@]}" $1 >"$work/out" 2>&1
  verdict "refused: $1" $? 2 "$2"
}
refuses '--cc foo' 'give off, fixed or nscc$'
refuses '--seed -1' '--seed: -1 is negative'
refuses '--planes -1' '--planes: -1 is negative'
refuses '--planes 17' '--planes 17: from 2 to 16'
refuses '--loss-percent nan' '--loss-percent nan: from 0 to 10'
refuses '--delay-us nan' '--delay-us nan'
refuses '--path-gbps 0.001' '--path-gbps 0.001: 0 for no limit, or from 0.05 to 100'
refuses '--path-gbps nan' '--path-gbps nan'
refuses '--bytes 1TB --path-gbps 0.05' 'use --bytes [0-9]+ or less'
refuses '--bytes 63MB' 'at least 64MB'
refuses '--json /nope/x' '/nope/x'
refuses '--report /nope/x' '/nope/x'
"${demo[@]}" --help >"$work/out" 2>&1
if grep -qE 'INT|FLOAT|0x|\\x|->' "$work/out" || grep -q '[^[:print:]]' "$work/out"; then
  echo 'FAILED: the help has words of the parser:'
  cat "$work/out"
  failed=1
fi
exit $failed
