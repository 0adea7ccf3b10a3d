"""The raw origin: it records what it gets and plays a script, so that a test can be an upstream
of any kind.

A script, per host ("raw", "rawtls") and port:

    answers   base64 of the exact bytes to answer with, a list: one a trigger, the last repeats
    trigger   when: "head" (each blank line CRLF CRLF that arrives; default), "data" (each
              read), "connect" (at once, before anything arrives), "eof" (the client's FIN)
    after     what follows the last of `answers`: "keep" (default), "close", "reset", "hold" (stay
              silent and open)
    delay     seconds before each answer
    piece, pause   write answers in pieces of so many bytes, with so many seconds between
    mode      instead of the above: "hold" (accept, never answer), "reset" (RST at the trigger),
              "half-close" (1 MiB, one second after the client's FIN, then FIN),
              "echo" (send back what arrives)

Without a script: a minimal HTTP/1.1 200 for each head.
"""

import asyncio

from . import control

DEFAULT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nraw\n"
MODES = {"respond", "hold", "reset", "half-close", "echo"}
TRIGGERS = {"head", "data", "connect", "eof"}
AFTER = {"keep", "close", "reset", "hold"}
KEYS = {"answers", "trigger", "after", "delay", "piece", "pause", "mode"}
HALF_CLOSE_BYTES = 1 << 20


class Script:
    """One checked script; ValueError says what is wrong with it."""

    def __init__(self, given):
        if set(given) - KEYS:
            raise ValueError(f"unknown in a script: {sorted(set(given) - KEYS)}")
        self.answers = [control.from_base64(a) for a in given.get("answers", [])] or [DEFAULT]
        self.mode = self._one(given, "mode", MODES, "respond")
        self.trigger = self._one(given, "trigger", TRIGGERS, "head")
        self.after = self._one(given, "after", AFTER, "keep")
        self.delay, self.pause = float(given.get("delay", 0)), float(given.get("pause", 0))
        self.piece = int(given.get("piece", 0))
        if not (0 <= self.delay <= 60 and 0 <= self.pause <= 60 and self.piece >= 0):
            raise ValueError("delay and pause are 0 to 60 seconds, piece is not negative")

    @staticmethod
    def _one(given, key, allowed, default):
        value = given.get(key, default)
        if value not in allowed:
            raise ValueError(f"{key} is one of {sorted(allowed)}")
        return value


class HeadCounter:
    """Counts CRLF CRLF in a stream cut anywhere."""

    def __init__(self):
        self._tail = b""

    def feed(self, data):
        text = self._tail + data
        self._tail = text[-3:] if not text.endswith(b"\r\n\r\n") else b""
        return text.count(b"\r\n\r\n")


async def play(script, connection):
    """The connection's whole life under `script`."""
    if script.mode == "half-close":
        while await connection.recv():
            pass
        await asyncio.sleep(1)
        await connection.send(b"h" * HALF_CLOSE_BYTES)
        return
    if script.mode == "respond" and script.trigger == "connect":
        if await _answer(script, 0, connection):
            return
    heads, answered = HeadCounter(), int(script.trigger == "connect")
    while True:
        data = await connection.recv()
        if script.mode == "hold":
            times = 0
        elif script.mode == "echo":
            await connection.send(data)
            times = 0
        elif script.trigger == "head":
            times = heads.feed(data)
        elif script.trigger == "eof":
            times = int(not data)
        else:
            times = int(bool(data) and script.trigger == "data")
        for _ in range(times):
            if script.mode == "reset":
                connection.reset()
                return
            if await _answer(script, answered, connection):
                return
            answered += 1
        if not data:
            return


async def _answer(script, number, connection):
    """Sends answer `number`; True when the connection is to end now."""
    last = number >= len(script.answers) - 1
    if number >= len(script.answers) and script.after == "hold":
        return False
    answer = script.answers[min(number, len(script.answers) - 1)]
    await asyncio.sleep(script.delay)
    step = script.piece or max(len(answer), 1)
    for start in range(0, len(answer), step):
        if start:
            await asyncio.sleep(script.pause)
        await connection.send(answer[start : start + step])
    if last and script.after == "reset":
        connection.reset()
    return last and script.after in ("close", "reset")
