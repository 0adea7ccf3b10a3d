"""JSON Lines, one write(2) a record on an O_APPEND descriptor: a record is in the file when the
call returns, also beside another writer."""

import json
import os
from pathlib import Path


class Recorder:
    def __init__(self, path):
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, entry):
        os.write(self._fd, json.dumps(entry, separators=(",", ":")).encode() + b"\n")


def open_records(directory, kinds):
    at = Path(directory) / "records"
    return {kind: Recorder(at / f"{kind}.jsonl") for kind in kinds}
