"""The reports of `stress`, `lab` and `profile` in a headless Chromium: drawn where they should be, and without an error."""

import re
import subprocess

import browser
import harness
import pytest


@pytest.fixture(scope="module")
def chromium():
    found = browser.find()
    if not found:
        pytest.skip(browser.MISSING)
    return found


@pytest.fixture(scope="module")
def stress_report(server, tmp_path_factory):
    """A sweep, so that there are charts over connections as well as over time."""
    page = tmp_path_factory.mktemp("stress") / "report.html"
    command = [server.binary, "stress", "-S", f"127.0.0.1,{server.port}", "-P", harness.PASSWORD, "-Q", "select 1"]
    command += ["--sweep", "1,2,4,8", "--duration", "2500ms", "-q", "--html", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    return page


def curves_are_drawn(shapes, picture):
    """Every point of every curve has ink of its colour, and its chart is not full of it."""
    found = shapes["found"]
    assert found
    for place, shape in enumerate(found):
        # What comes later in the same chart may lie on top.
        colors = {later["color"] for later in found[place:] if later["chart"] == shape["chart"]}
        for x, y in shape["spots"]:
            inked = any(picture.has_near(x, y, color) for color in colors)
            assert inked, (shape["title"], shape["color"], x, y)
    for box in shapes["charts"]:
        counts = picture.colors(box)
        assert counts[(255, 255, 255)] > 0.8 * sum(counts.values()), "a chart is mostly paper"


def test_curves_of_a_stress_report_are_where_their_points_are(chromium, stress_report, tmp_path):
    shapes, console, picture = browser.look(chromium, tmp_path, stress_report)
    assert console == []
    titles = [shape["title"] for shape in shapes["found"]]
    for title in ["Requests per second", "Latency, ms", "Residuals of the scalability law"]:
        assert title in titles, titles
    curves_are_drawn(shapes, picture)


def test_a_report_without_its_curves_would_be_noticed(chromium, stress_report, tmp_path):
    """The same page with its curves made invisible: the ink must be missing then."""
    page = tmp_path / "blank.html"
    page.write_text(stress_report.read_text().replace("</style>", "polyline,circle{visibility:hidden}</style>"))
    shapes, _, picture = browser.look(chromium, tmp_path, page)
    with pytest.raises(AssertionError):
        curves_are_drawn(shapes, picture)


def test_an_error_of_a_page_would_be_noticed(chromium, tmp_path):
    page = tmp_path / "wrong.html"
    page.write_text("<!DOCTYPE html><html><body><script>nobody.knows()</script></body></html>")
    _, console = browser.run(chromium, tmp_path, page, "--dump-dom")
    assert any("nobody is not defined" in line for line in console), console


def test_the_lab_report_has_its_charts_and_two_flame_graphs(chromium, server, tmp_path):
    page = tmp_path / "lab.html"
    command = [server.binary, "lab", "hashbytes", "--turn", "500ms", "--rounds", "1", "-q", "--html", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    shapes, console, picture = browser.look(chromium, tmp_path, page)
    assert console == []
    curves_are_drawn(shapes, picture)
    assert len(shapes["frames"]) == 2 and shapes["zoomed"] == [True, True]
    for box in shapes["frames"]:
        flames_are_drawn(picture, box)


def flames_are_drawn(picture, box):
    """There are boxes on the paper, in many colours, and text on them."""
    paper = (0xF8, 0xF6, 0xEE)
    counts = picture.colors(box)

    def is_ink(color):
        return color != (255, 255, 255) and sum(abs(a - b) for a, b in zip(color, paper)) > 12

    inked = sum(count for color, count in counts.items() if is_ink(color))
    assert inked > 0.02 * sum(counts.values()), f"{inked} of {sum(counts.values())}"
    assert len(counts) > 20, "boxes, text and its edges have more colours"


def test_a_flame_graph_is_drawn(chromium, server, tmp_path):
    graph = tmp_path / "cpu.svg"
    command = [server.binary, "profile", "-S", f"127.0.0.1,{server.port}", "-P", harness.PASSWORD, "--all", "-o", str(graph)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shot = tmp_path / "cpu.png"
    height = int(float(re.search(r' height="([0-9.]+)"', graph.read_text()).group(1)))
    _, console = browser.run(chromium, tmp_path, graph, f"--window-size=1200,{height}", f"--screenshot={shot}")
    assert console == []
    flames_are_drawn(browser.Picture(shot), [0, 0, 1200, height])
