"""Runs tests/launcher's sandbox_driver as root or as an ordinary user, each run with a state directory of its own."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import uuid

ORDINARY = 65534
PYTHON = "/usr/bin/python3"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_driver():
    """$SANDBOX_DRIVER, or the newest sandbox_driver of a build directory."""
    given = os.environ.get("SANDBOX_DRIVER")
    if given:
        return pathlib.Path(given)
    found = [p for p in ROOT.glob("build/*/tests/sandbox_driver") if p.is_file()]
    return max(found, key=lambda p: p.stat().st_mtime) if found else None


class Launcher:
    """kind: "runc" and "bwrap" as root, "ordinary" is bwrap as uid 65534."""

    def __init__(self, kind):
        self.kind = kind
        self.ordinary = kind == "ordinary"
        self.uid = ORDINARY if self.ordinary else 0
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="launcher-test-"))
        self.home.chmod(0o755)
        self.driver = self.home / "sandbox_driver"
        shutil.copy(find_driver(), self.driver)
        self.state = self.directory("state", 0o700)
        self.report_file = self.directory("reports") / "report.json"
        self.task = f"test-{uuid.uuid4().hex[:16]}"
        self.running = []

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def directory(self, name, mode=0o755):
        """A directory of the caller's below the test's own."""
        path = self.home / name
        path.mkdir()
        os.chown(path, self.uid, self.uid)
        path.chmod(mode)
        return path

    def file(self, path, text="text", mode=0o644, owner=None):
        path.write_text(text)
        owner = self.uid if owner is None else owner
        os.chown(path, owner, owner)
        path.chmod(mode)
        return path

    def words(self, command, *options):
        runtime = "runc" if self.kind == "runc" else "bwrap"
        return [str(self.driver), "--state", str(self.state), "--task", self.task, "--runtime", runtime, "--report", str(self.report_file),
                *map(str, options), "--", *command]

    def _as_user(self):
        if not self.ordinary:
            return {}
        return {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}

    def environment(self, more=None):
        return {"PATH": os.environ["PATH"], "HOME": str(self.state), "LANG": "C.UTF-8", **(more or {})}

    def start(self, command, *options, env=None, **more):
        process = subprocess.Popen(self.words(command, *options), env=self.environment(env), cwd="/", **self._as_user(), **more)
        self.running.append(process)
        return process

    def run(self, command, *options, env=None, timeout=40, **more):
        more.setdefault("stdin", subprocess.DEVNULL) if "input" not in more else None
        self.report_file.unlink(missing_ok=True)
        if "stdout" not in more:
            more.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return subprocess.run(self.words(command, *options), env=self.environment(env), cwd="/", timeout=timeout, text=True,
                              **self._as_user(), **more)

    def python(self, code, *options, **more):
        return self.run([PYTHON, "-c", code], *options, **more)

    def outside(self, command, **more):
        """The control: the same without a sandbox, as the same user."""
        return subprocess.run(command, env=self.environment(), cwd="/", timeout=40, text=True, capture_output=True, **self._as_user(), **more)

    @property
    def report(self):
        return json.loads(self.report_file.read_text())

    def leftovers(self):
        """What a finished sandbox must not leave: files of its state, cgroups."""
        groups = [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"**/sallyport-{self.task}-*")]
        return [str(p) for p in self.state.iterdir()] + groups


def processes_with(marker):
    """Pids whose command line holds `marker`, whichever pid namespace they are in."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return [pid for pid in found if pid != os.getpid()]
