"""The fixtures themselves: the runner, against a stand-in for the program, and the time limit."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import runner
from commands import TimedOut
from miniature import processes

STAND_IN = """#!/bin/sh
# Shows how it was called, writes a receipt, runs the command.
verb=$1; shift
[ "$verb" = run ] || { echo "verb $verb $*"; exit 3; }
while [ "$1" != -- ]; do
  case $1 in --receipt) receipt=$2;; --policy) policy=$2;; --config) config=$2;; esac
  shift
done
shift
cat "$policy" "$config" >/dev/null || exit 125
mkdir "$XDG_RUNTIME_DIR/state" "$HOME/x" || exit 125
echo '{"outcome": "success"}' >"$receipt"
exec "$@"
"""


@pytest.fixture
def stand_in(lab):
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        program = Path(directory, "sallyport")
        program.write_text(STAND_IN)
        program.chmod(0o755)
        made = runner.Sallyport(lab, runner.Binaries(Path(directory)))
        yield made
        made.close()


@pytest.mark.parametrize("user, uid", [(None, "0"), ("ordinary", "61000")])
def test_a_run_has_exit_streams_and_receipt(lab, stand_in, user, uid):
    script = "id -u; cat; readlink /proc/self/ns/net; echo oops >&2; exit 42"
    result = stand_in(["sh", "-c", script], policy="rules: []\n", user=user, stdin=b"in\n")
    lines = result.stdout.splitlines()
    assert (result.exit, lines[:2], result.stderr) == (42, [uid, "in"], "oops\n"), result
    assert lines[2] == f"net:[{os.stat(lab.netns_path).st_ino}]"
    assert result.receipt == {"outcome": "success"}
    assert stand_in.plain(["policy", "check"]).stdout == "verb policy check\n"


def test_a_run_that_takes_too_long_is_ended_with_everything_under_it(stand_in):
    script = "setsid sleep 300 & trap '' TERM; sleep 301"
    run = stand_in.start(["sh", "-c", script], policy="rules: []\n")
    while len(under := processes.descendants(run.pid)) < 2:
        time.sleep(0.01)
    with pytest.raises(TimedOut):
        run.wait(0.1)
    assert not [pid for pid, _ in under if processes.start_time(pid) is not None]


def test_what_a_test_leaves_is_removed(lab, stand_in):
    run = stand_in.start(["sleep", "300"], policy="rules: []\n", user="ordinary")
    while run.processes().get("sleep") is None and not os.readlink(f"/proc/{run.pid}/exe").endswith("sleep"):
        time.sleep(0.01)
    directory = run.dir
    stand_in.close()
    assert processes.start_time(run.pid) is None and not directory.exists()


def test_missing_programs_are_a_failure_and_not_a_skip(tmp_path, monkeypatch):
    monkeypatch.setenv("SALLYPORT_BIN", str(tmp_path))
    assert "build first" in runner.Binaries.find("/nonexistent").problem
    (tmp_path / "sallyport").write_text("#!/bin/sh\n")
    (tmp_path / "sallyport").chmod(0o755)
    found = runner.Binaries.find("/nonexistent")  # pytest's directories are root's alone: a copy
    assert found.problem is None and found.dir != tmp_path and found.path("sallyport").exists()
    found.close()
    assert not found.dir.exists()


def test_the_time_limit_fails_a_test_wherever_it_waits(tmp_path):
    tests = Path(__file__).resolve().parent.parent
    (tmp_path / "conftest.py").symlink_to(tests / "conftest.py")
    (tmp_path / "slow_test.py").write_text(
        "import pytest, subprocess\n"
        "@pytest.mark.timeout(1)\ndef test_slow(): subprocess.run(['sleep', '20'])\n"
        "def test_quick(): pass\n"
    )
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", str(tests / "pytest.ini"), "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True, text=True, timeout=50,
    )
    assert time.monotonic() - begun < 15
    assert "not finished after 1 s" in done.stdout and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
