"""Runs the built `sallyport` in a lab, as root or as an ordinary user, for the black-box tests."""

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from commands import Finished, Started, as_user, clean_environment, user_ids
from miniature import processes


class Binaries:
    """A directory of built programs that an ordinary user may execute."""

    def __init__(self, directory, problem=None, temporary=False):
        self.dir, self.problem, self._temporary = directory, problem, temporary

    @classmethod
    def find(cls, root):
        wanted = Path(os.environ.get("SALLYPORT_BIN") or Path(root) / "build" / "release" / "bin")
        if not os.access(wanted / "sallyport", os.X_OK):
            return cls(wanted, f"no program {wanted}/sallyport: build first (./dev build), or set SALLYPORT_BIN")
        if cls._reachable(wanted):
            return cls(wanted)
        copy = Path(tempfile.mkdtemp(prefix="sallyport-bin-", dir="/tmp"))
        os.chmod(copy, 0o755)
        shutil.copytree(wanted, copy, dirs_exist_ok=True)
        return cls(copy, temporary=True)

    @staticmethod
    def _reachable(directory):
        test = as_user("ordinary") + ["test", "-x", str(directory / "sallyport")]
        return subprocess.run(test, stdin=subprocess.DEVNULL, timeout=5).returncode == 0

    def path(self, name):
        return self.dir / name

    def close(self):
        if self._temporary:
            shutil.rmtree(self.dir, ignore_errors=True)


@dataclasses.dataclass
class RunResult(Finished):
    """How a `sallyport run` ended. `receipt`: the parsed document, None if none was written.
    `dir`: its private directory (policy.yaml, receipt.json, home), gone after the test."""

    receipt: object = None
    dir: object = None


class Run(Started):
    """A `sallyport run` under way."""

    def __init__(self, argv, env, directory, stdin):
        super().__init__(argv, env, cwd=directory, stdin=stdin)
        self.dir = directory

    def wait(self, timeout=30):
        done = super().wait(timeout)
        path, receipt = self.dir / "receipt.json", None
        if path.exists():
            receipt = json.loads(path.read_text())
        return RunResult(done.argv, done.exit, done.stdout_bytes, done.stderr_bytes, receipt, self.dir)

    def processes(self):
        """The processes under it by the name of their program: {"sallyport-proxy": [pid], …}."""
        found = {}
        for pid, _ in processes.descendants(self.pid):
            try:
                name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
            except OSError:
                continue
            found.setdefault(name.removesuffix(" (deleted)"), []).append(pid)
        return found

    def kill(self):
        """Ends it with all that stands under it, also what left its process group."""
        under = processes.descendants(self.pid)
        super().kill()
        processes.end(under)


class Sallyport:
    """Starts runs, and ends those that are left when closed."""

    def __init__(self, lab, binaries):
        self.lab, self.binaries = lab, binaries
        self._runs, self._directories = [], []

    def __call__(self, command, *, timeout=30, **how):
        """A run to its end; arguments as in `start`. TimedOut (after killing it) when it takes longer."""
        return self.start(command, **how).wait(timeout)

    def start(self, command, *, policy=None, user=None, config=None, options=(), env=None, stdin=b"", wrap=()):
        """Starts `sallyport run … -- command`.

        policy: text, or a Path; None runs without one (all denied)
        user: None (root), "ordinary", a name or a number
        config: another configuration than the lab's; False for none
        options: more options of `run`
        env: more environment of sallyport itself (not of the sandbox)
        wrap: what stands before it on the command line, such as ["prlimit", "--nofile=700"]
        """
        directory = self._private_directory(user)
        argv = [self.binaries.path("sallyport"), "run", "--receipt", directory / "receipt.json"]
        if user is None and "--state" not in options:
            argv += ["--state", directory / "state"]  # the default is the machine's, and stays
        if config is not False:
            argv += ["--config", config or self.lab.config]
        if policy is not None:
            if not isinstance(policy, Path):
                text, policy = policy, directory / "policy.yaml"
                policy.write_text(text)
                policy.chmod(0o644)
            argv += ["--policy", policy]
        argv = self.lab.argv([*wrap, *argv, *options, "--", *command], user)
        environment = {
            "HOME": str(directory / "home"), "XDG_RUNTIME_DIR": str(directory / "run"), **(env or {})
        }
        run = Run(argv, clean_environment(environment), directory, stdin)
        self._runs.append(run)
        return run

    def plain(self, arguments, *, user=None, timeout=30, env=None, stdin=b""):
        """Another verb of the command (`policy check`, `audit verify`…), in the lab: Finished."""
        directory = self._private_directory(user)
        environment = {"HOME": str(directory / "home"), "XDG_RUNTIME_DIR": str(directory / "run"), **(env or {})}
        argv = [self.binaries.path("sallyport"), *arguments]
        return self.lab.exec(argv, user=user, env=environment, timeout=timeout, cwd=directory, stdin=stdin)

    def _private_directory(self, user):
        """A directory that only `user` can enter, with home/ and run/ in it."""
        made = Path(tempfile.mkdtemp(prefix="sallyport-run-", dir="/tmp"))
        owner = user_ids(user)
        for path in (made, made / "home", made / "run"):
            path.mkdir(mode=0o700, exist_ok=True)
            os.chown(path, *owner)
        self._directories.append(made)
        return made

    def close(self):
        for run in self._runs:
            if run.process.poll() is None:
                run.kill()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)
