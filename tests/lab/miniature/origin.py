"""The nginx origins: configuration, files, start.

Every host serves, over HTTP/1.1 on 80 and HTTP/1.1 and 2 on 443: `/` ("hello from HOST"),
/1k, /1m, /10m (so many bytes, all "x"), /chunked (no Content-Length), /status/503,
/redirect (to http://denied.test/), /upload (takes any body). A request for a name that the
address does not serve gets 404 and says so.
"""

import subprocess
from pathlib import Path

from . import layout

SIZES = {"1k": 1 << 10, "1m": 1 << 20, "10m": 10 << 20}

_MAIN = """\
daemon off; master_process off; user root; worker_processes 1;
pid nginx/pid; error_log logs/nginx.log warn;
events {{ worker_connections 4096; }}
http {{
  log_format requests escape=json '{{"time":$msec,"role":"$role","dst":"$server_addr","dport":$server_port,'
    '"src":"$remote_addr","sport":$remote_port,"tls":"$ssl_protocol","sni":"$ssl_server_name","alpn":"$ssl_alpn_protocol",'
    '"method":"$request_method","host":"$http_host","target":"$request_uri","protocol":"$server_protocol",'
    '"authorization":"$http_authorization","status":$status,"received":$request_length,"sent":$bytes_sent}}';
  access_log {directory}/records/requests.jsonl requests;
  client_body_temp_path nginx/body; proxy_temp_path nginx/proxy; fastcgi_temp_path nginx/fastcgi;
  uwsgi_temp_path nginx/uwsgi; scgi_temp_path nginx/scgi;
  default_type text/plain; server_tokens off; client_max_body_size 0; keepalive_requests 1000000;
  server_names_hash_bucket_size 128; sendfile on; tcp_nopush on; ssl_session_cache off;
  server {{ listen 127.0.0.1:{probe}; access_log off; location / {{ return 204; }} }}
{servers}
}}
"""

_LOCATIONS = """\
    location = / { return 200 "hello from $host\\n"; }
    location = /chunked { ssi on; ssi_types text/plain; alias www/chunked.txt; }
    location = /redirect { return 302 http://denied.test/; }
    location = /status/503 { return 503 "unavailable\\n"; }
    location = /upload { return 200 "taken\\n"; }
    location / { root www; }
"""


def _server(role, names, certificate, default):
    listens = []
    for address in layout.role_addresses(role):
        at = f"[{address}]" if ":" in address else address
        extra = " default_server" if default else ""
        only = " ipv6only=on" if default and ":" in address else ""
        listens.append(f"    listen {at}:80{extra}{only}; listen {at}:443 ssl http2{extra}{only};")
    body = '    location / { return 404 "$host is not served here\\n"; }\n' if default else _LOCATIONS
    names = "" if default else f"    server_name {' '.join(names)};\n"
    return (
        f"  server {{\n    set $role {role};\n" + "\n".join(listens) + "\n" + names
        + f"    ssl_certificate tls/{certificate}.pem; ssl_certificate_key tls/{certificate}.key;\n{body}  }}"
    )


def prepare(directory):
    """Writes configuration and files."""
    root = Path(directory)
    servers = [
        _server(role, names, certificate, default)
        for role, (names, certificate) in layout.ORIGINS.items()
        for default in (True, False)
    ]
    text = _MAIN.format(directory=root, servers="\n".join(servers), probe=layout.NGINX_PROBE_PORT)
    # Relative paths are nginx's prefix; root and alias are not among them.
    text = text.replace("root www", f"root {root}/www").replace("alias www", f"alias {root}/www")
    text = text.replace("ssl_certificate tls", f"ssl_certificate {root}/tls").replace("_key tls", f"_key {root}/tls")
    (root / "nginx").mkdir()
    (root / "nginx" / "nginx.conf").write_text(text)
    www = root / "www"
    www.mkdir()
    for name, size in SIZES.items():
        (www / name).write_bytes(b"x" * size)
    (www / "chunked.txt").write_text("chunked from the lab\n" * 100)


def start(directory):
    """Starts nginx in the caller's network namespace."""
    log = open(f"{directory}/logs/nginx.stderr", "ab")
    with log:
        return subprocess.Popen(
            ["nginx", "-p", f"{directory}/", "-c", f"{directory}/nginx/nginx.conf", "-e", f"{directory}/logs/nginx.log"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
