#include "control/audit_log/verify.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "control/audit_log/line.h"
#include "control/audit_log/line_reader.h"
#include "core/base/unique_fd.h"

namespace sallyport::audit_log {
namespace {

// Lines since the last one that stood in the chain. They are faults, unless the next line that continues the chain
// says that it closed off exactly these bytes.
struct Region {
  bool open = false;
  std::uint64_t first_line = 0;
  std::uint64_t bytes = 0;
  std::vector<Fault> faults;
  std::uint64_t fault_count = 0;
};

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options) : expected_(options.expected) {}

  void take(LineReader::Piece piece) {
    if (!continuing_) ++report_.lines;
    report_.bytes += piece.text.size() + (piece.ended ? 1 : 0);
    bool whole = piece.ended && !continuing_;
    bool said = continuing_;  // a long line is one fault
    continuing_ = !piece.ended;
    if (!whole) return stray(piece, said ? nullptr : "the line is unfinished or too long");
    auto line = parse_line(piece.text);
    if (line.has_error()) return stray(piece, line.error().detail.c_str());
    judge(piece, line.value());
  }

  VerifyReport finish() {
    settle();
    if (report_.lines == 0) fault({0, "the log is empty"});
    for (const Anchor& anchor : expected_) {
      fault({0, "line " + std::to_string(anchor.sequence) + " with hash " + to_hex(anchor.hash) + " is expected and not there"});
    }
    return std::move(report_);
  }

 private:
  bool follows(const Anchor& before, const Line& line) {
    return line.sequence == before.sequence + 1 && hasher_.link(before.hash, line.body) == line.hash;
  }

  void judge(LineReader::Piece piece, const Line& line) {
    if (follows(report_.last, line)) {
      close_region(line);
      return stand(line);
    }
    // The chain goes on from a line that did not stand in it: that line was changed, or others were taken out or put in before it.
    if (stated_ && follows(*stated_, line)) {
      settle();
      return stand(line);
    }
    std::string what = describe(line);
    Anchor stated{line.sequence, line.hash};
    stray(piece, what.c_str());
    stated_ = stated;
  }

  std::string describe(const Line& line) const {
    std::uint64_t wanted = (stated_ ? stated_->sequence : report_.last.sequence) + 1;
    if (line.sequence == wanted) return "its hash does not follow from its text and the line before";
    std::string number = std::to_string(line.sequence);
    if (line.sequence > wanted) {
      return "number " + number + ", records " + std::to_string(wanted) + " to " + std::to_string(line.sequence - 1) +
             " are missing before it";
    }
    return "number " + number + " where " + std::to_string(wanted) + " is due";
  }

  void stand(const Line& line) {
    report_.last = {line.sequence, line.hash};
    report_.last_time = line.time;
    if (report_.records++ == 0) {
      report_.first = report_.last;
      report_.first_time = line.time;
    }
    stated_.reset();
    std::erase_if(expected_, [&](const Anchor& anchor) { return anchor == report_.last; });
  }

  void stray(LineReader::Piece piece, const char* what) {
    if (!region_.open) {
      region_ = {};
      region_.open = true;
      region_.first_line = report_.lines;
      region_hash_.reset();
    }
    region_.bytes += piece.text.size() + (piece.ended ? 1 : 0);
    region_hash_.add(piece.text);
    if (piece.ended) region_hash_.add("\n");
    stated_.reset();
    if (what == nullptr) return;
    ++region_.fault_count;
    if (region_.faults.size() < VerifyReport::kMaxFaults) region_.faults.push_back({report_.lines, what});
  }

  void close_region(const Line& line) {
    bool recovered = line.kind == "recovered";
    if (!recovered) return settle();
    Hash torn{};
    bool names_it = region_.open && line.number("torn_bytes") == region_.bytes &&
                    from_hex(line.text("torn_sha256").value_or(""), torn) && torn == region_hash_.finish();
    if (!names_it) {
      settle();
      return fault({report_.lines, "the torn end that it closed off is not before it"});
    }
    if (report_.notices.size() < VerifyReport::kMaxFaults) {
      report_.notices.push_back({region_.first_line, "torn end of " + std::to_string(region_.bytes) +
                                                         " bytes, closed off by record " + std::to_string(line.sequence)});
    }
    region_ = {};
  }

  void settle() {
    for (Fault& one : region_.faults) {
      if (report_.faults.size() < VerifyReport::kMaxFaults) report_.faults.push_back(std::move(one));
    }
    report_.fault_count += region_.fault_count;
    region_ = {};
  }

  void fault(Fault one) {
    ++report_.fault_count;
    if (report_.faults.size() < VerifyReport::kMaxFaults) report_.faults.push_back(std::move(one));
  }

  VerifyReport report_;
  std::vector<Anchor> expected_;
  Hasher hasher_;
  Hasher region_hash_;
  Region region_;
  std::optional<Anchor> stated_;  // what the line just before says of itself, when it does not stand in the chain
  bool continuing_ = false;
};

}  // namespace

Result<VerifyReport> verify(int fd, const VerifyOptions& options) {
  LineReader reader(fd, kMaxLineBytes);
  Verifier verifier(options);
  while (true) {
    BOOST_OUTCOME_TRY(auto piece, reader.next());
    if (!piece) return verifier.finish();
    verifier.take(*piece);
  }
}

Result<VerifyReport> verify(const std::string& path, const VerifyOptions& options) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail_errno("audit log: open");
  return verify(fd.get(), options);
}

}  // namespace sallyport::audit_log
