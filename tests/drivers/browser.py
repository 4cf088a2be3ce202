"""A headless Chromium: what a page says, where its curves are, and the pixels that it draws.

The page is looked at as it is; only a copy gets a script that writes down where its shapes are on the screen.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

WIDTH = 1000
SECONDS_MAX = 240
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell"]
MISSING = "no Chromium along PATH (install the package chromium, or set CHROMIUM to its path)"

PROBE = """
<script>
addEventListener('load', () => {
  const found = [];
  const at = (shape, x, y) => {
    const spot = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM());
    return [spot.x + scrollX, spot.y + scrollY];
  };
  let chart = 0;
  for (const svg of document.querySelectorAll('svg')) {
    chart += 1;
    const title = svg.querySelector('text').textContent;
    for (const line of svg.querySelectorAll('polyline'))
      found.push({chart, title, color: line.getAttribute('stroke'), spots: [...line.points].map(p => at(line, p.x, p.y))});
    for (const dot of svg.querySelectorAll('circle'))
      found.push({chart, title, color: dot.getAttribute('fill'), spots: [at(dot, +dot.getAttribute('cx'), +dot.getAttribute('cy'))]});
  }
  const box = shape => { const b = shape.getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; };
  const frames = [...document.querySelectorAll('iframe')].map(box);
  /* A click on a function of a flame graph zooms, and shows the way back. */
  const zoomed = [...document.querySelectorAll('iframe')].map(frame => {
    const inner = frame.contentDocument, functions = inner.querySelectorAll('.f');
    functions[functions.length - 1].dispatchEvent(new MouseEvent('click', {bubbles: true}));
    return !inner.getElementById('reset').classList.contains('out');
  });
  const charts = [...document.querySelectorAll('svg')].map(box);
  const probe = document.createElement('pre');
  probe.id = 'probe';
  probe.hidden = true;
  probe.textContent = JSON.stringify({found, frames, zoomed, charts, height: document.documentElement.scrollHeight});
  document.body.append(probe);
});
</script>
"""


def find() -> str | None:
    """The browser, if there is one."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    return next((path for path in map(shutil.which, NAMES) if path), None)


def run(browser: str, folder: Path, page: Path, *flags: str) -> tuple[str, list[str]]:
    """What it writes to stdout, and the lines of the page's console."""
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-extensions", "--enable-logging=stderr"]
    command += [f"--user-data-dir={folder / 'browser'}", "--virtual-time-budget=3000", *flags, page.as_uri()]
    environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS_MAX, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def look(browser: str, folder: Path, page: Path) -> tuple[dict, list[str], "Picture"]:
    """Where the shapes of a page are, what its console says, and a picture of it down to the last chart or frame."""
    probed = folder / f"probed-{page.name}"
    text = page.read_text(encoding="utf-8")
    assert text.count("</body>") == 1
    probed.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    size = f"--window-size={WIDTH},900"
    dom, said = run(browser, folder, probed, size, "--dump-dom")
    found = re.search(r'<pre id="probe"[^>]*>(.*?)</pre>', dom, re.DOTALL)
    assert found, "the probe ran"
    shapes = json.loads(html.unescape(found.group(1)))
    bottom = max(y + height for _, y, _, height in shapes["charts"] + shapes["frames"])
    shot = folder / f"{page.stem}.png"
    _, more = run(browser, folder, page, f"--window-size={WIDTH},{int(bottom) + 20}", f"--screenshot={shot}")
    return shapes, said + more, Picture(shot)


class Picture:
    """A PNG of 8 bits and no interlacing, which is what Chromium writes."""

    def __init__(self, path: Path):
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at : at + 8])
            body = data[at + 8 : at + 8 + length]
            at += length + 12
            if kind == b"IHDR":
                self.width, self.height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
                assert (depth, interlace) == (8, 0) and color in (2, 6), (depth, color, interlace)
                self.bytes_each = 3 if color == 2 else 4
            elif kind == b"IDAT":
                packed += body
        self.rows = list(self._rows(zlib.decompress(packed)))

    def _rows(self, data: bytes):
        """Undoes the filters: PNG specification, clause 9."""
        each, stride = self.bytes_each, self.width * self.bytes_each
        before = bytearray(stride)
        for start in range(0, len(data), stride + 1):
            kind, row = data[start], bytearray(data[start + 1 : start + 1 + stride])
            if kind == 1:
                for i in range(each, stride):
                    row[i] = (row[i] + row[i - each]) & 255
            elif kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, before))
            elif kind == 3:
                for i in range(stride):
                    left = row[i - each] if i >= each else 0
                    row[i] = (row[i] + (left + before[i]) // 2) & 255
            elif kind == 4:
                for i in range(stride):
                    left, up = (row[i - each] if i >= each else 0), before[i]
                    corner = before[i - each] if i >= each else 0
                    guess = left + up - corner
                    distances = abs(guess - left), abs(guess - up), abs(guess - corner)
                    row[i] = (row[i] + (left, up, corner)[distances.index(min(distances))]) & 255
            before = row
            yield row

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        start = x * self.bytes_each
        return tuple(self.rows[y][start : start + 3])

    def has_near(self, x: float, y: float, color: str, reach: int = 2) -> bool:
        """Whether there is ink of this colour at a place, or so many pixels beside it."""
        wanted = tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))
        spots = (
            (round(x) + across, round(y) + down)
            for across in range(-reach, reach + 1)
            for down in range(-reach, reach + 1)
        )
        inside = ((x, y) for x, y in spots if 0 <= x < self.width and 0 <= y < self.height)
        return any(sum(abs(a - b) for a, b in zip(self.pixel(*spot), wanted)) < 150 for spot in inside)

    def colors(self, box: list[float]) -> dict[tuple[int, int, int], int]:
        """How often each colour is in a box; every second pixel of every second row is looked at."""
        left, top, width, height = map(int, box)
        counts: dict[tuple[int, int, int], int] = {}
        for y in range(top, min(top + height, self.height), 2):
            for x in range(left, min(left + width, self.width), 2):
                color = self.pixel(x, y)
                counts[color] = counts.get(color, 0) + 1
        return counts
