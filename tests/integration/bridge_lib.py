# SPDX-License-Identifier: BSD-3-Clause
"""A cable with a person in the middle: two endpoints in namespaces a and b, each plane led through a third one where Python
forwards every frame, or does something else with it. Some ten thousand frames a second, so keep runs small."""
import collections
import os
import select
import socket
import threading

import netns_lib


class Bridge:
    """A netns_lib.Veth to the tests (.a, .b, .planes). `edit(plane, from_serve, frame)` returns the frames to pass on.
    taken[plane, from_serve] and passed_on[plane, from_serve] count frames before and behind it; final after close()."""

    def __init__(self, planes, mtu=1500):
        self.a, self.b, self.c = (netns_lib.new_namespace(n) for n in "abc")
        self.planes = planes
        ends = []
        for i in range(planes):
            for netns, side in ((self.a, "l"), (self.b, "r")):
                netns_lib.join(netns, f"d{i}", self.c, f"{side}{i}", mtu)
                ends.append(f"{side}{i}")
        netns_lib.join(self.a, "mgmt", self.b, "mgmt", 1500, (netns_lib.Veth.A + "/24", netns_lib.Veth.B + "/24"))
        self.edit = lambda plane, from_serve, frame: (frame,)
        self.error = None
        self.taken, self.passed_on = collections.Counter(), collections.Counter()
        with netns_lib.entered(self.c):
            self.sockets = [netns_lib.raw_socket(end) for end in ends]
        self.wake = os.pipe()
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self):
        ends = {s.fileno(): i for i, s in enumerate(self.sockets)}
        poll = select.poll()
        for fd in (*ends, self.wake[0]):
            poll.register(fd, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wake[0]:
                    for end in ends.values():
                        while self.forward(end):
                            pass
                    return
                self.forward(ends[fd])

    def forward(self, end):
        """At most 64 frames of that end; False: it has no more."""
        for _ in range(64):
            try:
                frame, address = self.sockets[end].recvfrom(65536, socket.MSG_DONTWAIT)
            except (BlockingIOError, OSError):
                return False
            if address[2] == socket.PACKET_OUTGOING:
                continue
            way = (end // 2, end % 2 == 0)
            self.taken[way] += 1
            try:
                out = self.edit(*way, frame)
            except Exception as error:  # noqa: BLE001 (shown by the test that waits)
                self.error, out = error, (frame,)
            for f in out:
                try:
                    self.sockets[end ^ 1].send(f)
                    self.passed_on[way] += 1
                except OSError:
                    pass  # its end is gone
        return True

    def close(self):
        os.write(self.wake[1], b"x")
        self.thread.join()
        for s in self.sockets:
            s.close()
        if self.error is not None:
            raise self.error
