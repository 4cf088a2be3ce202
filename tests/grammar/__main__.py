"""Compares our parser with Microsoft's own, ScriptDom, on the batches of this repository and on mutants of them.

    python tests/grammar [--mutants N] [--seed S] [--server BINARY] [--corners]

A text that one side accepts and the other refuses is a difference; exit code 1 if there is one that `exceptions.py`
has no name for. What our parser accepts and ScriptDom refuses is then sent to a server, which refuses more:
where the binder or a definition says no, the sides agree. `--corners` compares `texts.txt` alone, which is what CI
does; without ScriptDom (`tests/setup.sh` could not install it) nothing is compared, and that is said.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import exceptions  # noqa: E402
import oracle  # noqa: E402
import texts  # noqa: E402

# A server starts anew with empty tables after so many texts.
PER_DATABASE = 60
SHOWN_MAX = 60


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=4, help="mutants of each batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", default=None)
    parser.add_argument("--corners", action="store_true", help="only texts.txt")
    arguments = parser.parse_args()
    if arguments.server:
        os.environ["CLEARWAY_BIN"] = arguments.server
    if not oracle.SCRIPTDOM.exists():
        print(f"grammar: skipped, {oracle.SCRIPTDOM} is not there: tests/setup.sh installs it")
        return 0
    oracle.build()
    compared = corpus(arguments)
    accepted, refused = differences(compared)
    accepted = after_the_server(accepted)
    unnamed, named = [], Counter()
    for difference in [*accepted, *refused]:
        name = exceptions.name_of(difference)
        if name is None:
            unnamed.append(difference)
        else:
            named[name] += 1
    for difference in unnamed[:SHOWN_MAX]:
        print(difference.described())
    for name, count in named.most_common():
        print(f"  {count:6} {name}")
    print(f"seed {arguments.seed}: {len(compared)} texts compared, {sum(named.values())} named differences, {len(unnamed)} others")
    return 1 if unnamed else 0


def corpus(arguments) -> list[str]:
    if arguments.corners:
        return texts.corners()
    whole = texts.corners() + texts.scripts() + texts.examples() + texts.sqllogictest() + oracle.productions()
    whole = sorted({*whole, *texts.generated(arguments.seed, 200), *texts.in_rust()})
    return whole + mutants(whole, arguments)


def mutants(whole: list[str], arguments) -> list[str]:
    """Mutants of the batches that both sides accept."""
    short = [text for text in whole if len(text) <= texts.MUTATED_CHARS_MAX]
    both = [text for text, a, b in zip(short, oracle.ours(short), oracle.theirs(short)) if a.accepted and b.accepted]
    words = sorted({token.upper() for text in both for _, token in texts.tokens(text) if texts.WORD.match(token)})
    found = []
    for text in both:
        # Of the text, so that a new script has new mutants and the others have the same.
        rng = random.Random(f"{arguments.seed}:{text}")
        found += texts.mutants(text, words, rng, arguments.mutants)
    return sorted({text for _, text in found})


def differences(compared: list[str]):
    """Returns what only we accept, and what only we refuse."""
    pairs = [exceptions.Difference(*each) for each in zip(compared, oracle.ours(compared), oracle.theirs(compared))]
    accepted = [each for each in pairs if each.ours.accepted and not each.theirs.accepted]
    return accepted, [each for each in pairs if each.theirs.accepted and not each.ours.accepted]


def after_the_server(accepted: list) -> list:
    """Leaves out what a server refuses for a reason that is not a missing name."""
    sys.path.insert(0, str(HERE.parent / "differential"))
    from engines import Clearway, TooSlow

    left = []
    with tempfile.TemporaryDirectory() as folder:
        server = Clearway(Path(folder))
        # The texts make databases too: `d3`.
        server.databases = 10_000
        try:
            for number, difference in enumerate(accepted):
                if exceptions.is_dangerous(difference.text):
                    left.append(difference)
                    continue
                if number % PER_DATABASE == 0:
                    server.use(exceptions.TABLES)
                else:
                    server.connect(server.database)
                server.run(exceptions.FRESH)
                try:
                    outcome = server.run(difference.text)
                except TooSlow:
                    left.append(difference)
                    continue
                if outcome.error is None or exceptions.is_of_names(outcome.number):
                    left.append(difference.with_number(outcome.number or 0))
        finally:
            server.stop()
    return left


if __name__ == "__main__":
    sys.exit(main())
