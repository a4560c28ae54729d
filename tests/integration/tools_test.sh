#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/doctor and tools/setup: words and exit codes, with what they look for present and hidden. Changes nothing of this
# machine: what setup reserves and gives back are files of the test's.
#
#   tools_test.sh SOURCE_DIR
set -u -o pipefail
top=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME CODE PATTERN COMMAND...: the exit code, and a line of its output.
expect() {
  local name=$1 code=$2 pattern=$3 got
  shift 3
  "$@" >"$work/out" 2>&1 </dev/null
  got=$?
  if [ $got != "$code" ] || ! grep -qE -- "$pattern" "$work/out"; then
    echo "FAILED: $name: exit code $got (want $code), want a line '$pattern':"
    sed 's/^/    /' "$work/out"
    failed=1
  else
    echo "ok: $name"
  fi
}

doctor=$top/tools/doctor
setup=$top/tools/setup
expect 'doctor finds this machine usable: the tests run on it' 0 '^doctor: usable$' "$doctor"
cp "$work/out" "$work/doctor"
for line in '^ok +DPDK +version [0-9]+\.' '^ok +EAL ' '^ok +drivers +ring vhost'; do
  grep -qE "$line" "$work/doctor" || {
    echo "FAILED: doctor without a line '$line'"
    failed=1
  }
done
# commands_run OUTPUT: every finding that asks for something is followed by one command, or says that none mends it; and each
# is a line for a shell, of a program that is here.
commands_run() {
  local line word
  awk '/^(could|MISS)/ { if (want) bad = 1; want = !/no command mends that/; next } /^ / { if (!want) bad = 1; want = 0 }
    END { exit bad || want }' "$1" || {
    echo 'FAILED: a finding without a command, or a command without a finding'
    failed=1
  }
  while read -r line; do
    word=${line%% *}
    if ! bash -n -c "$line" || ! (cd "$top" && PATH=$PATH:/sbin:/usr/sbin command -v "$word" >/dev/null); then
      echo "FAILED: doctor names a command that does not run: $line"
      failed=1
    fi
  done < <(sed -n 's/^ \+//p' "$1")
}
commands_run "$work/doctor"
# Without rights it finds more.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "PATH=/usr/bin:/bin:/usr/sbin:/sbin '$doctor'" >"$work/doctor-user" 2>&1
  commands_run "$work/doctor-user"
fi
# DPDK out of sight.
expect 'doctor without DPDK: exit code 1 and the command' 1 '^MISS +DPDK' env PKG_CONFIG_LIBDIR="$work" PKG_CONFIG_PATH="$work" "$doctor" --brief
commands_run "$work/out"
grep -qE '^ +tools/setup$' "$work/out" || {
  echo 'FAILED: no command to install DPDK'
  failed=1
}
if grep -q '^ok ' "$work/out"; then
  echo 'FAILED: doctor --brief printed what is fine'
  failed=1
fi
expect 'doctor refuses what it does not know' 2 "unknown argument '--fix'" "$doctor" --fix
expect 'doctor refuses a second argument' 2 'one argument at most' "$doctor" --brief --brief
expect 'doctor --help' 0 'tools/doctor' "$doctor" --help

# What only a run on real ports wants may be missing where tests run: then the exit code says so.
status_code=0
if grep -q missing < <("$setup" status); then status_code=1; fi
expect 'setup status' "$status_code" 'packages to build: all' "$setup" status
expect 'setup with everything installed is a no-op' 0 'packages: all [0-9]+ are installed' "$setup" --for build
expect 'setup for an unknown purpose' 1 'give build, test or demo' "$setup" --for fun
expect 'setup with a bad number' 1 'give a number of MiB' "$setup" --hugepages many
expect 'setup with an unknown argument' 1 'see tools/setup --help' "$setup" --what ever
expect 'setup undo with an unknown argument' 1 'undo takes --packages' "$setup" undo --all
expect 'setup status for the demo asks for no more than it needs' 0 'packages to build: all' "$setup" status --for demo
expect 'setup status for the tests' 0 'packages to test: all' "$setup" status --for test
expect 'setup status refuses an argument' 1 'status takes --for' "$setup" status all
expect 'setup status for an unknown purpose' 1 'give build, test or demo' "$setup" status --for fun
expect 'setup --help' 0 'tools/setup undo' "$setup" --help
expect 'setup --for test --help does nothing else' 0 'tools/setup undo' "$setup" --for test --help

