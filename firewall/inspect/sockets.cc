#include "firewall/inspect/sockets.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "firewall/inspect/text_file.h"

namespace sallyport::firewall {

namespace {

// What every kernel has; and what only a loaded module adds.
constexpr std::array<std::string_view, 9> kAlways{"tcp",  "tcp6", "udp",   "udp6",  "raw",
                                                  "raw6", "icmp", "icmp6", "packet"};
constexpr std::array<std::string_view, 4> kPerhaps{"udplite", "udplite6", "sctp/eps", "sctp/assocs"};

constexpr std::string_view kTcpListen = "0A";

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    std::size_t end = line.find(' ', begin);
    if (end == std::string_view::npos) end = line.size();
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return words;
}

Error unknown_form(std::string_view protocol) {
  return Error::make(ErrorKind::kUnavailable, "/proc/net/" + std::string(protocol) + " has an unknown form");
}

Result<Socket> parse_packet(const std::vector<std::string_view>& words) {
  auto inode = words.size() >= 9 ? number<std::uint64_t>(words[8], 10) : std::nullopt;
  if (!inode) return fail(unknown_form("packet"));
  return Socket{"packet", *inode, 0, true};
}

Result<std::vector<Socket>> parse_table(std::string_view protocol, std::string_view text) {
  std::vector<Socket> sockets;
  bool is_heading = true;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (std::exchange(is_heading, false) || line.find_first_not_of(' ') == std::string_view::npos) continue;
    BOOST_OUTCOME_TRY(Socket socket, parse_socket_line(protocol, line));
    sockets.push_back(socket);
  }
  return sockets;
}

Result<void> append_table(std::string_view protocol, bool may_be_missing, std::vector<Socket>& sockets) {
  auto text = read_text_file("/proc/thread-self/net/" + std::string(protocol));
  if (!text) {
    if (may_be_missing && text.error().code == ENOENT) return success();
    return fail(ErrorKind::kUnavailable, "cannot list the namespace's sockets: " + text.error().detail);
  }
  BOOST_OUTCOME_TRY(std::vector<Socket> found, parse_table(protocol, text.value()));
  sockets.insert(sockets.end(), found.begin(), found.end());
  return success();
}

}  // namespace

std::string Socket::text() const {
  std::string text(protocol);
  if (port != 0) text += " port " + std::to_string(port);
  return text + (can_receive_strangers ? " (listening)" : "");
}

Result<Socket> parse_socket_line(std::string_view protocol, std::string_view line) {
  std::vector<std::string_view> words = words_of(line);
  if (protocol == "packet") return parse_packet(words);
  // SCTP's columns are its own; that there is a line is all that matters.
  if (protocol.starts_with("sctp")) return Socket{"sctp", 0, 0, true};
  if (words.size() < 10) return fail(unknown_form(protocol));
  std::size_t colon = words[1].rfind(':'), peer_colon = words[2].rfind(':');
  if (colon == std::string_view::npos || peer_colon == std::string_view::npos) return fail(unknown_form(protocol));
  auto port = number<std::uint16_t>(words[1].substr(colon + 1), 16);
  auto inode = number<std::uint64_t>(words[9], 10);
  if (!port || !inode) return fail(unknown_form(protocol));
  bool has_peer = words[2].find_first_not_of("0:") != std::string_view::npos;
  bool is_tcp = protocol == "tcp" || protocol == "tcp6";
  return Socket{protocol, *inode, *port, is_tcp ? words[3] == kTcpListen : !has_peer};
}

Result<std::vector<Socket>> list_sockets() {
  std::vector<Socket> sockets;
  for (std::string_view protocol : kAlways) {
    BOOST_OUTCOME_TRY(append_table(protocol, false, sockets));
  }
  for (std::string_view protocol : kPerhaps) {
    BOOST_OUTCOME_TRY(append_table(protocol, true, sockets));
  }
  return sockets;
}

}  // namespace sallyport::firewall
