"""For black-box tests of sallyport-attach: namespaces to attach to, a client of its fixed-size messages, and what the proxy
does in its self-test state. Speaks to the program by its wire format only (firewall/api/messages.h)."""

import array
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

ORDINARY = 65534  # nobody
PYTHON = "/usr/bin/python3"
POOL4, POOL6 = "198.18.16.0", "fd53:7079:1:2::"
RESOLVER = "198.18.16.1"

REQUEST = struct.Struct("=IIIi4s16sBBxx")
REPLY = struct.Struct("=IIIIiIQQQ512s")
PROBE_REQUEST = struct.Struct("=II16sII")
PROBE_REPLY_HEAD = struct.Struct("=IIII")
PROBE_REPORT = struct.Struct("=BBxxi160s")
OK, REFUSED, FAILED = 1, 2, 3
LISTENERS = ("proxy4", "proxy6", "caught4", "caught6", "dns4", "dns6")
PROBES = ("interfaces routes rules ruleset foreign-listener raw-address raw-address-tls odd-port ipv6 metadata metadata6 "
          "foreign-dns-tcp foreign-dns foreign-dns6 resolver udp udp-443 udp6 icmp icmp6 raw-ip").split()
STATUS = {1: "clean", 2: "answered", 3: "blocked", 4: "failed"}


def find_program():
    """sallyport-attach in a directory an ordinary user can reach; returns (path, directory to remove or None)."""
    root = Path(__file__).resolve().parents[1]
    built = Path(os.environ.get("SALLYPORT_BIN") or root / "build" / "release" / "bin") / "sallyport-attach"
    if not os.access(built, os.X_OK):
        return None, None
    copy = Path(tempfile.mkdtemp(prefix="sallyport-attach-", dir="/tmp"))
    os.chmod(copy, 0o755)
    shutil.copy(built, copy)
    return copy / "sallyport-attach", copy


def as_user(uid):
    return [] if uid == 0 else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def die_with_us():
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Space:
    """A network namespace with a process that sleeps in it. `kind`: "root" (owned by the machine's user namespace, the
    process powerless), "root-userns" (made by root, with a user namespace of its own), "ordinary" (made by nobody)."""

    MAKE = {
        "root": ["unshare", "-n", "setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups",
                 "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"],
        "root-userns": ["unshare", "-Urn"],
        "ordinary": as_user(ORDINARY) + ["unshare", "-Urn"],
    }

    def __init__(self, kind="root-userns", make=None):
        self.kind, self.has_userns = kind, kind != "root"
        self.user = ORDINARY if kind == "ordinary" else 0
        say = "import sys, time; print('ready', flush=True); time.sleep(300)"
        self.process = subprocess.Popen((make or self.MAKE[kind]) + [PYTHON, "-c", say], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, preexec_fn=die_with_us)
        if self.process.stdout.readline() != b"ready\n":
            self.close()
            raise RuntimeError(f"no namespace of kind {kind} here")
        self.pid = self.process.pid
        self.path = f"/proc/{self.pid}/ns/net"

    def enter(self, *command, powerless=False):
        """The command line that runs `command` inside: as the root of its user namespace, or as a task without power."""
        line = as_user(self.user) + ["nsenter", "-t", str(self.pid), "-n"] + (["-U", "--preserve-credentials"] if self.has_userns else [])
        if powerless:
            line += ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
            line += ["--reuid=65534", "--regid=65534", "--clear-groups"] if not self.has_userns else []
            line += [PYTHON, "-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])"]  # the exec drops them
        return line + list(command)

    def run(self, *command, powerless=False, timeout=10):
        done = subprocess.run(self.enter(*command, powerless=powerless), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout)
        return done

    def must(self, *command):
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def python(self, code, *arguments, powerless=False, timeout=10):
        """Runs Python inside; returns what it prints."""
        done = self.run(PYTHON, "-c", code, *map(str, arguments), powerless=powerless, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self, code, *arguments):
        """Starts Python inside that prints one line when it is ready; the caller ends it."""
        process = subprocess.Popen(self.enter(PYTHON, "-u", "-c", code, *map(str, arguments)), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, preexec_fn=die_with_us)
        assert process.stdout.readline().strip() == "ready"
        return process

    def child(self):
        """The innermost descendant of the process, for makers that stay outside themselves."""
        pid = self.pid
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        return pid

    def close(self):
        self.process.kill()
        self.process.wait(5)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Reply:
    def __init__(self, data, descriptors):
        (self.protocol, self.kind, self.status, self.step, self.error, self.packet_log, self.device, self.inode, self.cookie,
         detail) = REPLY.unpack(data)
        self.detail = detail.split(b"\0")[0].decode("ascii")
        self.descriptors = descriptors


