#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Entropy values from the YAML file to the wire: every format in every mode it has, each frame read by Python on its way, and
each EV found where the file put it, on its plane, and nowhere else.

endpoint_evs.py MRC_ENDPOINT [CASE...]"""
import sys

import endpoint_lib as lib
from bridge_lib import Bridge
from endpoint_lib import Interfaces, Pair, check, check_verified

program = sys.argv[1]
BTH = 14 + 40 + 8


class Reader:
    """Which EVs Writes of `run` carried, by plane. `at`: bytes in front of the (inner) IPv6 header."""

    def __init__(self, fmt, order="B"):
        self.order, self.fmt = order, fmt
        self.at = 14 + {"srv6": 40, "srv6_srh": 64}.get(fmt, 0)
        self.seen = {}
        self.odd = []

    def ev(self, frame):
        if self.fmt == "srv6":
            return frame[38:54]
        if self.fmt == "srv6_srh":
            return frame[38:54] + frame[62:78]
        sport = frame[self.at + 40:self.at + 42]
        label = frame[self.at + 2:self.at + 4]
        if self.fmt == "udp":
            return sport
        return sport + label if self.order == "B" else label + sport

    def __call__(self, plane, from_serve, frame):
        if not from_serve and frame[12:14] == b"\x86\xdd" and frame[6 + 14] in (17, 41, 43):
            if len(frame) < self.at + 60 or frame[self.at + 6] != 17:
                self.odd.append(frame[:80].hex())
            elif frame[self.at + 48] in range(0xC6, 0xCC):
                key = "0x" + self.ev(frame).hex()
                self.seen.setdefault(plane, {}).setdefault(key, 0)
                self.seen[plane][key] += 1
        return (frame,)


def carried(yaml, fmt, order="B", messages=60):
    """A verified run over two planes with this `ev` section; EVs as seen on the wire, each plane's."""
    config = lib.write_config("ev.yaml", "ev:\n" + "".join(f"  {line}\n" for line in yaml))
    bridge = Bridge(2)
    bridge.edit = reader = Reader(fmt, order)
    p = Pair(program, ["--config", config, "-s", 8192, "-n", messages], ["--config", config], link=Interfaces(bridge))
    ran, served = p.finish()
    bridge.close()
    check_verified(ran, served, messages)
    check(not reader.odd, f"{fmt}: frames of another form: {reader.odd[:2]}")
    evs = ran["phases"][0]["evs"]
    for plane in (0, 1):
        told = {e["value"]: e["tx_pkts"] for e in evs if e["plane"] == plane}
        check(told == reader.seen[plane], f"{fmt}: the result says {told}, the wire {reader.seen[plane]}")
        lossless = not any(ran["phases"][0]["retransmissions"].values())
        check(not lossless or max(told.values()) - min(told.values()) <= 1,
              f"an uneven spread: {told} {ran['phases'][0]['retransmissions']} {evs}")
    return [sorted(reader.seen[plane]) for plane in (0, 1)]


def automatic():
    for fmt, digits in (("udp", 4), ("stev", 8)):
        for order in ("B", "A"):
            planes = carried([f"format: {fmt}", f"order: {order}", "count: 16"], fmt, order)
            values = planes[0] + planes[1]
            check(len(set(values)) == 16 and all(len(v) == 2 + digits for v in values), values)
            print(f"ok: auto {fmt}, order {order}: 16 EVs, 8 a plane, e.g. {values[0]}")


def explicit():
    stev = ["0xc0010001", "0xc002ffff", "0xd0030100", "0x0000beef"]
    usid = ["0xfcbbbb00001100b00000000000000000", "0xfcbbbb00001200b00000000000000000",
            "0xfcbbbb00001300b00000000000000000", "0xfcbbbb000014001500b0000000000000"]
    srh = [u + "fcbbbb00002" + u[13] + "00c00000000000000000" for u in usid]
    for fmt, order, values in (("udp", "B", ["0xc000", "0x1234", "0xffff", "0x0001"]), ("stev", "B", stev), ("stev", "A", stev),
                               ("srv6", "B", usid), ("srv6_srh", "B", srh)):
        lines = [f"format: {fmt}", f"order: {order}", "mode: explicit", "values:"]
        lines += [f"  - {{ev: '{v}', plane: {i % 2}}}" for i, v in enumerate(values)]
        planes = carried(lines, fmt, order)
        for plane in (0, 1):
            check(planes[plane] == sorted(values[plane::2]), f"{fmt}: plane {plane} carried {planes[plane]}")
        print(f"ok: explicit {fmt}, order {order}: each value on its plane, e.g. {values[0]}")


