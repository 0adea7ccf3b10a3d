#!/usr/bin/python3
"""Reads requests with python's http.server and prints what it understood, one JSON line a request.

Standard input: each request as an 8-digit decimal length and its bytes. Used by peer_parsers_test.cc.
"""
import io
import json
import sys
from http.server import BaseHTTPRequestHandler


class Reader(BaseHTTPRequestHandler):
    def __init__(self, data):
        self.rfile = io.BytesIO(data)
        self.wfile = io.BytesIO()
        self.raw_requestline = self.rfile.readline(65537)
        self.requestline, self.command, self.request_version = "", "", ""
        self.understood = self.parse_request()

    def log_message(self, *args):
        pass

    def summary(self):
        if not self.understood:
            return {"error": self.wfile.getvalue().decode("latin-1")}
        fields = [[k, v] for k, v in self.headers.items()]
        return {"method": self.command, "target": self.path, "fields": fields, "rest": len(self.rfile.read())}


while True:
    size = sys.stdin.buffer.read(8)
    if not size:
        break
    print(json.dumps(Reader(sys.stdin.buffer.read(int(size))).summary()))
