#!/usr/bin/env python3
"""What the console costs a server: a headless Chromium has each screen open at a refresh of one second, beside a load.

The cost is the CPU time of the console's threads, as the server's ledger counts it. Prints also how long the first screen
takes and how large the page is. Fails if a screen costs more than 1 % of a core, or the first screen takes more than 300 ms.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/drivers"))
import browser  # noqa: E402
import devtools  # noqa: E402

BINARY = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/clearway")
SECONDS_EACH = float(sys.argv[2]) if len(sys.argv) > 2 else 20
PASSWORD = "Secret-Word1"
SCREENS = ["time", "now", "statements", "stacks", "waits", "memory", "events", "log", "panels"]
PERCENT_MAX, FIRST_MS_MAX, PAGE_BYTES_MAX = 1.0, 300.0, 300_000
SETUP = """CREATE TABLE dbo.stock (id int PRIMARY KEY, n int);
INSERT dbo.stock SELECT value, 0 FROM GENERATE_SERIES(1, 1000)"""
LOAD = "UPDATE dbo.stock SET n = n + 1 WHERE id = 7; WAITFOR DELAY '00:00:00.005'"
COST = """SELECT t.os_thread_id, SUM(t.on_cpu_ns), MAX(i.ms_ticks) FROM sys.dm_os_thread_ledger AS t
CROSS JOIN sys.dm_os_sys_info AS i WHERE t.thread_name LIKE N'console%' GROUP BY t.os_thread_id"""


def main() -> int:
    chromium = browser.find()
    if not chromium:
        print(browser.MISSING)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as out:
            server = subprocess.Popen([BINARY, "serve", "--port", "0", "--console", "0", "--sa-password", PASSWORD], stdout=out)
        load = None
        try:
            while "is ready" not in log.read_text():
                time.sleep(0.05)
            url = re.search(r"Console: (http\S+)", log.read_text())[1]
            at = "127.0.0.1," + re.search(r"is ready: \S+:(\d+)", log.read_text())[1]
            sql(at, SETUP)
            arguments = ["-S", at, "-P", PASSWORD, "-n", "8", "-r", "1000000000", "-q", "-Q", LOAD]
            load = subprocess.Popen([BINARY, "stress", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with devtools.Browser(chromium, Path(folder)) as driven:
                return measure(driven, url, at)
        finally:
            for process in filter(None, (load, server)):
                process.terminate()
                process.wait(20)


def sql(at: str, text: str) -> list[str]:
    command = [BINARY, "sql", "-S", at, "-U", "sa", "-P", PASSWORD, "-b", "--format", "csv", "-Q", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def cost(at: str) -> tuple[dict[str, int], int]:
    """The CPU time of each of the console's threads, and the server's clock in milliseconds."""
    lines = [line.split(",") for line in sql(at, COST) if re.fullmatch(r"\d+,\d+,\d+", line)]
    return {thread: int(ns) for thread, ns, _ in lines}, max(int(ms) for _, _, ms in lines)


def share(before: tuple[dict[str, int], int], after: tuple[dict[str, int], int]) -> float:
    """Percent of a core between two readings. What a thread did that ended in between is not known: an idle connection's."""
    ns = sum(spent - before[0].get(thread, 0) for thread, spent in after[0].items())
    return ns / (after[1] - before[1]) / 1e4


def measure(driven: devtools.Browser, url: str, at: str) -> int:
    failed = False
    page = driven.page(1280, 900)
    page.go(url)
    page.wait("document.querySelector('#password')")
    page.type("#password", PASSWORD)
    # From the answer to the login to the first picture, by the browser's clock.
    page.run("""new PerformanceObserver(list => { for (const one of list.getEntries())
        if (one.name.endsWith('/api/login')) globalThis.admitted = one.responseEnd; }).observe({type: 'resource'});
        new MutationObserver(() => { if (document.querySelector('.chart') && !globalThis.drawn) requestAnimationFrame(() => { globalThis.drawn = performance.now(); }); })
        .observe(document.body, {childList: true, subtree: true}); 0""")
    page.click("button[type=submit]")
    page.wait("globalThis.drawn && globalThis.admitted")
    first = page.run("drawn - admitted")
    failed |= first > FIRST_MS_MAX
    print(f"first screen  {first:.0f} ms")
    files = page.run("performance.getEntriesByType('resource').filter(one => !one.name.includes('/api/')).map(one => one.name)")
    size = sum(len(urllib.request.urlopen(one).read()) for one in {url, *files})
    failed |= size > PAGE_BYTES_MAX
    print(f"page          {size / 1000:.0f} KB in {len({url, *files})} files")
    for screen in SCREENS:
        page.run(f"location.hash = '#{screen}'")
        time.sleep(5)
        before = cost(at)
        time.sleep(SECONDS_EACH)
        percent = share(before, cost(at))
        failed |= percent > PERCENT_MAX
        print(f"{screen:12} {percent:5.2f} % of a core")
    return int(failed)


sys.exit(main())
