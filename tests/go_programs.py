"""Small Go programs, built where there is a compiler. What was compiled is kept for the rest of the run."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

GO = shutil.which("go", path="/usr/bin:/usr/lib/go/bin")
SECONDS = 100


@functools.cache
def _directory():
    made = tempfile.mkdtemp(prefix="go-", dir="/tmp")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.cache
def built(source):
    """The path of the executable of a one-file program."""
    directory = _directory()
    number = len(list(directory.glob("*.go")))
    file, program = directory / f"p{number}.go", directory / f"p{number}"
    file.write_text(source)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "GOCACHE": str(directory / "cache"), "GO111MODULE": "off", "CGO_ENABLED": "0", "GOPROXY": "off"}
    done = subprocess.run([GO, "build", "-ldflags", "-s -w", "-o", program, file], env=environment, cwd=directory, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return program
