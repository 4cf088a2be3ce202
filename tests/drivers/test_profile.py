"""`clearway profile` of a server under load: the hot function is named, and each form is what its readers expect.

Nothing here shares code with the writers: XML and JSON by Python's own parsers, pprof by a walk over its fields.
"""

import gzip
import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree

import harness
import pytest

HOT = "sha512"
TEXT = "SELECT HASHBYTES('SHA2_512', REPLICATE(CAST('x' AS varchar(max)), 100000))"


def run(server, *arguments, verb="profile"):
    command = [server.binary, verb, "-S", f"127.0.0.1,{server.port}", "-P", harness.PASSWORD, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A server that hashes, and the four files of one window each."""
    folder = tmp_path_factory.mktemp("profile")
    server = harness.Server(folder)
    load = subprocess.Popen(
        [server.binary, "stress", "-S", f"127.0.0.1,{server.port}", "-P", harness.PASSWORD, "-Q", TEXT, "-n", "2"]
        + ["--duration", "60s", "-q"],
        stdout=subprocess.DEVNULL,
    )
    files = {}
    try:
        for form in ["svg", "folded", "pb.gz", "json"]:
            files[form] = folder / f"cpu.{form}"
            done = run(server, "--seconds", "2s", "-o", str(files[form]))
            assert done.returncode == 0, done.stderr
            files[form, "said"] = done.stderr
        files["diff"] = folder / "diff.svg"
        done = run(server, "--seconds", "1s", "-o", str(files["diff"]), "--base", str(files["folded"]))
        assert done.returncode == 0, done.stderr
        for kind in ["wait", "allocations"]:
            files[kind] = folder / f"{kind}.folded"
            done = run(server, "--all", f"--{kind}", "-o", str(files[kind]))
            assert done.returncode == 0, done.stderr
        yield server, files
    finally:
        load.kill()
        load.wait()
        server.stop()


def folds(path):
    for line in path.read_text().splitlines():
        stack, weight = line.rsplit(" ", 1)
        yield stack.split(";"), int(weight)


def test_folded_stacks_name_the_hot_function(busy):
    _, files = busy
    stacks = list(folds(files["folded"]))
    total = sum(weight for _, weight in stacks)
    hot = sum(weight for names, weight in stacks if any(HOT in name for name in names))
    assert hot > 0.6 * total, f"{hot} of {total}"
    # The life of a request is on the stack: from the thread's loop through the session to the function.
    names = max(stacks, key=lambda stack: stack[1])[0]
    text = "\n".join(names)
    assert text.index("sos::sched") < text.index("engine::session") < text.index(HOT), text


def test_samples_are_named_with_file_and_line(busy):
    _, files = busy
    said = files["folded", "said"]
    share = float(said.split(" % of them")[0].rsplit(" ", 1)[1])
    assert share >= 99.0, said


def test_the_flame_graph_is_one_well_formed_file(busy):
    _, files = busy
    for form in ["svg", "diff"]:
        text = files[form].read_text()
        root = ElementTree.fromstring(text)
        space = "{http://www.w3.org/2000/svg}"
        assert root.tag == space + "svg"
        frames = [g for g in root.iter(space + "g") if g.get("class") == "f"]
        assert any(HOT in g.get("data-n") for g in frames)
        assert "href" not in text.replace("xmlns", ""), "nothing is fetched from elsewhere"
        by_row = {}
        for g in frames:
            x, w = float(g.get("data-x")), float(g.get("data-w"))
            assert 0 <= x and x + w <= 1.000001
            by_row.setdefault(g.find(space + "rect").get("y"), []).append((x, w))
            assert g.find(space + "title").text.startswith(g.get("data-n"))
        for row in by_row.values():
            row.sort()
            assert all(a[0] + a[1] <= b[0] + 1e-6 for a, b in zip(row, row[1:])), "neighbours do not overlap"
    assert "points" in files["diff"].read_text()


def test_speedscope_has_the_fields_of_its_schema(busy):
    _, files = busy
    file = json.loads(files["json"].read_text())
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = file["shared"]["frames"]
    (profile,) = file["profiles"]
    assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
    assert len(profile["samples"]) == len(profile["weights"])
    assert profile["endValue"] == sum(profile["weights"])
    assert all(0 <= at < len(frames) for sample in profile["samples"] for at in sample)
    assert any(HOT in frame["name"] and frame["line"] > 0 for frame in frames)


def fields(data):
    """The fields of a protobuf message: number and value; bytes stay bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            length = varint()
            assert at + length <= len(data)
            yield key >> 3, data[at : at + length]
            at += length


def numbers(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def test_pprof_refers_to_what_it_has(busy):
    _, files = busy
    all_fields = list(fields(gzip.decompress(files["pb.gz"].read_bytes())))
    strings = [value.decode() for number, value in all_fields if number == 6]
    assert strings[0] == ""
    of = lambda wanted: [list(fields(value)) for number, value in all_fields if number == wanted]  # noqa: E731
    types = [[strings[value] for _, value in sorted(kind)] for kind in of(1)]
    assert types == [["samples", "count"], ["cpu", "nanoseconds"]]
    functions = {dict(function)[1]: strings[dict(function)[2]] for function in of(5)}
    mappings = {dict(mapping)[1]: strings[dict(mapping)[5]] for mapping in of(3)}
    assert "clearway" in "".join(mappings.values())
    locations = {}
    for location in of(4):
        lines = [dict(fields(value)) for number, value in location if number == 4]
        assert dict(location)[2] in mappings
        locations[dict(location)[1]] = [functions[line[1]] for line in lines]
    hot = total = 0
    for sample in of(2):
        sample_fields = dict((number, value) for number, value in sample if number != 3)
        values = list(numbers(sample_fields[2]))
        names = [name for at in numbers(sample_fields[1]) for name in locations[at]]
        labels = [dict(fields(value)) for number, value in sample if number == 3]
        assert {strings[label[1]] for label in labels} == {"label", "state"}
        total += values[1]
        hot += values[1] if any(HOT in name for name in names) else 0
    period = dict((number, value) for number, value in all_fields if number == 12)[12]
    assert period == 1_000_000_000 // 97
    assert hot > 0.6 * total > 0


def test_waits_and_allocations_end_in_what_they_are(busy):
    _, files = busy
    assert any("MEMORYCLERK" in names[-1] or "CACHESTORE" in names[-1] for names, _ in folds(files["allocations"]))
    assert all(names[-1].startswith("[") for names, _ in folds(files["wait"]))


def test_what_can_not_be_is_said_in_one_line(busy, tmp_path):
    server, files = busy
    for arguments, expected in [
        (["-o", "x.png"], "it ends in .svg, .folded, .pb.gz or .json"),
        (["-o", str(tmp_path / "x.json"), "--base", str(files["folded"])], "--out must end in .svg"),
        (["-o", str(tmp_path / "x.svg"), "--base", str(files["svg"])], "line 1 is not a folded stack"),
        (["-o", str(tmp_path / "no" / "x.svg"), "--seconds", "10ms"], "No such file or directory"),
        (["-o", str(tmp_path / "x.svg"), "-P", "wrong"], "Login failed"),
    ]:
        done = run(server, *arguments)
        assert done.returncode == 2, done
        assert expected in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_server_whose_sampler_is_off_is_named(tmp_path):
    server = harness.Server(tmp_path, "--sampling-rate", "0")
    try:
        done = run(server, "-o", str(tmp_path / "x.svg"))
        assert done.returncode == 2 and "sampler is off" in done.stderr, done.stderr
    finally:
        server.stop()
    assert "Sampler: off\n" in server.lines, server.lines
    wrong = subprocess.run([server.binary, "serve", "--sampling-rate", "250"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "expected a number from 0 to 249" in wrong.stderr, wrong.stderr
    assert not os.path.exists(tmp_path / "x.svg")
