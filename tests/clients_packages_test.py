"""Package managers against repositories of the lab, over clear HTTP: client-009 (apt; pipelined, with ranges) and client-007 (npm). What they
fetch by https:// comes with interception."""

import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile

import pytest

from client_runs import UNRESOLVED, check, run_clients
from origins import files

POLICY = """policy: clients-packages/1
rules:
  - id: apt
    allow: GET http://mirror.test/debian/**
  - deny: http://mirror.test/debian/internal/**
  - id: npm
    allow: GET http://mirror.test/npm/**
  - deny: http://mirror.test/npm/lab-internal/**
"""
BOTH_WAYS = pytest.mark.parametrize("variables", [True, False], ids=["proxy-variables", "caught"])
PACKAGES = 24  # enough of them that apt has several requests under way on one connection


def make_package(root, folder, name, size=2000):
    """A .deb with one file of `size` bytes; its stanza for Packages."""
    tree = root / "build" / name
    (tree / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: Lab <lab@mirror.test>\nDescription: {name}\n"
    (tree / "DEBIAN" / "control").write_text(control)
    (tree / "payload").write_bytes(hashlib.shake_256(name.encode()).digest(size))
    file = root / "debian" / folder / f"{name}_1.0_all.deb"
    file.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, file], check=True, capture_output=True, timeout=20)
    data = file.read_bytes()
    return f"{control}Filename: {folder}/{file.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n", data


def make_repository(root):
    """An archive with one suite; the bytes of the large package."""
    stanzas = [make_package(root, "pool", f"lab-part{n}")[0] for n in range(PACKAGES)]
    large, data = make_package(root, "pool", "lab-large", 3 << 20)
    packages = ("".join(stanzas) + large + make_package(root, "internal", "lab-internal")[0]).encode()
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True, timeout=20).stdout.strip()
    suite, index = root / "debian" / "dists" / "lab", f"main/binary-{architecture}/Packages"
    (suite / index).parent.mkdir(parents=True)
    compressed = gzip.compress(packages)
    (suite / (index + ".gz")).write_bytes(compressed)
    (suite / "Release").write_text(
        f"Origin: lab\nSuite: lab\nCodename: lab\nDate: Sat, 01 Jan 2022 00:00:00 UTC\nArchitectures: {architecture}\nComponents: main\nSHA256:\n"
        f" {hashlib.sha256(packages).hexdigest()} {len(packages)} {index}\n {hashlib.sha256(compressed).hexdigest()} {len(compressed)} {index}.gz\n")
    shutil.rmtree(root / "build")
    # The same as a flat repository, whose files apt asks for as "/flat/./…".
    flat = root / "debian" / "flat"
    flat.mkdir()
    (flat / "Packages.gz").write_bytes(compressed)
    (flat / "Release").write_text((suite / "Release").read_text().replace(f" {index}", " Packages"))
    return data


def apt(verb, *packages, host="mirror.test", suite="debian lab main"):
    """apt-get with all of its directories below the home of the sandbox."""
    script = f"""
d=$HOME/apt-{host}; mkdir -p $d/etc/apt.conf.d $d/etc/preferences.d $d/etc/trusted.gpg.d $d/lists/partial $d/archives/partial; touch $d/status
echo "deb [trusted=yes] http://{host}/{suite}" >$d/sources.list
verb=$1; shift
cd $d/archives && exec apt-get -q -y -o Dir::Etc=$d/etc -o Dir::Etc::sourcelist=$d/sources.list -o Dir::Etc::sourceparts=- -o Dir::State=$d -o Dir::State::lists=$d/lists \\
  -o Dir::Etc::parts=$d/etc/apt.conf.d -o Dir::State::status=$d/status -o Dir::Cache=$d -o Dir::Cache::archives=$d/archives -o Dir::Log=$d -o APT::Sandbox::User=$(id -un) -o Debug::NoLocking=1 \\
  -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o APT::Update::Error-Mode=any $verb "$@"
"""
    return ["sh", "-c", script, "sh", verb, *packages]