def generated():
    block = "  - {width: 32, format_width: 32, init: 0xfcbbbb00}"
    usid = "  - {width: 16, format_width: 16, init: 0x0010, mask: 0x000f, min: 1, max: 4}"
    last = "  - {width: 16, format_width: 16, init: 0x00b0}"
    none = "  - {width: 32, format_width: 32, init: 0}"
    for fmt, fields, expected in (
            ("udp", ["  - {width: 16, format_width: 16, init: 0xc000, mask: 0x0f00, min: 1, max: 4}"],
             [f"0xc{i}00" for i in range(1, 5)]),
            ("stev", ["  - {width: 16, format_width: 16, init: 0xc100}",
                      "  - {width: 16, format_width: 16, init: 0, mask: 0x8001, min: 0, max: 3}"],
             ["0xc1000000", "0xc1000001", "0xc1008000", "0xc1008001"]),
            ("srv6", [block, usid, last, none, none],
             [f"0xfcbbbb00001{i}00b00000000000000000" for i in range(1, 5)]),
            ("srv6_srh", [block, usid, last, none, none, block, last, last, none, none],
             [f"0xfcbbbb00001{i}00b00000000000000000fcbbbb0000b000b00000000000000000" for i in range(1, 5)])):
        planes = carried([f"format: {fmt}", "mode: generated", "count: 8", "fields:"] + fields, fmt)
        check(planes[0] == planes[1] == expected, f"{fmt}: {planes}, expected {expected}")
        print(f"ok: generated {fmt}: 4 values on each of 2 planes, {expected[0]} to {expected[-1][2:]}")


def over_the_virtual_fabric():
    """Its switches name the ways: each EV is one, and takes it."""
    for fmt, digits in (("srv6", 32), ("srv6_srh", 64)):
        text = lib.run(0, program, "run", "--loopback", "-b", "-s", 65536, "-n", 100, "--set", f"ev.format={fmt}", "--idle", "yield",
                       "--json", lib.path("v.json"))
        phase = lib.load_result("v.json")["phases"][0]
        evs = phase["evs"]
        check(len(evs) == 4 * 8 and len({e["value"] for e in evs}) == 32, text)
        check(all(len(e["value"]) == 2 + digits and e["tx_pkts"] > 0 and e["state"] == "GOOD" for e in evs), text)
        check(phase["verification"]["messages"] == 200 and phase["fabric"] == {}, text)
        print(f"ok: {fmt} over the virtual fabric: 32 ways, all of them used, nothing dropped")


def mistakes():
    """What a profile cannot be is told by name, value and limit before anything starts."""
    for lines, said in (
            (["format: srv6"], "mode AUTO cannot make"),
            (["mode: explicit", "values: [{ev: '0x1', plane: 0}, {ev: '0x2', plane: 2}]"], "ev.values[1].plane: 2 but there are planes 0 to 1"),
            (["mode: generated", "count: 8", "fields: [{width: 16, format_width: 16, mask: 0x3, min: 0, max: 1}]"],
             "ev_count is 8 but the fields give 2 values on each of 2 planes"),
            (["mode: generated", "count: 4", "fields: [{width: 8, format_width: 16, init: 256}]"], "256"),
            (["count: 7"], "must be a multiple of 2")):
        config = lib.write_config("bad.yaml", "plane_count: 2\nev:\n" + "".join(f"  {line}\n" for line in lines))
        text = lib.run(2, program, "run", "--loopback", "--profile", "ring", "--config", config)
        check(said in text and "EAL" not in text, f"{lines}: '{said}' is not in {text}")
    print("ok: profiles that cannot be are refused")


lib.run_cases(automatic, explicit, generated, over_the_virtual_fabric, mistakes)
