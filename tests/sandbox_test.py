"""A sandbox from inside: what it can see, reach and do, as root with runc and bwrap and as an ordinary user. Every refusal has a
control that shows that the test can see success. No network is attached: that is the firewall's part."""

import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from launcher_client import ORDINARY, PYTHON, Launcher, find_driver

KINDS = ["runc", "bwrap", "ordinary"]


@pytest.fixture(params=KINDS)
def launcher(request):
    if not find_driver():
        pytest.fail("no sandbox_driver: build first, or set SANDBOX_DRIVER", pytrace=False)
    if os.geteuid() != 0:
        pytest.fail("these tests make sandboxes as several users: run as root", pytrace=False)
    made = Launcher(request.param)
    yield made
    made.close()


# --- who it is ---


def test_runs_as_a_user_that_owns_nothing_without_any_privilege(launcher):
    held = launcher.file(launcher.home / "held.sh", "#!/bin/sh\ncat /proc/$1/status; readlink /proc/$1/ns/user /proc/$1/ns/net\n", 0o755)
    result = launcher.run(["sh", "-c", "id -u; id -g; cat /proc/self/status"], "--held", held)
    assert result.returncode == 0, result
    outer, inner = {}, {}
    spaces = []
    lines = result.stdout.splitlines()
    at = lines.index("1000")
    for line in lines[:at]:
        if line.startswith(("user:", "net:")):
            spaces.append(line)
        elif ":" in line:
            outer[line.split(":")[0]] = line.split(":")[1].split()
    for line in lines[at + 2:]:
        inner[line.split(":")[0]] = line.split(":")[1].split()
    expected = str(ORDINARY) if launcher.ordinary else "1879114728"
    assert outer["Uid"] == outer["Gid"] == [expected] * 4
    assert inner["Uid"] == inner["Gid"] == ["1000"] * 4
    for held_by in (outer, inner):
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert int(held_by[name][0], 16) == 0, (name, held_by[name])
        assert held_by["NoNewPrivs"] == ["1"] and held_by["Seccomp"] == ["2"]
    assert spaces == [s for s in spaces if s not in (os.readlink("/proc/self/ns/user"), os.readlink("/proc/self/ns/net"))]
    assert len(spaces) == 2
    assert launcher.report["host_uid"] == int(expected)


