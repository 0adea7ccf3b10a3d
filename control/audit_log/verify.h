// Checking an audit log: that every line is well formed, numbered without a hole and linked to the one before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/audit_log/chain.h"
#include "core/base/result.h"

namespace sallyport::audit_log {

struct Fault {
  std::uint64_t line = 0;  // of the file, from 1
  std::string what;        // one line; no text of the file in it
};

struct VerifyReport {
  static constexpr std::size_t kMaxFaults = 100;  // listed; all are counted

  std::uint64_t lines = 0;
  std::uint64_t records = 0;  // lines that stand in the chain
  std::uint64_t bytes = 0;
  Anchor first;  // first and last line that stand in the chain; sequence 0: none
  Anchor last;
  std::string first_time, last_time;
  std::vector<Fault> faults;
  std::uint64_t fault_count = 0;
  std::vector<Fault> notices;  // torn ends that the audit process found and closed off; not faults

  bool sound() const noexcept { return fault_count == 0; }
};

struct VerifyOptions {
  // Lines that the log must contain, with these hashes: from receipts. A log cut short or made anew fails here.
  std::vector<Anchor> expected;
};

// Reads the file from its beginning, in constant memory. The contents are untrusted. An Error only when the file
// cannot be read; what is wrong with the contents is in the report. An empty file is a fault.
Result<VerifyReport> verify(const std::string& path, const VerifyOptions& options = {});
Result<VerifyReport> verify(int fd, const VerifyOptions& options = {});

// For a terminal, several lines; and one JSON object.
std::string render_text(const VerifyReport& report);
std::string render_json(const VerifyReport& report);

}  // namespace sallyport::audit_log