@BOTH_WAYS
def test_client_009_apt(lab, sallyport, tmp_path, variables):
    large = make_repository(tmp_path)
    parts = [f"lab-part{n}" for n in range(PACKAGES)]
    # The date of a partial file is that of its origin: If-Range.
    half = "f=lab-large_1.0_all.deb; cd archives && head -c 1000000 $f >partial/$f && touch -r $f partial/$f && rm $f"
    with files(lab, tmp_path) as mirror:
        ended = run_clients(sallyport, POLICY, {
            "update": apt("update"), "install": apt("install", "--download-only", *parts), "count": ["sh", "-c", "ls apt-mirror.test/archives/*.deb | wc -l"],
            "download": apt("download", "lab-large"), "half": ["sh", "-c", f"cd apt-mirror.test && {half}"],
            "resumed": apt("install", "--download-only", "lab-large"), "sum": ["sh", "-c", "sha256sum apt-mirror.test/archives/lab-large_1.0_all.deb"],
            "denied path": apt("download", "lab-internal"), "flat": apt("update", suite="debian/flat ./"), "denied host": apt("update", host="denied.test"),
        }, variables=variables)
        asked = mirror.requests()
    check(ended, {
        "update": (True, r"(?s)Get:.*Packages"), "install": (True, "Download complete|in download only mode"), "count": (True, f"^{PACKAGES}\n"), "download": (True, "lab-large"),
        "half": (True, ""), "resumed": (True, "Download complete"), "sum": (True, hashlib.sha256(large).hexdigest()),
        "denied path": (False, r"403 .*denied_by_rule"), "flat": (True, r"(?s)Get:.*Packages"),
        "denied host": (False, r"403 .*no_rule" if variables else UNRESOLVED),
    })
    assert "/debian/flat/Release" in [r["target"] for r in asked]
    parts_asked = [r for r in asked if "lab-part" in r["target"]]
    assert len(parts_asked) == PACKAGES and {r["status"] for r in parts_asked} == {200}
    assert [r["range"] for r in asked if r["status"] == 206] == ["bytes=1000000-"] and not [r for r in asked if "internal" in r["target"]]
    assert not lab.packets(dst="198.51.100.66")


def make_registry(root):
    for name in ("lab-demo", "lab-internal"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            for path, text in {"package.json": json.dumps({"name": name, "version": "2.0.0", "main": "main.js"}),
                               "main.js": "console.log('lab says 2.0.0')\n"}.items():
                entry = tarfile.TarInfo("package/" + path)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        data, folder = out.getvalue(), root / "npm" / name
        folder.mkdir(parents=True)
        (folder / f"{name}-2.0.0.tgz").write_bytes(data)
        version = {"name": name, "version": "2.0.0", "main": "main.js", "dist": {
            "tarball": f"http://mirror.test/npm/{name}/{name}-2.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}}
        document = {"name": name, "dist-tags": {"latest": "2.0.0"}, "versions": {"2.0.0": version}}
        (root / "npm" / f"{name}.json").write_text(json.dumps(document))


def npm(package, host="mirror.test"):
    return ["sh", "-c", 'mkdir -p "$1" && cd "$1" && exec npm install "$2" --registry "http://$3/npm/" --no-audit --no-fund --no-update-notifier '
            '--fetch-retries 0 --fetch-timeout 8000', "sh", f"{package}-{host}", package, host]


@pytest.mark.skipif(not shutil.which("npm", path="/usr/bin"), reason="no npm in /usr/bin")
@BOTH_WAYS
def test_client_007_npm(lab, sallyport, tmp_path, variables):
    make_registry(tmp_path)
    for name in ("lab-demo", "lab-internal"):  # a document beside its folder: nginx would send a directory elsewhere
        shutil.move(tmp_path / "npm" / f"{name}.json", tmp_path / "npm" / name / "index.json")
    with files(lab, tmp_path) as mirror:
        ended = run_clients(sallyport, POLICY, {
            "install": npm("lab-demo"), "use": ["sh", "-c", "cd lab-demo-mirror.test && node node_modules/lab-demo/main.js"],
            "denied path": npm("lab-internal"), "denied host": npm("lab-demo", "denied.test"),
        }, variables=variables)
        asked = mirror.requests()
    check(ended, {
        "install": (True, "added 1 package"), "use": (True, "lab says 2.0.0"), "denied path": (False, r"403.*(denied_by_rule|Forbidden)"),
        "denied host": (False, r"403.*(no_rule|Forbidden)" if variables else UNRESOLVED),
    })
    assert "/npm/lab-demo/lab-demo-2.0.0.tgz" in [r["target"] for r in asked] and not [r for r in asked if "internal-2" in r["target"]]
    assert not lab.packets(dst="198.51.100.66")
