"""What tests of whole runs share: a policy with a rule of each kind, who runs it, and where its state goes."""

import os
import pathlib
import tempfile

import pytest

POLICY = """policy: processes/1
rules:
  - id: web
    allow: GET,HEAD http://allowed.test/**
  - id: other
    allow: GET,HEAD http://other-allowed.test/**
  - id: raw-tls
    allow: tls://raw.test
  - id: raw
    allow: tcp://raw.test:5432
"""
USERS = pytest.mark.parametrize("user", [None, "ordinary"], ids=["root", "ordinary"])


def state_of(user):
    """A new directory for --state that belongs to the user; the caller removes it."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-state-", dir="/tmp"))
    os.chown(made, *((61000, 61000) if user else (0, 0)))
    return made
