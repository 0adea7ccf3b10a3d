#!/usr/bin/env python3
"""Counts of test results, for ./dev. Each prints "passed failed skipped".

  tally.py gtest CTEST_JUNIT DIR    test cases in GoogleTest's files of DIR; a program that failed without
                                    saying which case (it crashed, timed out, is missing) counts as one failure
  tally.py junit FILE               test cases of one JUnit file
  tally.py tests BUILD_DIR REGEX    (prints names) the test programs of the folders that match
  tally.py no-output                passes its input on; exit 1 when there was any
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def read(path):
    """The root of an XML file that a test run wrote; None when it is missing or torn."""
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None


def count_cases(root):
    passed = failed = skipped = 0
    for case in root.iter("testcase"):
        if case.get("status") in ("notrun", "disabled"):
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return [passed, failed, skipped]


def gtest(junit, directory):
    total = [0, 0, 0]
    programs = read(junit)
    if programs is None:
        return [0, 1, 0]
    for program in programs.iter("testcase"):
        name = program.get("name")
        cases = read(Path(directory) / f"{name}.xml")
        counts = count_cases(cases) if cases is not None else [0, 0, 0]
        if program.get("status") != "run" and counts[1] == 0:
            print(f"tally: {name} failed as a whole", file=sys.stderr)
            counts[1] = 1
        elif cases is None or sum(counts) == 0:
            print(f"tally: {name} ran no test", file=sys.stderr)
            counts[1] = 1
        total = [a + b for a, b in zip(total, counts)]
    return total


def junit(path):
    root = read(path)
    return [0, 1, 0] if root is None else count_cases(root)


def test_programs(build, pattern):
    """From rooms.txt and what ninja knows: folder a/b has the program test_a_b."""
    known = (Path(build) / "build.ninja").read_text()
    for line in (Path(build) / "rooms.txt").read_text().splitlines():
        folder = line.split("|")[0]
        name = "test_" + folder.replace("/", "_")
        if re.search(pattern, folder) and f"build {name}: phony" in known:
            yield name


def main():
    verb, arguments = sys.argv[1], sys.argv[2:]
    if verb == "gtest":
        print(*gtest(*arguments))
    elif verb == "junit":
        print(*junit(*arguments))
    elif verb == "tests":
        for name in test_programs(*arguments):
            print(name)
    elif verb == "no-output":
        text = sys.stdin.read()
        sys.stdout.write(text)
        return 1 if text.strip() else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
