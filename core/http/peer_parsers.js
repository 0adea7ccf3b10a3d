// Reads requests with node's HTTP server and prints what it understood, one JSON line a request.
// Standard input: each request as an 8-digit decimal length and its bytes. Used by peer_parsers_test.cc.
const http = require('http');
const { Duplex } = require('stream');
const input = require('fs').readFileSync(0);

class Wire extends Duplex {
  _read() {}
  _write(chunk, encoding, done) { done(); }
}

function read(bytes) {
  return new Promise((resolve) => {
    const summary = (request, count) => {
      const fields = [];
      for (let i = 0; i < request.rawHeaders.length; i += 2) fields.push([request.rawHeaders[i], request.rawHeaders[i + 1]]);
      resolve({ method: request.method, target: request.url, fields, rest: count });
    };
    const server = http.createServer((request, response) => {
      let body = 0;
      request.on('data', (chunk) => { body += chunk.length; });
      request.on('end', () => { summary(request, body); response.end(); });
    });
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    server.on('clientError', (error) => resolve({ error: String(error.code) }));
    const wire = new Wire();
    server.emit('connection', wire);
    wire.push(bytes);
    setTimeout(() => resolve({ error: 'no request within the time' }), 5000).unref();
  });
}

(async () => {
  for (let at = 0; at < input.length;) {
    const size = parseInt(input.subarray(at, at + 8).toString(), 10);
    console.log(JSON.stringify(await read(input.subarray(at + 8, at + 8 + size))));
    at += 8 + size;
  }
  process.exit(0);
})();
