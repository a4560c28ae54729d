# SPDX-License-Identifier: BSD-3-Clause
"""Chromium without a screen and without a network, through the DevTools protocol over a pipe: standard library only."""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TIMEOUT_S = 120


def find():
    """The browser's program, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


def without_network():
    """A prefix that takes the network away altogether, where we may: the page must not miss it."""
    unshare = ["unshare", "--net", "--"]
    try:
        if subprocess.run(unshare + ["true"], capture_output=True).returncode == 0:
            return unshare
    except FileNotFoundError:
        pass
    return []


class Browser:
    """One page of one browser. `messages` keeps every event, in order."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.log = open(Path(self.profile.name) / "browser.log", "w+")
        command_read, self.to_browser = os.pipe()
        self.from_browser, event_write = os.pipe()
        program = without_network() + [
            find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={width},{height}", "--hide-scrollbars",
            f"--user-data-dir={self.profile.name}/profile", "--remote-debugging-pipe", "about:blank"]

        def take_pipes():  # the protocol wants descriptors 3 and 4
            a, b = os.dup(command_read), os.dup(event_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        close_fds=False, preexec_fn=take_pipes)
        os.close(command_read)
        os.close(event_write)
        self.buffer, self.next_id, self.messages, self.session = b"", 0, [], None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()
        self.profile.cleanup()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.from_browser, 1 << 20) if ready else b""
            if not data:
                self.log.seek(0)
                sys.exit(f"the browser {'ended' if ready else 'did not answer'}; its last words:\n{self.log.read()[-2000:]}")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.messages.append(answer)

    def open(self, path):
        """Loads a file and waits until it is drawn."""
        self.messages.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        deadline = time.monotonic() + TIMEOUT_S
        while not any(m["method"] == "Page.loadEventFired" for m in self.messages):
            self.messages.append(self.receive(deadline))
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def complaints(self):
        """Errors and warnings of the console, exceptions, and requests for anything but the file and its own data."""
        bad = []
        for m in self.messages:
            p = m["params"]
            if m["method"] == "Runtime.exceptionThrown":
                bad.append(p["exceptionDetails"]["text"] + " " + p["exceptionDetails"].get("exception", {}).get("description", ""))
            elif m["method"] == "Runtime.consoleAPICalled":
                bad.append(f"console: {p['args']}")
            elif m["method"] == "Log.entryAdded":
                bad.append(f"log: {p['entry']['text']}")
            elif m["method"] == "Network.loadingFailed":
                bad.append(f"a request failed: {p}")
            elif m["method"] == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("data:", "file:")):
                bad.append(f"a request left the file: {p['request']['url']}")
        files = [m["params"]["request"]["url"] for m in self.messages
                 if m["method"] == "Network.requestWillBeSent" and m["params"]["request"]["url"].startswith("file:")]
        if len(files) > 1:
            bad.append(f"more than one file was read: {files}")
        return bad

    def theme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
