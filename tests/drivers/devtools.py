"""A headless Chromium that is driven: the DevTools protocol over two pipes, without a library.

Messages are JSON, each ended by a zero byte. `Page` keeps what the page's console says and every failed load.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe", "--force-prefers-reduced-motion"]
SECONDS_MAX = 30


class Browser:
    """A browser process. `with` ends it."""

    def __init__(self, program: str, folder: Path):
        to_browser, self.sends = os.pipe()
        self.reads, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={folder / 'driven'}", "about:blank"]
        environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        self.process = subprocess.Popen(
            command, pass_fds=(to_browser, from_browser), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.events, self.targets = 0, b"", [], []

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        os.close(self.sends)
        os.close(self.reads)

    def _receive(self, deadline: float) -> dict:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reads], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self.reads, 1 << 16)
            assert read, "the browser has ended"
            self.buffer += read
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **parameters) -> dict:
        """Calls a method and returns its result; events that come first are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.sends, data) :]
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def page(self, width: int, height: int, dark: bool = False) -> "Page":
        """Opens an empty page in a context of its own: without the cookies of others."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.targets.append(target)
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, width, height, dark)

    def close_pages(self) -> None:
        """Closes all pages, with what they still do."""
        while self.targets:
            self.call("Target.closeTarget", targetId=self.targets.pop())


class Page:
    """A page of a browser."""

    def __init__(self, browser: Browser, session: str, width: int, height: int, dark: bool):
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def call(self, method: str, **parameters) -> dict:
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def go(self, url: str) -> None:
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, answer

    def run(self, script: str):
        """The value of an expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 15):
        """Waits until an expression is true."""
        deadline = time.monotonic() + seconds
        while True:
            value = self.run(f"Boolean({condition})")
            if value:
                return value
            assert time.monotonic() < deadline, f"{condition} has not become true; the page says {self.run('document.body.innerText')[:1500]!r}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector: str, text: str) -> None:
        """Puts text into a field, as its user would."""
        self.run(f"(field => {{ field.focus(); field.select?.(); }})(document.querySelector({json.dumps(selector)}))")
        self.call("Input.insertText", text=text)

    def key(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Presses the mouse at one place and lets it go at another."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=start[0], y=start[1])
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], button="left", buttons=1, clickCount=1)
        for part in (0.3, 0.7, 1.0):
            at = [a + (b - a) * part for a, b in zip(start, end)]
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1], button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)

    def shot(self, path: Path) -> None:
        """Writes a picture of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """What the console and the log of the page have said since the last call: warnings, errors, exceptions, failed loads."""
        self.run("0")
        found, kept = [], []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                kept.append(event)
                continue
            method, data = event["method"], event["params"]
            if method == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
                found.append(f"console.{data['type']}: {[one.get('value', one.get('description')) for one in data['args']]}")
            elif method == "Runtime.exceptionThrown":
                found.append(f"exception: {data['exceptionDetails'].get('exception', data['exceptionDetails'])}")
            elif method == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {data['entry']['text']} {data['entry'].get('url', '')}")
        self.browser.events = kept
        return found
