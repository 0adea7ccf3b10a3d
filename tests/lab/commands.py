"""Commands with a bounded life: started, waited for, ended with what stands under them."""

import dataclasses
import os
import pwd
import signal
import subprocess
import tempfile

from miniature import layout

CLEAN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LabError(Exception):
    """The lab itself did not do what was asked; never a statement about what is tested."""


@dataclasses.dataclass
class Finished:
    """A command that ended. `exit` is negative when a signal ended it."""

    argv: list
    exit: int
    stdout_bytes: bytes
    stderr_bytes: bytes

    @property
    def stdout(self):
        return self.stdout_bytes.decode("utf-8", "backslashreplace")

    @property
    def stderr(self):
        return self.stderr_bytes.decode("utf-8", "backslashreplace")

    def __str__(self):
        return f"{self.argv}\nexit {self.exit}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


class TimedOut(LabError):
    """A command outlived its timeout and was killed; `finished` has what it wrote."""

    def __init__(self, finished, seconds):
        super().__init__(f"not finished after {seconds} s: {finished}")
        self.finished = finished


class Started:
    """A running command in its own session, its output in unlinked files (so a grandchild
    that keeps them open cannot make a reader wait)."""

    def __init__(self, argv, env, cwd=None, stdin=b""):
        self.argv = argv
        self._out, self._err, source = (tempfile.TemporaryFile() for _ in range(3))
        source.write(stdin)
        source.seek(0)
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=source, stdout=self._out, stderr=self._err, start_new_session=True
        )
        source.close()
        self.pid = self.process.pid

    def output(self):
        """What it has written so far."""
        return tuple(os.pread(f.fileno(), 1 << 26, 0) for f in (self._out, self._err))

    def wait(self, timeout=10):
        """Its end, as `Finished`. On timeout it is killed and `TimedOut` raised."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimedOut(Finished(self.argv, self.process.returncode, *self.output()), timeout) from None
        return Finished(self.argv, self.process.returncode, *self.output())

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """SIGTERM, a short time to clean up, then SIGKILL to the whole process group."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait(5)


def user_ids(user):
    """(uid, gid) of None (root), "ordinary", a name or a number."""
    if user is None:
        return 0, 0
    if user == "ordinary":
        return layout.ORDINARY_UID, layout.ORDINARY_GID
    if isinstance(user, int):
        return user, user
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid


def as_user(user):
    """The argv prefix that gives root up for `user` (as in Lab.argv)."""
    if user is None:
        return []
    uid, gid = user_ids(user)
    return ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--"]


def clean_environment(extra=None):
    return {"PATH": CLEAN_PATH, "LANG": "C.UTF-8", "HOME": "/", **(extra or {})}
