"""The lab's CA and its certificates: EC P-256, made with openssl(1), a few milliseconds each.

    ca         ca.pem, ca.key; what `trust: ca_file` names
    site       for every name of the origins and of the lab's own TLS hosts
    stranger   by the same CA, for a name nobody has here
    expired    by the same CA, no longer valid
    untrusted  by nobody, for the right name
"""

import subprocess

from . import layout

_SCRIPT = r"""
set -e
new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout "$1.key" -out "$1.pem" -subj "/CN=$2" "${@:3}"; }
leaf() { new "$1" "$2" -CA ca.pem -CAkey ca.key -addext "subjectAltName=$3" -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=serverAuth; }
new ca "Lab CA" -addext keyUsage=critical,keyCertSign,cRLSign
leaf site allowed.test "$1"
leaf stranger stranger.test DNS:stranger.test
new untrusted untrusted.test -addext subjectAltName=DNS:untrusted.test
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout expired.key -subj /CN=expired.test -addext subjectAltName=DNS:expired.test |
  openssl x509 -req -copy_extensions copy -CA ca.pem -CAkey ca.key -days -1 -out expired.pem
"""


def start_making(directory, log):
    """Begins to make them in `directory`; a Popen to wait for."""
    names = ",".join(f"DNS:{name}" for name in layout.site_names())
    return subprocess.Popen(
        ["bash", "-c", _SCRIPT, "bash", names], cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        umask=0o022,
    )