# Every option that the demo's help lists reaches it: the script knows them all.
demo_main=$top/apps/mrc-endpoint/demo_main.cc
while read -r option; do
  grep -q -e "[ (]$option\( |\|)\)" "$top/tools/demo" || {
    echo "FAILED: tools/demo does not pass $option on"
    failed=1
  }
done < <(grep -o 'add_option("--[a-z-]*"' "$demo_main" | cut -d'"' -f2)
# Help is help: quickly, without installing, building or checking anything.
for tool in lint count-tests test demo spec-coverage; do
  expect "$tool --help" 0 "^.*(tools/)?$tool" timeout 20 "$top/tools/$tool" --help
  expect "$tool refuses what it does not know" 2 '(unknown|usage|unrecognized)' timeout 20 "$top/tools/$tool" --what-ever
done
# Whatever the place of the wrong word, and before anything is installed or built.
for words in '--seed 7 --what-ever' '--bytes=1GB more' '--bytesize 1GB' '--planes 4 5'; do
  # shellcheck disable=SC2086  # words are to be split
  expect "demo refuses $words" 2 "unknown argument '(--what-ever|more|--bytesize|5)'" timeout 20 "$top/tools/demo" $words
done
expect 'demo refuses an option without its value' 2 '--seed needs a value' timeout 20 "$top/tools/demo" --planes 4 --seed
# Values that cannot be right are refused before the build too.
for words in '--bytes abc' '--bytes=12XB' '--seed -1' '--planes four' '--paths 4.5' '--delay-us fast' '--loss-percent nan' '--cc foo' '--path-gbps -'; do
  # shellcheck disable=SC2086  # words are to be split
  expect "demo refuses $words" 2 "^tools/demo: ${words%%[ =]*} '.*': " timeout 20 "$top/tools/demo" $words
done
# A clone whose build directory is another user's.
mkdir -p "$work/clone"
cp -r "$top/tools" "$work/clone/"
mkdir "$work/clone/build"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work" "$work/clone" "$work/clone/build"
  expect "demo in another user's clone" 2 "clone/build belongs to root.*chown" \
    setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$work/clone/tools/demo" --bytes 64MB
fi
expect 'lint refuses a second word' 2 'unknown argument' timeout 20 "$top/tools/lint" --help me

# A machine where nothing is installed: dpkg knows no package, and there is neither root nor sudo nor apt.
mkdir "$work/bin"
for name in bash sh env id sed awk grep sort comm cat mktemp rm cut tail head printf dirname; do
  ln -s "$(command -v $name)" "$work/bin/$name"
done
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
chmod +x "$work/bin/dpkg-query"
expect 'setup without apt names the packages' 1 'no apt-get here.*libdpdk-dev' env PATH="$work/bin" "$setup" --for build
printf '#!/bin/sh\nexit 1\n' >"$work/bin/apt-get"
printf '#!/bin/sh\necho 1000\n' >"$work/fake-id"
chmod +x "$work/bin/apt-get" "$work/fake-id"
ln -sf "$work/fake-id" "$work/bin/id"
expect 'setup without root or sudo says so' 1 'needs root.*libdpdk-dev' env PATH="$work/bin" "$setup" --for build
expect 'setup status for the demo without packages' 1 'to install .*tools/setup --for demo' env PATH="$work/bin" "$setup" status --for demo
expect 'setup status without packages' 1 'packages to build: missing.*libdpdk-dev' env PATH="$work/bin" "$setup" status

