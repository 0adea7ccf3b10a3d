"""git's smart HTTP, over `git http-backend` (a CGI program), and the repository it serves."""

import asyncio
import subprocess
from pathlib import Path

from . import http1

BACKEND = "/usr/lib/git-core/git-http-backend"
TIMEOUT = 20.0
REPOSITORY = "acme/app.git"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
}

COMMITS = [
    ("Start", {"README.md": "# app\n\nThe lab's example repository.\n"}),
    ("Say hello", {"hello.py": 'print("hello from acme/app")\n'}),
    ("Add a licence", {"LICENSE": "Public domain.\n"}),
]


def _import_stream():
    out = []
    for number, (message, files) in enumerate(COMMITS):
        stamp = f"Lab <lab@git.test> {1700000000 + number * 3600} +0000"
        out += [f"commit refs/heads/main\ncommitter {stamp}\ndata {len(message)}\n{message}\n"]
        for path, text in files.items():
            out += [f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"]
    return "".join(out).encode()


def start_making(root, log):
    """Begins to make the repository under `root`; a Popen to wait for. Pushes are accepted, so
    that one which should have been stopped is seen."""
    target = Path(root) / REPOSITORY
    target.parent.mkdir(parents=True, exist_ok=True)
    script = (
        'git init -q --bare --template= -b main "$1" && cd "$1" && git config http.receivepack true && '
        "git fast-import --quiet --force"
    )
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", str(target)], stdin=subprocess.PIPE, stdout=log, stderr=log, env=ENVIRONMENT
    )
    process.stdin.write(_import_stream())
    process.stdin.close()
    process.stdin = None
    return process


def answerer(root):
    """The `answer` of http1.handler for a git host."""

    async def answer(request, connection):
        path, _, query = request.target.partition("?")
        if path == "/":
            return http1.respond(200, b"git.test serves /acme/app.git\n")
        environment = dict(
            ENVIRONMENT,
            GIT_PROJECT_ROOT=str(root), GIT_HTTP_EXPORT_ALL="1", REQUEST_METHOD=request.method,
            PATH_INFO=path, QUERY_STRING=query, REMOTE_ADDR=connection.src, REMOTE_USER="lab",
            SERVER_PROTOCOL="HTTP/1.1", CONTENT_TYPE=request.header("content-type") or "",
            CONTENT_LENGTH=str(len(request.body)),
        )
        for name, variable in (("git-protocol", "GIT_PROTOCOL"), ("content-encoding", "HTTP_CONTENT_ENCODING")):
            if request.header(name):
                environment[variable] = request.header(name)
        return await _run(environment, request.body, request.method == "HEAD")

    return answer


async def _run(environment, body, head_only):
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(BACKEND, stdin=pipe, stdout=pipe, env=environment)
    try:
        output, _ = await asyncio.wait_for(process.communicate(body), TIMEOUT)
    except (asyncio.TimeoutError, TimeoutError):
        process.kill()
        await process.wait()
        return http1.respond(500, b"git took too long\n")
    head, separator, payload = output.partition(b"\r\n\r\n")
    if not separator:
        return http1.respond(500, b"git http-backend said nothing\n")
    headers = [tuple(x.strip() for x in line.split(":", 1)) for line in head.decode("latin-1").split("\r\n")]
    fields = {n.lower(): v for n, v in headers}
    status = int(fields.get("status", "200").split()[0])
    extra = [(n, v) for n, v in headers if n.lower() not in ("status", "content-type", "content-length")]
    return http1.respond(status, payload, fields.get("content-type", "text/plain"), extra, head_only)
