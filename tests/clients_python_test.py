"""client-005, as far as clear HTTP goes (the same over interception is with https://): python's HTTP libraries and pip, each with something
that is allowed and a denied twin whose message says why."""

import base64
import hashlib
import io
import zipfile

import pytest

from client_runs import UNRESOLVED, check, run_clients
from origins import files

POLICY = """policy: clients-python/1
rules:
  - id: read
    allow: GET,HEAD http://allowed.test/**
  - id: echo
    allow: GET,POST http://echo.test/**
  - id: index
    allow: GET http://mirror.test/simple/**
  - id: packages
    allow: GET,HEAD http://mirror.test/packages/**
  - deny: http://mirror.test/packages/internal/**
"""

REQUESTS = """
import sys, requests
with requests.Session() as s:
    a = s.request(sys.argv[1], sys.argv[2], timeout=10, data=b"q" * 100000 if sys.argv[1] == "POST" else None)
    a.raise_for_status(); b = s.get("http://allowed.test/1k", timeout=10); print(a.status_code, len(a.content), len(b.content), b.text[:3])
"""
CHUNKED = """
import requests
def pieces():
    for n in range(50): yield b"p" * 1000
print(len(requests.post("http://echo.test/", data=pieces(), timeout=10).json()["body_base64"]))
"""
STREAMED = """
import requests, hashlib
with requests.get("http://allowed.test/10m", stream=True, timeout=10) as r:
    print(r.status_code, sum(len(c) for c in r.iter_content(65536)))
"""
AIOHTTP = """
import asyncio, sys, aiohttp
async def main():
    async with aiohttp.ClientSession(trust_env=TRUST, timeout=aiohttp.ClientTimeout(10), raise_for_status=True) as s:
        async def one(n):
            async with s.get(sys.argv[1] + "?n=%d" % n) as r: return r.status, len(await r.read())
        print(await asyncio.gather(*[one(n) for n in range(30)]))
asyncio.run(main())
"""
HTTPX = """
import sys, httpx
with httpx.Client(timeout=10) as c:
    a = c.get(sys.argv[1]); a.raise_for_status(); print(a.status_code, len(a.content))
"""
URLLIB = """
import sys, urllib.request
print(len(urllib.request.urlopen(sys.argv[1], timeout=10, data=b"x" * 5 if len(sys.argv) > 2 else None).read()))
"""


def python(code, *arguments):
    return ["/usr/bin/python3", "-c", code, *arguments]


@pytest.mark.parametrize("variables,user", [(True, None), (False, "ordinary")], ids=["proxy-variables", "caught"])
def test_client_005_libraries(lab, sallyport, variables, user):
    commands = {
        "requests": python(REQUESTS, "GET", "http://allowed.test/"), "requests post": python(REQUESTS, "POST", "http://echo.test/"),
        "requests denied": python(REQUESTS, "GET", "http://denied.test/"), "requests method": python(REQUESTS, "POST", "http://allowed.test/upload"),
        "requests chunked": python(CHUNKED), "requests streamed": python(STREAMED),
        "aiohttp": python(AIOHTTP.replace("TRUST", "True"), "http://allowed.test/1k"), "aiohttp denied": python(AIOHTTP.replace("TRUST", "True"), "http://denied.test/1k"),
        "aiohttp untrusting": python(AIOHTTP.replace("TRUST", "False"), "http://allowed.test/1k"),
        "httpx": python(HTTPX, "http://allowed.test/1m"), "httpx denied": python(HTTPX, "http://denied.test/"),
        "urllib": python(URLLIB, "http://allowed.test/1m"), "urllib post": python(URLLIB, "http://allowed.test/upload", "post"),
    }
    ended = run_clients(sallyport, POLICY, commands, variables=variables, user=user)
    by_name = r"403.*no_rule" if variables else UNRESOLVED  # a name without a rule has no address
    check(ended, {
        "requests": (True, r"200 \d+ 1024 xxx"), "requests post": (True, r"200 \d{6} 1024 xxx"), "requests denied": (False, by_name),
        "requests method": (False, r"403 Client Error: .*method_not_allowed"), "requests chunked": (True, r"^66668\n"),
        "requests streamed": (True, "200 10485760"), "aiohttp": (True, r"^\[(\(200, 1024\)(, )?){30}\]"), "aiohttp denied": (False, by_name),
        "aiohttp untrusting": (True, r"^\[(\(200, 1024\)(, )?){30}\]"), "httpx": (True, "200 1048576"), "httpx denied": (False, by_name),
        "urllib": (True, "1048576"), "urllib post": (False, "HTTP Error 403: .*method_not_allowed"),
    })
    assert lab.names_asked() <= {"allowed.test", "echo.test"} and not lab.packets(dst="198.51.100.66")
    assert not lab.packets_to_unpermitted() and not [r for r in lab.records("requests") if r["method"] == "POST"]


def wheel(name, version):
    """A wheel as a file, with what pip checks in it."""
    out, prefix = io.BytesIO(), f"{name}-{version}.dist-info"
    content = {
        f"{name}.py": f"def version(): return {version!r}\n",
        f"{prefix}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{prefix}/WHEEL": "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text)}\n"
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in {**content, f"{prefix}/RECORD": record + f"{prefix}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return out.getvalue()


def make_index(root):
    """A PEP 503 index: lab_demo can be had, lab_internal is listed and lies behind a denied path."""
    for name, folder in (("lab_demo", "packages"), ("lab_internal", "packages/internal")):
        data, file = wheel(name, "1.2"), f"{name}-1.2-py3-none-any.whl"
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / file).write_bytes(data)
        page = root / "simple" / name.replace("_", "-")
        page.mkdir(parents=True)
        (page / "index.html").write_text(f'<a href="/{folder}/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>')


@pytest.mark.parametrize("variables", [True, False], ids=["proxy-variables", "caught"])
def test_client_005_pip(lab, sallyport, tmp_path, variables):
    make_index(tmp_path)

    def pip(verb, package, host="mirror.test"):
        return ["/usr/bin/python3", "-m", "pip", "--no-cache-dir", "--disable-pip-version-check", "--retries", "0", verb, "--no-deps",
                "--index-url", f"http://{host}/simple/", "--trusted-host", host, package]

    with files(lab, tmp_path) as mirror:
        ended = run_clients(sallyport, POLICY, {
            "download": [*pip("download", "lab-demo"), "-d", "got"], "install": [*pip("install", "lab-demo"), "--target", "installed"],
            "use": ["/usr/bin/python3", "-c", "import sys; sys.path.insert(0, 'installed'); import lab_demo; print('version', lab_demo.version())"],
            "denied host": pip("download", "lab-demo", "denied.test"), "denied path": pip("download", "lab-internal"),
        }, variables=variables)
        asked = {r["target"] for r in mirror.requests()}
    check(ended, {
        "download": (True, "Saved .*lab_demo-1.2"), "install": (True, "Successfully installed lab-demo-1.2"), "use": (True, "version 1.2"),
        "denied host": (False, r"(?i)no matching distribution"), "denied path": (False, r"403.*denied_by_rule"),
    })
    assert {t for t in asked if "internal" in t} == {"/simple/lab-internal/"} and not lab.packets(dst="198.51.100.66")
