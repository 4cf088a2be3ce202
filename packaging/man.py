#!/usr/bin/env python3
"""Writes the manual pages and the completions of bash and zsh from `clearway --help`, so that they say what the binary says.

    man.py BINARY FOLDER

FOLDER gets clearway.1, a page for each verb (clearway-serve.1), `clearway.bash` and `_clearway`. The help text has one line for each
option: `  -S, --server <SERVER>   What it is`.
"""

import os
import pathlib
import re
import subprocess
import sys
import time


def ask(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def sections(text):
    """The parts of a help text: (heading, lines), the first without a heading."""
    parts = [("", [])]
    for line in text.splitlines():
        if found := re.fullmatch(r"([A-Z][^:]*):", line):
            parts.append((found[1], []))
        elif line.startswith("Usage: "):
            parts.append(("Usage", [line.removeprefix("Usage: ")]))
        elif line.strip():
            parts[-1][1].append(line.strip())
    return parts


def entries(lines):
    """(`-S, --server <SERVER>`, `What it is`) of each line; a line without a gap goes on the one before."""
    found = []
    for line in lines:
        name, gap, what = line.partition("  ")
        if gap or line.startswith("-") or not found:
            found.append([name, what.strip()])
        else:
            found[-1][1] = f"{found[-1][1]} {line}".strip()
    return found


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def page(name, summary, help_text, version, day):
    out = [f'.TH {name.upper()} 1 "{day}" "Clearway {version}" "User Commands"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}"]
    for heading, lines in sections(help_text):
        if heading == "Usage":
            out += [".SH SYNOPSIS"] + [f".B {roff(line)}\n.br" for line in lines]
        elif heading:
            out.append(f".SH {heading.upper()}")
            for entry, what in entries(lines):
                out += [".TP", f".B {roff(entry)}", roff(what)]
        else:
            out += [".SH DESCRIPTION"] + [roff(line) for line in lines]
    out += [".SH SEE ALSO", "The pages in /usr/share/doc/clearway, and "
            + (".BR clearway (1)" if name != "clearway" else "the help of each verb: clearway help VERB").replace(".BR ", "")]
    return "\n".join(out) + "\n"


def options_of(help_text):
    """The long options of a help text, or the short ones that have no long form."""
    words = []
    for heading, lines in sections(help_text):
        if heading not in ("", "Usage", "Commands", "Arguments"):
            for entry, _ in entries(lines):
                names = re.findall(r"--?[A-Za-z?][A-Za-z0-9-]*", entry.split("<")[0].split("[")[0])
                words += names[-1:]
    return words


def bash(verbs):
    cases = "\n".join(f"    {verb}) words='{' '.join(words)}' ;;" for verb, words in verbs.items() if verb)
    return f"""# Completion of clearway for bash: verbs, their options, and files elsewhere.
_clearway() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} words
    case $verb in
{cases}
    *) words='{' '.join(verbs[''] + [verb for verb in verbs if verb])}' ;;
    esac
    if [[ $word == -* || $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _clearway clearway
"""


def zsh(verbs):
    cases = "\n".join(f"    {verb}) options=({' '.join(words)}) ;;" for verb, words in verbs.items() if verb)
    return f"""#compdef clearway
# Completion of clearway for zsh: verbs, their options, and files elsewhere.
local -a options
case $words[2] in
{cases}
    *) options=({' '.join(verbs[''] + [verb for verb in verbs if verb])}) ;;
esac
if [[ $CURRENT -eq 2 || $PREFIX == -* ]]; then
    compadd -- $options
else
    _files
fi
"""


def main(binary, folder):
    folder = pathlib.Path(folder)
    # The day of the source, so that two builds of it are the same.
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    version = ask(binary, "--version").split()[1]
    main_help = ask(binary, "--help")
    commands = dict(sections(main_help))["Commands"]
    (folder / "clearway.1").write_text(page("clearway", "in-memory SQL engine that speaks SQL Server's protocol", main_help, version, day))
    verbs = {"": options_of(main_help)}
    for verb, what in entries(commands):
        if verb == "help":
            continue
        # sqlcmd's help is its own.
        text = ask(binary, verb, "-?" if verb in ("sql", "sqlcmd") else "--help")
        verbs[verb] = options_of(text)
        if verb != "sqlcmd":
            (folder / f"clearway-{verb}.1").write_text(page(f"clearway-{verb}", what[0].lower() + what[1:], text, version, day))
    (folder / "clearway.bash").write_text(bash(verbs))
    (folder / "_clearway").write_text(zsh(verbs))


if __name__ == "__main__":
    main(*sys.argv[1:])