def test_environment_is_built_from_an_allow_list(launcher):  # launcher-003, launcher-004, launcher-006
    secrets = {"GITHUB_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "secret", "SSH_AUTH_SOCK": "/run/x", "HTTPS_PROXY": "http://corp:1"}
    result = launcher.run(["env"], "--env", "GIVEN", "--env", "SAID=here", "--env", "HTTP_PROXY=http://elsewhere:1", env={**secrets, "GIVEN": "by name"})
    inside = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert not set(secrets) - {"HTTPS_PROXY"} & set(inside) and "secret" not in result.stdout and "corp" not in result.stdout
    assert inside["GIVEN"] == "by name" and inside["SAID"] == "here"
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        assert inside[name] == inside[name.upper()] == "http://127.0.0.1:3128"
    assert inside["no_proxy"] == inside["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert any("HTTP_PROXY" in warning for warning in launcher.report["warnings"])
    assert inside["HOME"] == "/home/task" and inside["SALLYPORT_TASK"]


def test_variables_survive_nesting(launcher):  # launcher-002
    result = launcher.run(["sh", "-c", 'bash -c "env -u LANG sh -c \'echo \\$https_proxy\'"'])
    assert result.stdout == "http://127.0.0.1:3128\n", result


def test_secrets_given_by_option_are_on_no_command_line(launcher):
    process = launcher.start(["sleep", "30"], "--env", "TOKEN=canary-value-31337", stdin=subprocess.DEVNULL)
    import time

    seen = set()
    for _ in range(20):
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                text = entry.read_bytes()
            except OSError:
                continue
            if b"canary-value-31337" in text and b"sandbox_driver" not in text:
                seen.add(text)
        time.sleep(0.05)
    process.terminate()
    assert process.wait(20) == 122
    assert not seen  # the driver's own command line is the caller's


# --- what it can read ---


CANARY_PLACES = ["/etc", "/var", "/var/lib", "/opt", "/srv", "/root", "/home", "/usr/local/share"]


@pytest.fixture
def canaries():
    """Files of root's, closed and open, in every usual place of the host."""
    made = []
    for place in CANARY_PLACES:
        for mode in (0o600, 0o644):
            path = pathlib.Path(place) / f"sallyport-canary-{os.getpid()}-{mode:o}"
            path.write_text("canary")
            path.chmod(mode)
            made.append(path)
    yield made
    for path in made:
        path.unlink(missing_ok=True)


def test_sees_no_file_of_the_hosts_but_public_ones_of_usr(launcher, canaries):
    state = launcher.file(launcher.state / "canary", "canary", 0o600)
    result = launcher.run(["sh", "-c", 'for f; do cat "$f" 2>/dev/null && echo " $f"; done; true', "-", *map(str, canaries), str(state)])
    assert result.returncode == 0
    readable = [line.split()[1] for line in result.stdout.splitlines()]
    assert readable == [str(p) for p in canaries if p.parent == pathlib.Path("/usr/local/share") and p.name.endswith("-644")]
    for path in canaries:
        assert path.read_text() == "canary"


WALK = r"""
import os, socket, stat
own = ("/proc", "/tmp", "/home/task", "/dev/shm", "/dev/pts")
bad, sockets, devices = [], [], set()
def look(path):
    facts = os.lstat(path)
    kind = stat.S_IFMT(facts.st_mode)
    if kind == stat.S_IFSOCK: sockets.append(path)
    if kind in (stat.S_IFCHR, stat.S_IFBLK): devices.add(path)
    if kind == stat.S_IFREG and not facts.st_mode & stat.S_IROTH and os.access(path, os.R_OK): bad.append(path)
    if kind == stat.S_IFDIR and not facts.st_mode & stat.S_IROTH and os.access(path, os.R_OK): bad.append(path)
if CONTROL:
    open("/tmp/private", "w").close(); os.chmod("/tmp/private", 0o600)
    socket.socket(socket.AF_UNIX).bind("/tmp/socket")
    own = tuple(o for o in own if o != "/tmp")
for top, names, files in os.walk("/", onerror=None):
    names[:] = [n for n in names if os.path.join(top, n) not in own]
    for name in names + files:
        try: look(os.path.join(top, name))
        except OSError: pass
print(sorted(bad)); print(sorted(sockets)); print(sorted(devices))
"""


@pytest.mark.timeout(120)
def test_a_walk_of_its_root_finds_nothing_that_is_not_public(launcher):
    standard = ["/dev/" + n for n in ("full", "null", "random", "tty", "urandom", "zero")]
    result = launcher.python("CONTROL = False" + WALK, timeout=100)
    assert result.stdout.splitlines() == ["[]", "[]", str(standard)], result


@pytest.mark.timeout(120)
def test_the_walk_finds_what_is_there(launcher):
    result = launcher.python("CONTROL = True" + WALK, timeout=100)
    assert result.stdout.splitlines()[:2] == ["['/tmp/private']", "['/tmp/socket']"], result


def test_cannot_write_outside_its_own_places(launcher):
    code = r"""
import os
for place in ("/", "/etc", "/usr", "/usr/local", "/dev", "/run", "/var", "/home", "/proc/sys/net/ipv4", "/tmp", "/home/task", "/dev/shm"):
    try:
        open(place + "/x", "w").close(); print(place)
    except OSError: pass
for name in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward", "/etc/resolv.conf", "/run/sallyport-init"):
    try:
        open(name, "w").close(); print(name)
    except OSError: pass
"""
    assert launcher.python(code).stdout.split() == ["/tmp", "/home/task", "/dev/shm"]


def test_reads_no_memory_of_the_kernel(launcher):
    result = launcher.run(["sh", "-c", "cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | head -c 10; ls /sys /boot 2>/dev/null; echo end"])
    assert result.stdout == "end\n", result


# --- what it can share ---


def test_workspace_is_writable_and_stays_the_owners(launcher):
    workspace = launcher.directory("workspace")
    launcher.file(workspace / "mine", "mine", 0o600)
    result = launcher.run(["sh", "-c", "pwd; cat mine; stat -c %u mine; echo new > new; mkdir d; touch d/x; chmod 600 new; rm mine"], "--workspace", workspace)
    assert result.stdout.split() == ["/workspace", "mine1000"], result
    for path in (workspace / "new", workspace / "d", workspace / "d/x"):
        assert (path.stat().st_uid, path.stat().st_gid) == (launcher.uid, launcher.uid)
    assert (workspace / "new").read_text() == "new\n" and not (workspace / "mine").exists()


def test_workspace_gives_no_set_user_id_program_to_the_host(launcher):
    workspace = launcher.directory("workspace")
    code = r"""
import os
open("a", "w").close(); os.chmod("a", 0o755)
def refused(call):
    try: call()
    except OSError: return True
    return False
calls = [lambda: os.chmod("a", 0o4755), lambda: os.chmod("a", 0o2755), lambda: os.open("b", os.O_CREAT | os.O_WRONLY, 0o4755),
         lambda: os.mknod("c", 0o104755), lambda: os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755)]
print([refused(c) for c in calls])
"""
    result = launcher.python(code, "--workspace", workspace)
    assert result.stdout == "[True, True, True, True, True]\n", result
    assert [p.name for p in workspace.iterdir()] == ["a"] and (workspace / "a").stat().st_mode & 0o7777 == 0o755


def test_others_files_in_the_workspace_stay_closed(launcher):
    workspace = launcher.directory("workspace")
    launcher.file(workspace / "others", "closed", 0o600, owner=12345)
    launcher.file(workspace / "open", "open", 0o644, owner=12345)
    result = launcher.run(["sh", "-c", "cat others open; echo x >> open"], "--workspace", workspace)
    assert result.stdout == "open" and result.returncode != 0
    assert (workspace / "open").read_text() == "open"


def test_links_in_the_workspace_lead_nowhere_on_the_host(launcher):
    workspace = launcher.directory("workspace")
    secret = launcher.file(launcher.home / "outside.txt", "outside")
    (workspace / "link").symlink_to(secret)
    (workspace / "up").symlink_to("../../../../../../" + str(secret))
    assert (workspace / "link").read_text() == "outside"
    result = launcher.run(["sh", "-c", f"readlink link; cat link up ..{secret}; echo end"], "--workspace", workspace)
    assert result.stdout.split() == [str(secret), "end"], result


def test_ro_directory_is_at_its_path_and_read_only(launcher):
    data = launcher.directory("data")
    launcher.file(data / "f", "data")
    result = launcher.run(["sh", "-c", f"cat {data}/f; echo x > {data}/f; touch {data}/g; ls {launcher.home}"], "--ro", data)
    assert result.stdout == "datadata\n", result  # the file's text, then the one name beside it
    assert (data / "f").read_text() == "data" and not (data / "g").exists()


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/sys", "/dev", "/run", "/var", "/root", "/home"])
def test_sensitive_directories_are_refused_with_a_reason(launcher, path):
    for option in ("--ro", "--workspace"):
        result = launcher.run(["true"], option, path)
        assert result.returncode == 125 and result.stdout == ""
        assert "refused" in result.stderr or "denied" in result.stderr, result
    assert launcher.leftovers() == []


def test_state_directory_is_refused_and_must_be_closed(launcher):
    inner = launcher.state / "inner"
    inner.mkdir()
    os.chown(inner, launcher.uid, launcher.uid)
    assert "own state" in launcher.run(["true"], "--ro", inner).stderr
    inner.rmdir()
    assert launcher.run(["true"]).returncode == 0
    launcher.state.chmod(0o755)
    result = launcher.run(["true"])
    assert result.returncode == 125 and "0700" in result.stderr


def test_a_socket_in_a_shared_directory_is_refused(launcher):  # firewall-007
    workspace = launcher.directory("workspace")
    assert launcher.run(["true"], "--workspace", workspace).returncode == 0
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(workspace / "docker.sock"))
    for option in ("--workspace", "--ro", "--rootfs"):
        result = launcher.run(["true"], option, workspace)
        assert result.returncode == 125 and "docker.sock" in result.stderr, result
    listener.close()


def test_given_root_file_system_replaces_the_hosts(launcher):
    tree = launcher.directory("tree")
    (tree / "bin").mkdir()
    (tree / "etc").mkdir()
    launcher.file(tree / "etc/passwd", "image:x:0:0::/:/bin/sh\n")
    launcher.file(tree / "etc/app.conf", "of the image\n")
    subprocess.run(["cp", "/bin/busybox" if os.path.exists("/bin/busybox") else "/bin/dash", tree / "bin/sh"], check=True)
    for line in subprocess.run(["ldd", tree / "bin/sh"], capture_output=True, text=True).stdout.splitlines():
        for word in line.split():
            if word.startswith("/"):
                target = tree / word[1:]
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "-L", word, target], check=True)
    before = sorted(str(p) for p in tree.rglob("*"))
    code = 'read a < /etc/app.conf; echo "$a"; while read l; do case $l in task*) echo ok;; image*) echo bad;; esac; done < /etc/passwd; (: > /tmp/x) && echo tmp; (: > /bin/x) ; (: > /etc/x); [ -e /usr/bin/env ] && echo host; [ -e /proc/self/status ] && echo proc'
    result = launcher.run(["/bin/sh", "-c", code], "--rootfs", tree)
    assert result.stdout.split("\n")[:-1] == ["of the image", "ok", "tmp", "proc"], result
    assert sorted(str(p) for p in tree.rglob("*")) == before


