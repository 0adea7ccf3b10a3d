"""What every black-box test gets: a time limit, a miniature internet, the built programs and a
way to run `sallyport run` inside. Documented in lab/README.md and at each fixture."""

import faulthandler
import os
import signal
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "lab"))

import runner  # noqa: E402
from budget_runs import run  # noqa: E402, F401
from lab import Lab  # noqa: E402

DEFAULT_SECONDS = 60
BACKSTOP = 30  # more seconds after which the whole run is ended with a traceback


def _limited(item):
    """SIGALRM makes a phase fail when its time is over, wherever it waits; should even that be
    swallowed, faulthandler ends the run."""
    marker = item.get_closest_marker("timeout")
    seconds = marker.args[0] if marker else DEFAULT_SECONDS

    def over(_number, _frame):
        pytest.fail(f"not finished after {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    faulthandler.dump_traceback_later(seconds + BACKSTOP, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from _limited(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from _limited(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    yield from _limited(item)


@pytest.fixture(scope="session")
def lab():
    """The run's miniature internet (lab.Lab). Zone, scripts and recordings are as after `up`
    when a test that uses it begins."""
    if os.geteuid() != 0:
        pytest.fail("the lab makes network namespaces: run as root", pytrace=False)
    with Lab() as built:
        yield built


@pytest.fixture(autouse=True)
def _fresh_lab(request):
    if "lab" in request.fixturenames:
        request.getfixturevalue("lab").reset()


@pytest.fixture(scope="session")
def binaries():
    """Where the built programs are: build/release/bin, or $SALLYPORT_BIN. A directory that an
    ordinary user can reach (a copy, when the tree is not one). `binaries.path("sallyport")`."""
    found = runner.Binaries.find(TESTS.parent)
    if found.problem:
        pytest.fail(found.problem, pytrace=False)  # not skipped: a suite that ran nothing is no success
    yield found
    found.close()


@pytest.fixture
def sallyport(lab, binaries):
    """Runs `sallyport run` in the appliance's namespace (runner.Sallyport):

        result = sallyport(["curl", "-s", "http://allowed.test/"], policy=POLICY, user="ordinary")
        assert result.exit == 0, result
        result.receipt["outcome"]

    What a test left running is ended after it.
    """
    made = runner.Sallyport(lab, binaries)
    yield made
    made.close()
