"""The console in the browser, driven by a headless Chromium: every screen at two widths, and what its user does."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import browser
import devtools
import harness
import pymssql
import pytest
import requests

SCREENS = ["time", "now", "statements", "stacks", "waits", "memory", "events", "verdict", "log", "panels", "query"]
AXE = harness.HERE / "node/node_modules/axe-core/axe.min.js"
AXE_RUN = (
    "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(one =>"
    " `${one.id}: ${one.nodes.map(node => node.html.slice(0, 120)).slice(0, 3).join(' ')}`))"
)


def address(server: harness.Server) -> str:
    """Where the console of a server is, once the server says that it is ready."""
    deadline = time.monotonic() + 20
    while not any("is ready" in line for line in server.lines):
        assert time.monotonic() < deadline, server.lines
        time.sleep(0.02)
    return re.search(r"Console: (https?://[0-9.:]+/)", "".join(server.lines))[1]


class Console:
    """A server with a console, and a statement that waits for another one's row."""

    def __init__(self, folder: Path):
        self.server = harness.Server(folder, "--console", "0")
        self.url = address(self.server)
        self.held = self.connect()
        self.held.cursor().execute("CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT hot VALUES (1, 0)")
        self.held.autocommit(False)

    def connect(self):
        return pymssql.connect("127.0.0.1", harness.USER, harness.PASSWORD, port=str(self.server.port), autocommit=True)

    def block(self) -> threading.Thread:
        """One session holds the row, another waits for it until the first is killed."""
        self.held.cursor().execute("UPDATE hot SET n = 1 WHERE id = 1")

        def wait():
            with self.connect() as waiting:
                waiting.cursor().execute("UPDATE hot SET n = 2 WHERE id = 1")

        thread = threading.Thread(target=wait)
        thread.start()
        return thread


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    started = Console(tmp_path_factory.mktemp("console"))
    yield started
    assert started.server.stop() == 0


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    found = browser.find()
    if not found:
        pytest.skip(browser.MISSING)
    with devtools.Browser(found, tmp_path_factory.mktemp("chromium")) as browsing:
        yield browsing


@pytest.fixture
def chromium(started):
    yield started
    started.close_pages()


def open_console(chromium, console, width: int = 1280, dark: bool = False):
    page = chromium.page(width, 900, dark)
    page.go(console.url)
    page.wait("document.querySelector('#password')")
    page.type("#password", harness.PASSWORD)
    page.key("Enter", 13)
    page.click("button[type=submit]")
    page.wait("document.querySelector('.chart')")
    return page


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_every_screen_is_quiet_accessible_and_fits(chromium, console, tmp_path, width, dark):
    page = open_console(chromium, console, width, dark)
    if AXE.exists():
        page.run(AXE.read_text(encoding="utf-8") + ";0")
    for screen in SCREENS:
        page.run(f"location.hash = '#{screen}'")
        page.wait(f"document.querySelector('#tabs a[aria-current]').getAttribute('href').startsWith('#{screen}')")
        page.wait("!document.body.innerText.includes('Not read yet') && !document.body.innerText.includes('Reading.')")
        assert page.run("document.documentElement.scrollWidth") <= width, f"{screen} is wider than the window"
        cut = "[...document.querySelectorAll('caption span')].filter(one => one.getBoundingClientRect().right > innerWidth).length"
        assert page.run(cut) == 0, f"{screen} has a caption that is cut"
        assert page.run("document.getElementById('status').textContent") == "", screen
        assert page.run("document.querySelectorAll('main .alarm:not(:empty)').length") == 0, screen
        if AXE.exists():
            assert page.run(AXE_RUN) == [], screen
        page.shot(tmp_path / f"{screen}-{width}.png")
    assert page.complaints() == []


def test_login_is_refused_with_a_sentence(chromium, console):
    page = chromium.page(800, 600)
    page.go(console.url)
    page.wait("document.querySelector('#password')")
    page.type("#password", "wrong")
    page.click("button[type=submit]")
    page.wait("document.querySelector('[role=alert]').textContent.includes('wrong')")
    assert page.run("document.cookie") == "", "scripts do not see the cookie"


def test_a_drag_selects_a_window_and_the_link_keeps_it(chromium, console):
    page = open_console(chromium, console)
    page.wait("document.querySelectorAll('main table tbody tr').length > 5")
    box = json.loads(page.run("JSON.stringify(document.querySelector('.chart canvas').getBoundingClientRect())"))
    across = box["y"] + box["height"] / 2
    page.drag((box["x"] + box["width"] * 0.5, across), (box["x"] + box["width"] * 0.9, across))
    page.wait("location.hash.includes('window=')")
    page.wait("document.querySelector('main').innerText.includes('The tables show')")
    page.click("#tabs a[href^='#statements']")
    page.wait("location.hash.startsWith('#statements?window=')")
    link = page.run("location.href")
    page.go("about:blank")
    page.go(link)
    page.wait("document.querySelector('#unselect')")
    page.key("Escape", 27)
    page.wait("!location.hash.includes('window=')")
    assert page.complaints() == []


def test_a_blocker_is_seen_and_killed(chromium, console):
    waiting = console.block()
    page = open_console(chromium, console)
    page.run("location.hash = '#now'")
    page.wait("document.querySelector('.tree').innerText.includes('LCK_M_')")
    page.wait("document.querySelectorAll('tr.waits').length === 1")
    blocker = page.run("Number(document.querySelector('.tree button').dataset.key.split(' ')[1])")
    page.click(".tree button")
    assert f"Kill session {blocker}?" in page.run("document.querySelector('dialog').innerText")
    page.click("#kill-yes")
    page.wait("document.querySelector('.tree').innerText.includes('No request waits')")
    waiting.join(20)
    assert not waiting.is_alive(), "the row is free"
    assert page.complaints() == []