# Hugepages and packages, as on a machine whose kernel and apt are stubs: dpkg knows nothing until apt-get has installed,
# and as root or as if, for the files are the test's own.
mkdir "$work/stub" "$work/huge"
cat >"$work/stub/dpkg-query" <<'STUB'
#!/bin/bash
[ -e "$WORK/installed" ] && printf '%s ii \n' "${@:3}"
exit 0
STUB
cat >"$work/stub/apt-get" <<'STUB'
#!/bin/bash
echo "$*" >>"$WORK/apt.log"
case " $* " in
  *' install '*) touch "$WORK/installed" ;;
  *' remove '*) [ ! -e "$WORK/locked" ] || exit 100 && rm -f "$WORK/installed" ;;
esac
STUB
printf '#!/bin/sh\nexec "$@"\n' >"$work/stub/sudo"
chmod +x "$work"/stub/*
# shellcheck disable=SC2317 # called by expect
stubbed() { env PATH="$work/stub:$PATH" WORK="$work" SOFTMRC_STATE_DIR="$work/state" SOFTMRC_HUGEPAGE_FILE="$work/huge/nr_hugepages" "$@"; }
# holds NAME WORDS FILE: the file is these words, or is not there when there are none.
holds() {
  if [ "$2" = "$(cat "$3" 2>/dev/null)" ]; then
    echo "ok: $1"
  else
    echo "FAILED: $1: want '$2', $3 has '$(cat "$3" 2>/dev/null)'"
    failed=1
  fi
}
pages=$work/huge/nr_hugepages
expect 'setup undo before anything was changed' 0 'packages: none were added' stubbed "$setup" undo
expect 'setup on a kernel without hugepages' 0 'this kernel has none of 2 MiB' stubbed "$setup" --hugepages 64
holds 'which apt-get was asked to install' 1 <(grep -c ' install .*libdpdk-dev' "$work/apt.log")
echo 3 >"$pages"
echo 3 >"$work/huge/free_hugepages"
expect 'setup reserves more than there were' 0 '32 x 2 MiB reserved \(before: 3\)' stubbed "$setup" --hugepages 64
holds 'which reserved them' 32 "$pages"
expect 'setup again changes nothing' 0 'hugepages: 32 x 2 MiB are reserved' stubbed "$setup" --hugepages 64
holds 'nor installed again' 1 <(grep -c ' install ' "$work/apt.log")
expect 'setup raises them once more' 0 '48 x 2 MiB reserved \(before: 32\)' stubbed "$setup" --hugepages 96
expect 'setup status tells what it changed' 0 'changed by tools/setup: [1-9][0-9]* packages, hugepages \(before: 3\)' stubbed "$setup" status
expect 'setup takes no more than a quarter of the memory' 0 'over a quarter of the free memory' stubbed "$setup" --hugepages 9999999
holds 'and leaves them then' 48 "$pages"
expect 'setup undo goes back to before its first change' 0 'hugepages: back to 3$' stubbed "$setup" undo
holds 'which gave them back' 3 "$pages"
echo 7 >"$pages"
expect 'setup undo again leaves them' 0 'hugepages: were not changed' stubbed "$setup" undo
holds 'as somebody else set them since' 7 "$pages"
grep -q 'packages: these were added: .*libdpdk-dev' "$work/out" || {
  echo 'FAILED: undo does not list the packages'
  failed=1
}
touch "$work/locked"
expect 'setup undo --packages when apt-get fails' 1 'apt-get remove failed' stubbed "$setup" undo --packages
rm "$work/locked"
expect 'setup undo --packages, once it works' 0 'packages: removed .*libdpdk-dev' stubbed "$setup" undo --packages
holds 'by the names that were added' 2 <(grep -c ' remove .*libdpdk-dev' "$work/apt.log")
expect 'and nothing is left to undo' 0 'packages: none were added' stubbed "$setup" undo --packages
if [ -e "$work/state" ]; then
  echo 'FAILED: undo left its state behind'
  failed=1
fi
exit $failed