class Attach:
    """One run of sallyport-attach."""

    def __init__(self, program, user=0, through=()):
        """`through`: a command line that is put before the program's."""
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.settimeout(8)
        shell = ["bash", "-c", f'exec 3<&{theirs.fileno()} {theirs.fileno()}<&-; exec "$@"', "attach"]
        self.process = subprocess.Popen(shell + list(through) + as_user(user) + [str(program)], stdin=subprocess.DEVNULL,
                                        pass_fds=[theirs.fileno()], env={"PATH": os.environ["PATH"]}, preexec_fn=die_with_us)
        theirs.close()
        self.listeners = {}

    def send(self, frame, descriptors=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.channel.sendmsg([frame], rights)

    def request(self, path, pid=0, flags=0, protocol=1, pool4=POOL4, pool4_length=20):
        frame = REQUEST.pack(protocol, 1, flags, pid, socket.inet_aton(pool4), socket.inet_pton(socket.AF_INET6, POOL6), pool4_length, 64)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.send(frame, [fd])
        finally:
            os.close(fd)
        return self.reply()

    def reply(self):
        data, control, _flags, _ = self.channel.recvmsg(REPLY.size + 1, socket.CMSG_SPACE(8 * 4))
        if not data:
            return None
        fds = array.array("i")
        for _level, _type, payload in control:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
        sockets = [socket.socket(fileno=fd) for fd in fds]
        self.listeners = dict(zip(LISTENERS, sockets))
        return Reply(data, sockets)

    def probe(self, nonce, timeout_ms=1500):
        """{probe name: (status, errno, detail)}"""
        self.send(PROBE_REQUEST.pack(1, 3, nonce, timeout_ms, 0))
        data = self.channel.recv(65536)
        protocol, kind, count, _ = PROBE_REPLY_HEAD.unpack_from(data)
        assert (protocol, kind) == (1, 4)
        found = {}
        for i in range(count):
            probe, status, error, detail = PROBE_REPORT.unpack_from(data, PROBE_REPLY_HEAD.size + i * PROBE_REPORT.size)
            assert PROBES[probe - 1] not in found
            found[PROBES[probe - 1]] = (STATUS[status], error, detail.split(b"\0")[0].decode("ascii"))
        return found

    def close(self):
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        for one in self.listeners.values():
            one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Proxy:
    """Accepts on the listeners as the proxy does in its self-test, and otherwise answers `HEARD <destination> <port>`.
    `seen`: (listener, destination, port, first bytes or query name)."""

    def __init__(self, listeners):
        self.seen, self.accepted = [], []
        self._selector, self._stop = selectors.DefaultSelector(), os.eventfd(0)
        self._selector.register(self._stop, selectors.EVENT_READ, None)
        for name, one in listeners.items():
            self._selector.register(one, selectors.EVENT_READ, name)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                try:
                    self._answer(key.data, key.fileobj) if key.data.startswith("dns") else self._accept(key.data, key.fileobj)
                except OSError:
                    pass

    def _accept(self, name, listener):
        accepted, _ = listener.accept()
        with accepted:
            accepted.settimeout(1)
            destination, port = accepted.getsockname()[:2]
            self.accepted.append({"rcvbuf": accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)})
            line = accepted.recv(256)
            self.seen.append((name, destination, port, line))
            accepted.sendall(b"OK\n" if line.startswith(b"SALLYPORT-PROBE ") else f"HEARD {destination} {port}\n".encode())

    def _answer(self, name, listener):
        query, control, _, peer = listener.recvmsg(512, 256)
        level, kind, info = control[0]
        raw = info[8:12] if level == socket.IPPROTO_IP else info[:16]
        destination = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
        if level == socket.IPPROTO_IP:
            info = struct.pack("=I4s4s", 0, raw, b"\0" * 4)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        self.seen.append((name, destination, 53, ".".join(labels)))
        answer = query[:2] + bytes([0x81, 3]) + query[4:]
        listener.sendmsg([answer], [(level, kind, info)], 0, peer)

    def close(self):
        os.eventfd_write(self._stop, 1)
        self._thread.join(5)
        self._selector.close()
        os.close(self._stop)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
