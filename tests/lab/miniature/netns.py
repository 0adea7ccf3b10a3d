"""Network namespaces and what is in them. `ip` makes them; setns(2) enters them."""

import ctypes
import os
import subprocess
from pathlib import Path

from . import layout

CLONE_NEWNET = 0x40000000
DIRECTORY = Path("/run/netns")
IP = "ip"

_libc = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A namespace could not be made, entered or removed."""


def path(name):
    return DIRECTORY / name


def enter(name):
    """Moves the calling thread into a named namespace."""
    fd = os.open(path(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(fd, CLONE_NEWNET):
            error = ctypes.get_errno()
            raise Failed(f"setns {name}: {os.strerror(error)}")
    finally:
        os.close(fd)


def run_ip(*arguments, lines=None):
    done = subprocess.run(
        [IP, *arguments], input=lines, stdin=None if lines else subprocess.DEVNULL,
        capture_output=True, text=True, timeout=10,
    )
    if done.returncode:
        raise Failed(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def sysctl(settings):
    """Sets /proc/sys/net of the namespace the caller is in."""
    for name, value in settings.items():
        Path("/proc/sys/net", name).write_text(str(value))


def _no_ipv6_noise(conf):
    """No address autoconfiguration and no duplicate address detection: an address is usable
    when `ip` returns, and no router or neighbour is asked for anything."""
    return {f"ipv6/conf/{conf}/{k}": v for k, v in (("accept_dad", 0), ("dad_transmits", 0), ("accept_ra", 0), ("addr_gen_mode", 1))}


def build(appliance, internet):
    """Both namespaces, joined by a veth pair made inside. Neither has any other link.
    Leaves the caller in the internet's namespace."""
    run_ip("netns", "add", appliance)
    run_ip("netns", "add", internet)
    enter(appliance)
    sysctl(_no_ipv6_noise("default"))
    enter(internet)
    sysctl({
        **_no_ipv6_noise("default"), "ipv4/ip_forward": 0, "ipv4/conf/all/rp_filter": 0,
        "ipv4/conf/default/rp_filter": 0, "ipv4/ip_nonlocal_bind": 1, "ipv6/ip_nonlocal_bind": 1,
        "ipv4/icmp_ratelimit": 0, "ipv6/icmp/ratelimit": 0,
    })
    a, n = layout.APPLIANCE_LINK, layout.INTERNET_LINK
    run_ip("-batch", "-", lines=f"""\
link set lo up
link add {n} address {layout.INTERNET_MAC} type veth peer name {a} address {layout.APPLIANCE_MAC} netns {appliance}
addr add {layout.GATEWAY4}/24 dev {n}
addr add {layout.GATEWAY6}/64 dev {n} nodad
link set {n} up
neigh replace {layout.APPLIANCE4} lladdr {layout.APPLIANCE_MAC} dev {n} nud permanent
neigh replace {layout.APPLIANCE6} lladdr {layout.APPLIANCE_MAC} dev {n} nud permanent
route add unicast 192.168.77.0/24 dev {n} scope link table local
route add local default dev lo table local
route add unicast fd77::/64 dev {n} table local
route add unicast fe80::/64 dev {n} table local
route add local ::/0 dev lo table local
""")
    run_ip("-n", appliance, "-batch", "-", lines=f"""\
link set lo up
addr add {layout.APPLIANCE4}/24 dev {a}
addr add {layout.APPLIANCE6}/64 dev {a} nodad
link set {a} up
neigh replace {layout.GATEWAY4} lladdr {layout.INTERNET_MAC} dev {a} nud permanent
neigh replace {layout.GATEWAY6} lladdr {layout.INTERNET_MAC} dev {a} nud permanent
route add default via {layout.GATEWAY4}
route add ::/0 via {layout.GATEWAY6}
""")


def remove(name):
    """Removes a named namespace; nothing if there is none."""
    if path(name).exists():
        run_ip("netns", "del", name)
