"""What `./dev demo` runs: a real client, contained, in a miniature internet.

    demo.py --bin BUILD_DIR                  a name that is allowed, one that is not, and six ways out
    demo.py --bin BUILD_DIR --break HOLE     the self-test must stop a task whose namespace has a hole

Needs root and Debian's python3. Exit 0 only if everything came as it must: what the client saw and
what the recordings of the miniature internet hold.
"""

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lab")]

from holes import HOLES  # noqa: E402
from lab import Lab, LabError  # noqa: E402
from ways_out import WAYS_OUT  # noqa: E402

RUN_SECONDS = 20
PERMITTED = [("198.51.100.53", 53), ("198.51.100.10", 80), ("2001:db8::10", 80)]  # the lab's DNS; allowed.test
PLATFORM_FAILURE = 125


class Faults:
    """Counts what was not as it must be, and says so."""

    def __init__(self):
        self.found = []

    def expect(self, holds, text):
        if not holds:
            self.found.append(text)
            print(f"    NOT AS IT MUST BE: {text}")
        return holds


def printable(text, most=400):
    """What came from inside may hold anything; a terminal gets plain text."""
    return "".join(c if c.isprintable() else " " for c in text).rstrip()[:most]


def attempts(output):
    """name -> what came of it, from the task's own lines."""
    found = {}
    for line in output.splitlines():
        parts = line.split("\t", 2)
        if len(parts) == 3 and parts[0] == "attempt":
            found[parts[1]] = printable(parts[2])
    return found


def problem_of(answer):
    """(status, document) of an answer `403 {…}`; (None, {}) when it is none."""
    status, _, body = answer.partition(" ")
    try:
        document = json.loads(body)
    except ValueError:
        document = {}
    return (int(status) if status.isdigit() else None), document if isinstance(document, dict) else {}


def to(packet):
    return f"{packet.get('dst')} {packet.get('proto')} {packet.get('dport')}"