# --- what it can do ---


FAMILIES = r"""
import ctypes, errno, os, socket
out = {}
for name, family, kind in (("vsock", 40, socket.SOCK_STREAM), ("netlink", 16, socket.SOCK_RAW), ("packet", 17, socket.SOCK_RAW), ("alg", 38, socket.SOCK_SEQPACKET),
                           ("bluetooth", 31, socket.SOCK_RAW), ("tipc", 30, socket.SOCK_STREAM), ("raw", socket.AF_INET, socket.SOCK_RAW), ("raw6", socket.AF_INET6, socket.SOCK_RAW),
                           ("tcp", socket.AF_INET, socket.SOCK_STREAM), ("udp6", socket.AF_INET6, socket.SOCK_DGRAM), ("unix", socket.AF_UNIX, socket.SOCK_STREAM)):
    try:
        socket.socket(family, kind, socket.IPPROTO_ICMP if name.startswith("raw") else 0).close(); out[name] = "ok"
    except OSError as error: out[name] = errno.errorcode[error.errno]
libc = ctypes.CDLL(None, use_errno=True)
ring = libc.syscall(425, 4, ctypes.create_string_buffer(256))
out["io_uring"] = "ok" if ring >= 0 else errno.errorcode[ctypes.get_errno()]
print(out)
"""


