"""Chromium, headless, on http:// pages. It is not among the packages that `./dev setup` installs, as it is larger than all others together:
without it this is skipped."""

import shutil

import pytest

from client_runs import check, run_clients
from origins import files

POLICY = """policy: clients-browser/1
rules:
  - id: site
    allow: GET http://mirror.test/**
  - deny: http://mirror.test/private/**
"""
PAGE = """<!doctype html><title>lab</title><link rel="stylesheet" href="/style.css"><p id="out">waiting</p>
<img src="/picture.svg"><script src="/script.js"></script>"""
SCRIPT = """
const get = u => fetch(u).then(async r => r.status + ' ' + (await r.text()).length, e => 'failed');
Promise.all([get('/data.json'), get('/private/data.json'), get('http://denied.test/'), ...[...Array(12).keys()].map(n => get('/data.json?' + n))])
  .then(all => { document.getElementById('out').textContent = 'got ' + all.slice(0, 3).join(', ') + ', same ' + new Set(all.slice(3)).size })
"""


@pytest.mark.skipif(not shutil.which("chromium", path="/usr/bin"), reason="no /usr/bin/chromium")
@pytest.mark.timeout(100)
@pytest.mark.parametrize("variables", [True, False], ids=["proxy-variables", "caught"])
def test_chromium(lab, sallyport, tmp_path, variables):
    (tmp_path / "private").mkdir()
    for name, text in {"index.html": PAGE, "script.js": SCRIPT, "style.css": "p { color: green }", "data.json": "[1, 2]", "private/data.json": "[]",
                       "picture.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>'}.items():
        (tmp_path / name).write_text(text)
    # It would look up and call hosts of its maker at every start; QUIC has nowhere to go.
    chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir=/tmp/profile", "--virtual-time-budget=5000", "--dump-dom"]
    with files(lab, tmp_path) as mirror:
        ended = run_clients(sallyport, POLICY, {"page": [*chromium, "http://mirror.test/"], "denied": [*chromium, "http://mirror.test/private/"]},
                            variables=variables, seconds=40, timeout=95)
        asked = {r["target"].split("?")[0] for r in mirror.requests()}
    third = r"failed"  # another origin, which does not say that this one may read its answer
    check(ended, {"page": (True, rf"got 200 6, 403 \d+, {third}, same 1"), "denied": (True, r"denied_by_rule|ERR_|denied")})
    assert {"/", "/script.js", "/style.css", "/picture.svg", "/data.json"} <= asked and not any("private" in target for target in asked)
    assert not lab.packets(dst="198.51.100.66") and lab.names_asked() == {"mirror.test"}
