// What the writer writes means the same to other people's servers: python's http.server and node's.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/http/test_messages.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

struct Written {
  std::string text;  // head and body
  std::string method, target;
  std::vector<std::pair<std::string, std::string>> fields;
  std::size_t wire_body = 0, body = 0;  // with and without chunk framing
};

// A random client's request, parsed, and written upstream with a body that its framing demands.
Written random_request(std::mt19937& random) {
  auto pick = [&](std::initializer_list<const char*> all) { return std::string(all.begin()[random() % all.size()]); };
  std::string text = pick({"GET", "POST", "PUT", "DELETE", "PROPFIND"}) + " " +
                     pick({"/", "/a%20b?c=d&e", "http://a.test/x;y/../z?", "http://a.test", "/?{|}", "/~a'b!c"}) +
                     " HTTP/1.1\r\nHost: a.test\r\n";
  for (auto n = random() % 5; n > 0; --n)
    text += pick({"Accept", "X-Odd!#$%&'*+-.^_`|~1", "Cookie", "Range", "Via", "Upgrade", "X_Under"}) + ":" +
            pick({"", " ", "\t"}) + pick({"a", "x, y; q=\"z\"", "a:b:c", "", "a  b"}) + pick({"", " "}) + "\r\n";
  text += pick({"", "Content-Length: 0\r\n", "Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n"}) + "\r\n";
  auto parsed = parse_request(text);
  EXPECT_TRUE(parsed.done()) << text;
  Written out;
  out.method = parsed->method;
  out.target = std::string(parsed->path) + (parsed->has_query ? "?" + std::string(parsed->query) : "");
  UpstreamRequest request;
  request.method = out.method;
  request.target = out.target;
  request.authority = &*parsed->authority;
  request.fields = &parsed->fields;
  request.body = parsed->body;
  EXPECT_TRUE(write_request_head(out.text, request));
  auto own = parse_request(out.text);
  for (Field field : own->fields) out.fields.emplace_back(field.name, field.value);
  std::string body;
  if (parsed->body.kind == FramingKind::kChunked) {
    out.body = 20;
    body =
        std::string(ChunkPrefix(20).text()) + std::string(20, 'c') + std::string(kChunkEnd) + std::string(kLastChunk);
  } else {
    out.body = parsed->body.length;
    body = std::string(out.body, 'b');
  }
  out.wire_body = body.size();
  out.text += body;
  return out;
}

// A directory of the test's own, gone with it.
struct Scratch {
  std::string path = "/tmp/peer_parsers_XXXXXX";
  Scratch() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Scratch() {
    unlink((path + "/in").c_str());
    rmdir(path.c_str());
  }
};

std::vector<nlohmann::json> ask(const std::string& command, const std::vector<Written>& requests) {
  Scratch scratch;
  {
    std::ofstream in(scratch.path + "/in", std::ios::binary);
    for (const Written& request : requests) {
      char size[16];
      std::snprintf(size, sizeof size, "%08zu", request.text.size());
      in << size << request.text;
    }
  }
  std::vector<nlohmann::json> answers;
  FILE* pipe = popen(("timeout 60 " + command + " < " + scratch.path + "/in").c_str(), "r");
  char* line = nullptr;
  std::size_t room = 0;
  while (getline(&line, &room, pipe) > 0) answers.push_back(nlohmann::json::parse(line));
  std::free(line);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return answers;
}

void expect_understood(const std::string& command, bool counts_chunk_framing) {
  std::mt19937 random(3);
  std::vector<Written> requests;
  for (int i = 0; i < 400; ++i) requests.push_back(random_request(random));
  auto answers = ask(command, requests);
  ASSERT_EQ(answers.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Written& sent = requests[i];
    const nlohmann::json& got = answers[i];
    ASSERT_FALSE(got.contains("error")) << got << "\n" << sent.text;
    EXPECT_EQ(got["method"], sent.method);
    EXPECT_EQ(got["target"], sent.target);
    EXPECT_EQ(got["rest"], counts_chunk_framing ? sent.wire_body : sent.body) << sent.text;
    ASSERT_EQ(got["fields"].size(), sent.fields.size()) << sent.text;
    for (std::size_t f = 0; f < sent.fields.size(); ++f) {
      EXPECT_EQ(got["fields"][f][0], sent.fields[f].first);
      EXPECT_EQ(got["fields"][f][1], sent.fields[f].second);
    }
  }
}

TEST(PeerParsers, PythonUnderstandsWhatIsWritten) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  expect_understood("/usr/bin/python3 " SALLYPORT_SOURCE_DIR "/core/http/peer_parsers.py", true);
}

TEST(PeerParsers, NodeUnderstandsWhatIsWritten) {
  if (access("/usr/bin/node", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/node";
  expect_understood("/usr/bin/node " SALLYPORT_SOURCE_DIR "/core/http/peer_parsers.js", false);
}

}  // namespace
}  // namespace sallyport::http