def test_makes_only_unix_tcp_and_udp_sockets(launcher):  # firewall-005, firewall-006
    inside = eval(launcher.python(FAMILIES).stdout)
    assert {n: inside[n] for n in ("tcp", "udp6", "unix")} == {"tcp": "ok", "udp6": "ok", "unix": "ok"}
    for name in ("vsock", "netlink", "packet", "alg", "bluetooth", "tipc"):
        assert inside[name] == "EAFNOSUPPORT", inside
    assert inside["raw"] == inside["raw6"] == "EPERM" and inside["io_uring"] == "ENOSYS", inside
    # The control: this machine has these, for the same code outside as root.
    outside = eval(subprocess.run([PYTHON, "-c", FAMILIES], capture_output=True, text=True, timeout=20).stdout)
    for name in ("vsock", "netlink", "packet", "raw", "io_uring"):
        assert outside[name] == "ok", outside


def test_names_resolve_and_programs_run_without_netlink(launcher):
    code = 'import socket, ssl; print(socket.getaddrinfo("localhost", 80, flags=socket.AI_ADDRCONFIG)[0][4][0], len(ssl.create_default_context().get_ca_certs()) > 50)'
    result = launcher.python(code)
    assert result.stdout.split()[1] == "True" and result.stdout.split()[0] in ("127.0.0.1", "::1"), result
    assert launcher.run(["curl", "--version"]).returncode == 0
    assert launcher.run(["git", "init", "-q", "/tmp/r"]).returncode == 0
    assert launcher.run(["openssl", "version"]).returncode == 0


