#!/usr/bin/env python3
"""Which translation units of a build took long, and whether one is too big.

  slow_units.py BUILD_DIR SINCE

SINCE (nanoseconds since the epoch) is when the build began. Prints the slowest units made since
then. In an optimised build, a unit that took longer than LIMIT seconds of the clock may only have had a busy machine, so
it is compiled once more, without a cache, and its CPU time decides. Exit 1 names each fault.
"""
import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

LIMIT = 12.0  # seconds of CPU a translation unit may cost
SHOWN = 3


def built_since(directory, since):
    """object -> seconds, of the objects made since then."""
    found = {}
    for line in (directory / ".ninja_log").read_text().splitlines()[1:]:
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith(".o") and int(fields[2]) >= since:
            found[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return found


def output_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def cpu_seconds(entry):
    """The cost of compiling one unit alone; None when it does not compile."""
    words = shlex.split(entry["command"])
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    words[words.index("-o") + 1] = os.devnull
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=entry["directory"], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return None if done.returncode else after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    directory, since = Path(sys.argv[1]), int(sys.argv[2])
    units = sorted(built_since(directory, since).items(), key=lambda unit: -unit[1])
    for name, seconds in units[:SHOWN]:
        print(f"  {seconds:5.1f} s to compile {name}")
    suspects = [name for name, seconds in units if seconds > LIMIT]
    if not suspects or "SALLYPORT_SANITIZER:STRING=\n" not in (directory / "CMakeCache.txt").read_text():
        return 0
    entries = {output_of(e): e for e in json.loads((directory / "compile_commands.json").read_text())}
    faults = 0
    for name in suspects:
        seconds = cpu_seconds(entries[name]) if name in entries else None
        if seconds is not None and seconds > LIMIT:
            print(f"build: {name} costs {seconds:.1f} s of CPU; a unit may cost {LIMIT:.0f}: split it", file=sys.stderr)
            faults = 1
    return faults


if __name__ == "__main__":
    sys.exit(main())
