// ImportedRules: what an importer found, turned into a policy that loads and allows no more. For import_*.cc.
#pragma once

#include <string>
#include <vector>

#include "policies/edit/import.h"
#include "policies/engine/reporter.h"

namespace sallyport::policy::edit {

// "api.example", "*.example", "192.0.2.1"; and for deny rules also "*", everything.
struct ImportedHost {
  std::string text;
  bool covers(const ImportedHost& other) const;
  bool overlaps(const ImportedHost& other) const { return covers(other) || other.covers(*this); }
  bool is_address() const;
};

// Lower-case, without a dot at the end; what is no host pattern here gives nothing. The kinds of other tools are turned
// into ours by their readers.
std::optional<ImportedHost> imported_host(std::string_view text);

class ImportedRules {
 public:
  ImportedRules(std::string_view file, Reporter& reporter) : file_(file), reporter_(reporter) {}

  // What is allowed of a host on any port: TLS on 443 and clear HTTP on 80 are carried over.
  void allow(const ImportedHost& host, Position at);
  // One port. 443 is TLS, 80 clear HTTP, any other an opaque tunnel.
  void allow(const ImportedHost& host, std::uint32_t port, Position at);
  // On one port, or on every (0). A denial wins over every allow that was or will be added.
  void deny(const ImportedHost& host, std::uint32_t port, Position at);

  bool empty() const noexcept { return rules_.empty(); }
  // `head` are comment lines without '#'.
  Imported finish(const ImportWishes& wishes, const std::vector<std::string>& head);

 private:
  struct Rule {
    bool allow;
    ImportedHost host;
    std::uint32_t port;
    Position at;
    std::string destination() const;
  };
  struct Denial {
    ImportedHost host;
    std::uint32_t port;
    Position at;
    bool meets(const Rule& rule) const { return (port == 0 || port == rule.port) && host.overlaps(rule.host); }
  };
  void apply_denials();
  std::string text(const ImportWishes& wishes, const std::vector<std::string>& head,
                   std::vector<std::size_t>& lines) const;
  bool drop(std::size_t rule, const std::string& message);

  std::string file_;
  Reporter& reporter_;
  std::vector<Rule> rules_;
  std::vector<Denial> denials_;
};

}  // namespace sallyport::policy::edit
