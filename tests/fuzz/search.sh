#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# search.sh FUZZER CORPUS: lets a libFuzzer program look for new inputs for a while, beginning with its corpus, which
# stays as it is. An input that fails is printed; it belongs into the corpus once the defect is mended.
#
# MRC_FUZZ_SECONDS (20) and MRC_FUZZ_SEED (1; 0: another one each time) are for longer searches by hand.
set -u -o pipefail
fuzzer=$1 corpus=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/found" "$work/failed"

"$fuzzer" -max_total_time="${MRC_FUZZ_SECONDS:-20}" -seed="${MRC_FUZZ_SEED:-1}" -timeout=120 -print_final_stats=1 -verbosity=1 \
  -artifact_prefix="$work/failed/" "$work/found" "$corpus" >"$work/log" 2>&1
rc=$?
if [ $rc != 0 ]; then
  grep -v '^#' "$work/log" | head -n 120
  for input in "$work"/failed/*; do
    [ -e "$input" ] || continue
    echo "--- $(basename "$input") in base64:"
    base64 -w 120 "$input"
  done
  exit $rc
fi
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
[ "${runs:-0}" -gt 0 ] || {
  tail -n 20 "$work/log"
  echo "the fuzzer ran nothing"
  exit 1
}
echo "$runs inputs tried, $(find "$work/found" -type f | wc -l) new ones of interest, none fails"