def test_a_plan_is_a_picture(chromium, console):
    page = open_console(chromium, console)
    with console.connect() as other:
        for _ in range(3):
            other.cursor().execute("SELECT COUNT(*) FROM sys.all_objects AS a JOIN sys.all_columns AS c ON c.object_id = a.object_id")
    page.run("location.hash = '#statements'")
    page.wait("document.querySelector('main tbody button')")
    page.click("main tbody button")
    page.wait("document.querySelector('dialog svg g[role=button]')")
    page.run("document.querySelector('dialog svg g[role=button]').focus()")
    assert "PhysicalOp" in page.run("document.querySelector('dialog').innerText")
    page.key("Escape", 27)
    page.wait("!document.querySelector('dialog')")
    assert page.complaints() == []


def test_a_flame_graph_zooms_and_goes_back(chromium, console):
    page = open_console(chromium, console)
    page.run("location.hash = '#stacks'")
    page.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'Since the start').click()")
    page.wait("document.querySelectorAll('.flame button').length > 3")
    whole = page.run("document.querySelectorAll('.flame button').length")
    page.run("document.querySelectorAll('.flame button')[whole = document.querySelectorAll('.flame button').length - 1].click()")
    page.wait(f"document.querySelectorAll('.flame button').length < {whole} && !document.querySelector('#flame-reset').hidden")
    page.key("Escape", 27)
    page.wait(f"document.querySelectorAll('.flame button').length >= {whole} && document.querySelector('#flame-reset').hidden")
    assert page.complaints() == []


def test_the_query_page_shows_tables_charts_and_errors(chromium, console):
    page = open_console(chromium, console)
    page.run("location.hash = '#query?sql=SELECT%201%20AS%20planted'")
    page.wait("document.querySelector('#sql')")
    time.sleep(0.3)
    assert page.run("document.querySelector('#results').textContent") == "", "a link runs nothing"
    markup = "<img src=x onerror=alert(1)>"
    page.type("#sql", f"SELECT value AS n, N'{markup}' AS t FROM GENERATE_SERIES(1, 5); SELECT 1/0")
    page.key("Enter", 13, modifiers=2)
    page.wait("document.querySelector('#results').innerText.includes('8134')")
    assert markup in page.run("document.querySelector('#results').innerText"), "markup is text"
    assert page.run("document.querySelectorAll('#results img').length") == 0
    page.run("[...document.querySelectorAll('#results button')].find(one => one.textContent === 'Chart').click()")
    page.wait("document.querySelectorAll('#results .meter .fill').length === 5")
    assert page.complaints() == []


def test_beyond_this_machine_it_speaks_https_only(tmp_path):
    server = harness.Server(tmp_path, "--console", "0.0.0.0:0")
    try:
        port = re.fullmatch(r"https://0\.0\.0\.0:(\d+)/", address(server))[1]
        url = f"https://localhost:{port}"
        form = {"user": harness.USER, "password": harness.PASSWORD}
        with requests.Session() as session:
            session.verify, session.trust_env = str(server.cert), False
            answer = session.post(f"{url}/api/login", data=form, headers={"Origin": url}, timeout=10)
            assert answer.status_code == 200, answer.text
            cookie = answer.headers["Set-Cookie"]
            assert cookie.startswith("__Host-clearway-") and "; Secure" in cookie, cookie
            assert session.get(f"{url}/api/me", timeout=10).json()["user"] == harness.USER
        with pytest.raises(requests.ConnectionError):
            requests.get(f"http://localhost:{port}/", timeout=10)
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_the_verdict_on_a_queue_for_an_application_lock(chromium, console, tmp_path, width):
    done = threading.Event()

    def queue():
        with console.connect() as session:
            while not done.is_set():
                session.cursor().execute(
                    "BEGIN TRAN EXEC sp_getapplock 'turn', 'Exclusive' WAITFOR DELAY '00:00:00.050' COMMIT"
                )

    threads = [threading.Thread(target=queue) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        page = open_console(chromium, console, width)
        page.run("location.hash = '#verdict'")
        page.wait("document.querySelector('main button.primary')")
        page.click("main button.primary")
        page.wait("document.querySelector('main .sentence')", 90)
        page.shot(tmp_path / f"verdict-{width}.png")
        assert "application lock" in page.run("document.querySelector('main .sentence').textContent")
        assert "sp_getapplock" in page.run("document.querySelector('main .finding h3').textContent")
        text = page.run("document.querySelector('main').innerText")
        for part in ["Where the time goes", "waiting for locks", "What to do", "How to check", "Ruled out"]:
            assert part in text, text
        assert page.run("document.documentElement.scrollWidth") <= width
        if AXE.exists():
            page.run(AXE.read_text(encoding="utf-8") + ";0")
            assert page.run(AXE_RUN) == []
        page.click("main .finding a")
        page.wait("document.querySelector('textarea').value.includes('APPLICATION')")
        assert page.complaints() == []
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_server_that_goes_away_is_said_and_awaited(chromium, tmp_path):
    console = Console(tmp_path)
    page = open_console(chromium, console)
    console.held.close()
    console.server.stop()
    page.wait("document.querySelector('#status').textContent.includes('does not answer')")
