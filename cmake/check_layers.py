#!/usr/bin/env python3
"""Holds every #include to the declared layers.

  check_layers.py SOURCE_DIR ROOMS

ROOMS is written by cmake/house.cmake, one folder a line: folder|layer|deps|test deps.
A folder may include itself and what it declares (and what that declares). What it
declares must stand on a lower layer, or be an api/ folder. Exit 1 names each fault.
"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_rooms(path):
    rooms = {}
    for line in Path(path).read_text().splitlines():
        if line:
            folder, layer, deps, test_deps = line.split("|")
            rooms[folder] = (int(layer), [d for d in deps.split(",") if d], [d for d in test_deps.split(",") if d])
    return rooms


def reachable(rooms, start):
    seen, stack = set(), list(start)
    while stack:
        folder = stack.pop()
        if folder not in seen and folder in rooms:
            seen.add(folder)
            stack += rooms[folder][1]
    return seen


def room_of(rooms, path):
    best = ""
    for folder in rooms:
        if (path == folder or path.startswith(folder + "/")) and len(folder) > len(best):
            best = folder
    return best


def faults(source, rooms):
    for folder, (layer, deps, test_deps) in rooms.items():
        for dep in deps:
            if dep not in rooms:
                yield f"{folder}: depends on {dep}, which is no folder of the house"
            elif rooms[dep][0] >= layer and not dep.endswith("/api"):
                yield f"{folder} (layer {layer}): depends upward on {dep} (layer {rooms[dep][0]})"
        usual, in_tests = reachable(rooms, deps), reachable(rooms, deps + test_deps)
        for path in sorted((source / folder).iterdir()):
            if path.suffix not in (".h", ".cc"):
                continue
            is_test = re.search(r"_(test|fuzz|bench)\.cc$", path.name) is not None
            for include in INCLUDE.findall(path.read_text(errors="replace")):
                target = room_of(rooms, include.rsplit("/", 1)[0]) if "/" in include else ""
                if not target:
                    yield f"{folder}/{path.name}: #include \"{include}\" is not written from the root of the tree"
                elif target != folder and target not in (in_tests if is_test else usual):
                    yield f"{folder}/{path.name}: includes {include}, but {folder} does not depend on {target}"


def main():
    rooms = read_rooms(sys.argv[2])
    found = list(faults(Path(sys.argv[1]), rooms))
    for fault in found:
        print(f"layers: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