class Demo:
    def __init__(self, lab, build, directory):
        self.lab, self.build, self.dir = lab, build, directory
        self.sallyport = build / "bin" / "sallyport"
        self.faults = Faults()

    def run(self, command, *options, name="run"):
        """`sallyport run` in the appliance; (how it ended, receipt or None)."""
        receipt = self.dir / f"{name}.json"
        argv = [self.sallyport, "run", "--config", self.lab.config, "--policy", HERE / "policy.yaml"]
        argv += ["--receipt", receipt, "--state", self.dir / f"{name}.state", *options, "--", *command]
        done = self.lab.exec(argv, env={"HOME": str(self.dir)}, timeout=RUN_SECONDS, cwd=self.dir)
        return done, json.loads(receipt.read_text()) if receipt.exists() else None

    # --- the client and the ways out ---

    def show_containment(self):
        task = ["/bin/sh", "-c", (HERE / "task.sh").read_text()]
        self.in_the_open(task)
        self.lab.clear_records()
        print("\nThe same inside `sallyport run`, with a policy that allows GET http://allowed.test/**:")
        done, receipt = self.run(task)
        if not self.faults.expect(done.exit == 0, f"sallyport run ended with {done.exit}"):
            print(printable(done.stderr, 4000))
            return
        seen = attempts(done.stdout)
        self.check_answers(seen)
        self.check_ways_out(seen)
        self.check_recordings()
        self.show_receipt(done, receipt)
        self.show_log()

    def in_the_open(self, task):
        """The control: without Sallyport each way leads out, and the recordings show it."""
        print("Without Sallyport, to see that there is something to contain:")
        seen = attempts(self.lab.exec(task, names=True, timeout=RUN_SECONDS).stdout)
        left = self.lab.records("packets")
        for way in WAYS_OUT:
            reached = way.reached(seen.get(way.name, ""))
            recorded = any(way.is_to(packet) for packet in left)
            print(f"  {way.title:34} {'gets out' if reached and recorded else '?'}")
            self.faults.expect(reached and recorded, f"{way.name}: the control did not get out: {seen.get(way.name)!r}")

    def check_answers(self, seen):
        allowed, elsewhere = seen.get("allowed", ""), seen.get("elsewhere", "")
        print(f"  {'http://allowed.test/':34} {allowed}")
        self.faults.expect(allowed.startswith("200 hello from allowed.test"), "the allowed name is not reached")
        status, problem = problem_of(elsewhere)
        print(f"  {'http://denied.test/':34} {status or elsewhere} {problem.get('title', '')}")
        for line in filter(None, [problem.get("detail")]):
            print(f"  {'':34} “{line}”")
        self.faults.expect(status == 403 and "no_rule" in elsewhere, f"no readable refusal: {elsewhere!r}")

    def check_ways_out(self, seen):
        for way in WAYS_OUT:
            answer = seen.get(way.name)
            if not self.faults.expect(answer is not None, f"{way.name}: not tried"):
                continue
            status, problem = problem_of(answer)
            told = f"{status} {problem.get('reason', '')}" if problem else way.shorten(answer)
            shut = way.shut(answer) and not way.reached(answer)
            print(f"  {way.title:34} {'shut' if shut else 'OPEN'}: {told}")
            self.faults.expect(shut, f"{way.name}: {answer!r}")

    def check_recordings(self):
        left = self.lab.packets_except(*PERMITTED)
        names = sorted({name.lower().rstrip(".") for name in self.lab.dns_names()})  # asked in random case
        print("\nWhat the outside recorded:")
        print(f"  packets to anything but allowed.test and the DNS server: {len(left)}")
        print(f"  names asked for: {', '.join(names) or 'none'}")
        for packet in left[:10]:
            self.faults.expect(False, f"a packet left for {to(packet)}")
        self.faults.expect(names == ["allowed.test"], "other names were asked for, or none")
        strangers = {c["role"] for c in self.lab.connections()} - {"dns", "allowed"}
        self.faults.expect(not strangers, f"connections arrived at {strangers}")
        greetings = [p for p in self.lab.records("packets", settle=False) if to(p).endswith("tcp 80")]
        self.faults.expect(greetings, "the allowed connection itself is not in the recordings")

    def show_receipt(self, done, receipt):
        """The summary that `run` wrote for people, and the document for programs."""
        print("\nReceipt:")
        for line in done.stderr.splitlines():
            print(f"  {printable(line)}")
        if not self.faults.expect(receipt is not None, "no receipt"):
            return
        steps = receipt.get("cleanup", [])
        self.faults.expect(receipt.get("outcome") == "success", f"outcome {receipt.get('outcome')}")
        self.faults.expect(steps and all(s.get("completed") for s in steps), "clean-up is not complete")

    def show_log(self):
        log = self.dir / "run.state" / "audit.jsonl"
        verified = self.lab.exec([self.sallyport, "audit", "verify", log], timeout=RUN_SECONDS)
        print("\nAudit log:")
        for line in verified.stdout.splitlines():
            print(f"  {printable(line)}")
        self.faults.expect(verified.exit == 0, f"audit verify: {verified.stderr}")
        records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        denials = [r for r in records if r.get("verdict") == "deny"]
        self.faults.expect(denials, "no denial is in the log")

    # --- holes made on purpose ---

    def show_holes(self, wanted):
        """`wanted` holes must each be noticed; the same programs without a hole must run."""
        print("With the attach program that makes holes, and none made:")
        done, _ = self.run(["/bin/echo", "the command ran"], "--quiet", "--libexec", self.libexec("none"), name="none")
        self.faults.expect(done.exit == 0 and "the command ran" in done.stdout, f"the control did not run: {done}")
        print("  the command ran")
        for hole in wanted:
            self.lab.clear_records()
            self.show_hole(hole)

    def show_hole(self, hole):
        print(f"{hole}: {HOLES[hole].what}")
        done, receipt = self.run(["/bin/echo", "the command ran"], "--quiet", "--libexec", self.libexec(hole), name=hole)
        for line in done.stderr.splitlines():
            print(f"  {printable(line, 2000)}")
        probe = HOLES[hole].probe
        self.faults.expect(done.exit == PLATFORM_FAILURE, f"{hole}: exit {done.exit}, not {PLATFORM_FAILURE}")
        self.faults.expect(f"{probe}:" in done.stderr, f"{hole}: the message does not name the probe {probe}")
        self.faults.expect("the command ran" not in done.stdout, f"{hole}: the command ran")
        if receipt is not None:
            self.faults.expect(receipt.get("outcome") == "platform_failure", f"{hole}: receipt says {receipt.get('outcome')}")
        left = self.lab.records("packets")
        self.faults.expect(not left, f"{hole}: packets left: {[to(p) for p in left[:5]]}")

    def libexec(self, hole):
        """The programs, with sallyport-attach replaced by a script that starts the one that makes holes."""
        made = self.dir / f"libexec-{hole}"
        made.mkdir()
        for program in (self.build / "bin").iterdir():
            (made / program.name).symlink_to(program)
        attach = made / "sallyport-attach"
        attach.unlink()
        attach.write_text(f"#!/bin/sh\nSALLYPORT_HOLE={hole} exec '{self.build}/holes-bin/sallyport-attach' \"$@\"\n")
        attach.chmod(0o755)
        return made


def arguments():
    parser = argparse.ArgumentParser(prog="demo", description="A contained client in a miniature internet.")
    parser.add_argument("--bin", required=True, metavar="BUILD_DIR", type=Path, help="directory with bin/ and holes-bin/")
    parser.add_argument("--break", dest="hole", choices=[*HOLES, "all"], help="make a hole; the self-test must notice")
    return parser.parse_args()


@contextlib.contextmanager
def private_directory():
    made = Path(tempfile.mkdtemp(prefix="sallyport-demo-", dir="/tmp"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main():
    args = arguments()
    build = args.bin.resolve()
    if os.geteuid() != 0:
        sys.exit("demo: the miniature internet needs root")
    if not os.access(build / "bin" / "sallyport", os.X_OK):
        sys.exit(f"demo: no {build}/bin/sallyport: ./dev build")
    start = time.monotonic()
    with Lab() as lab, private_directory() as directory:
        demo = Demo(lab, build, directory)
        if args.hole:
            demo.show_holes(list(HOLES) if args.hole == "all" else [args.hole])
        else:
            demo.show_containment()
    faults = demo.faults.found
    verdict = "all as it must be" if not faults else f"{len(faults)} not as it must be"
    print(f"\ndemo: {verdict}, {time.monotonic() - start:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"demo: {error}")
