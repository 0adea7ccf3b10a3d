"""Servers that only some tests need, each at an address of its own in the miniature internet, for the time of a `with`.

    with files(lab, directory):                     # http://mirror.test/…, nginx, ranges and pipelining
        …
    with server(lab, ["node", "echo.js"], "node.test", "198.51.100.41"):
        …
"""

import contextlib
import json
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

READY_SECONDS = 10

_NGINX = """\
daemon off; master_process off; user root; worker_processes 1; pid {scratch}/pid; error_log {scratch}/error.log warn;
events {{ worker_connections 1024; }}
http {{
  log_format line escape=json '{{"method":"$request_method","target":"$request_uri","status":$status,"range":"$http_range","agent":"$http_user_agent",'
    '"sent":$bytes_sent,"connection":$connection}}';
  access_log {scratch}/access.jsonl line;
  client_body_temp_path {scratch}/body; proxy_temp_path {scratch}/proxy; fastcgi_temp_path {scratch}/fcgi;
  uwsgi_temp_path {scratch}/uwsgi; scgi_temp_path {scratch}/scgi;
  types {{ text/html html; application/json json; }} default_type application/octet-stream; client_max_body_size 0; server_tokens off;
{servers}
}}
"""


def _answers(lab, address, port):
    """Whether a TCP connection is taken there. By a thread, as a namespace belongs to a thread."""
    found = []

    def probe():
        from miniature import netns

        netns.enter(lab.doc["internet"]["netns"])
        with socket.socket() as sock:
            sock.settimeout(1)
            found.append(sock.connect_ex((address, port)) == 0)

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return found == [True]


@contextlib.contextmanager
def server(lab, argv, name, address, port=80, env=None, cwd=None):
    """`argv` in the internet's namespace, until it listens at `address`; `name` is its name."""
    lab.zone(name, values=address)
    running = lab.start_outside(argv, env=env, cwd=cwd)
    try:
        end = time.monotonic() + READY_SECONDS
        while not _answers(lab, address, port):
            assert running.process.poll() is None, running.output()
            assert time.monotonic() < end, f"{argv[0]} does not listen: {running.output()}"
            time.sleep(0.02)
        yield running
    finally:
        running.kill()


class Nginx:
    def __init__(self, scratch):
        self.scratch = scratch

    def requests(self):
        """What was asked and how it was answered, in order of the answers' ends. A client may know of the last one's end before this does."""
        text = (self.scratch / "access.jsonl").read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@contextlib.contextmanager
def nginx(lab, servers, name, address):
    """An nginx with these `server` blocks; {scratch} in them is a directory of its own."""
    scratch = Path(tempfile.mkdtemp(prefix="origin-", dir="/tmp"))
    try:
        (scratch / "nginx.conf").write_text(_NGINX.format(scratch=scratch, servers=servers.replace("{scratch}", str(scratch))))
        argv = ["/usr/sbin/nginx", "-p", scratch, "-c", scratch / "nginx.conf", "-e", scratch / "error.log"]
        with server(lab, argv, name, address):
            yield Nginx(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def files(lab, directory, name="mirror.test", address="198.51.100.40"):
    """A directory as a web site: index.html or index.json for a directory."""
    block = f"server {{ listen {address}:80; server_name {name}; root {directory}; index index.html index.json; port_in_redirect off; }}"
    with nginx(lab, block, name, address) as running:
        yield running