@pytest.mark.parametrize("command", [["node", "-e", "require('dns').lookup('localhost', (e, a) => console.log(a))"], ["java", "-version"]], ids=["node", "java"])
def test_heavy_runtimes_start(launcher, command):
    if not pathlib.Path("/usr/bin", command[0]).exists():
        pytest.skip(f"no {command[0]} on this machine")
    result = launcher.run(command)
    assert result.returncode == 0, result


def test_has_no_power_over_networks(launcher):  # firewall-003
    code = r"""
import ctypes, errno, fcntl, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket()
try: fcntl.ioctl(s, 0x894C); print("SIOCGSKNS")   # the way to push a veth
except OSError: pass
for flags in (0x10000000, 0x40000000, 0x50000000):
    if libc.unshare(flags) == 0: print("unshare")
try: open("/proc/self/ns/net"); fd = open("/proc/1/ns/net").fileno(); print("setns" if libc.setns(fd, 0) == 0 else "")
except OSError: pass
for command in ("nft flush ruleset", "ip link add v0 type veth peer v1", "ip route add local default dev lo", "ip link set lo down"):
    p = subprocess.run(command.split(), capture_output=True)
    if p.returncode == 0: print(command)
print("end")
"""
    result = launcher.python(code)
    assert result.stdout.split() == ["end"], result
    control = subprocess.run(["unshare", "-n", "sh", "-c", "nft flush ruleset && ip link add v0 type veth peer v1 && ip link set lo up && ip route add local default dev lo"], timeout=20)
    assert control.returncode == 0
    here = subprocess.run(["unshare", "-n", PYTHON, "-c", "import socket, fcntl; fcntl.ioctl(socket.socket(), 0x894C); print('ok')"], capture_output=True, text=True, timeout=20)
    assert here.stdout == "ok\n"


def test_reaches_no_abstract_socket_of_the_host(launcher):  # firewall-007
    name = f"\0sallyport-test-{os.getpid()}-{launcher.kind}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen()
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r}); print('reached')"
    assert "reached" in launcher.outside([PYTHON, "-c", code]).stdout
    result = launcher.python(code)
    assert "reached" not in result.stdout and "ConnectionRefused" in result.stderr, result


def test_inherits_no_descriptor_of_the_callers(launcher):
    read, write = os.pipe()
    sock = socket.socket()
    file = tempfile.TemporaryFile()
    given = (read, write, sock.fileno(), file.fileno())
    code = "import os; print([fd for fd in range(3, 1024) if os.path.exists(f'/proc/self/fd/{fd}') and os.readlink(f'/proc/self/fd/{fd}') != f'/proc/{os.getpid()}/fd'])"
    assert eval(launcher.outside([PYTHON, "-c", code], pass_fds=given).stdout) == sorted(given)
    assert launcher.python(code, pass_fds=given).stdout == "[]\n"
    for fd in (read, write):
        os.close(fd)
    # Pid 1 has a channel to the launcher, and lets nobody look.
    assert launcher.run(["sh", "-c", "ls /proc/1/fd; cat /proc/1/environ; echo end"]).stdout == "end\n"


def test_cannot_truncate_the_callers_log(launcher):
    log = launcher.file(launcher.home / "log", "before\n")
    code = "import os; os.close(os.open('/proc/self/fd/1', os.O_WRONLY | os.O_TRUNC)); os.write(1, b'after')"
    with open(log, "a") as out:
        assert launcher.run([PYTHON, "-c", code], stdout=out, stderr=subprocess.PIPE).returncode == 0
    assert log.read_text() == "before\nafter"
    with open(log, "a") as out:
        subprocess.run([PYTHON, "-c", code], stdout=out, timeout=20, check=True)
    assert "before" not in log.read_text()
