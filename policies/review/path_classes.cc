#include "policies/review/path_classes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "policies/engine/path.h"
#include "policies/review/pattern_walk.h"

namespace sallyport::policy::review {
namespace {

// Where a path stands apart from the patterns: what decides whether it may go on, end, or is ambiguous.
struct Form {
  std::uint8_t segment = 0;  // 0: empty, 1: ".", 2: "..", 3: anything else
  std::uint8_t percent = 0;  // units since a "%25" that is followed by hexadecimal digits only; 0: none
  bool ambiguous = false;

  void read(const PathLetter& letter) {
    segment = letter.dot && segment < 2 ? static_cast<std::uint8_t>(segment + 1) : std::uint8_t{3};
    if (percent == 2 && letter.hex) ambiguous = true;
    percent = letter.percent ? std::uint8_t{1} : percent == 1 && letter.hex ? std::uint8_t{2} : std::uint8_t{0};
    ambiguous |= letter.ambiguous;
  }
  void slash() { segment = 0, percent = 0; }
  bool may_slash() const { return segment == 3; }
  bool may_end() const { return segment == 0 || segment == 3; }
};

struct Node {
  PatternWalk::Places places;
  Form form;
  std::uint32_t before;
  std::uint32_t letter;  // an index, or one past the letters for '/'
};

class Walk {
 public:
  Walk(PatternWalk walk, std::vector<PathLetter> letters, std::size_t max_work)
      : walk_(std::move(walk)), letters_(std::move(letters)), left_(max_work) {}

  PathClasses run() {
    visit(walk_.step_slash(walk_.start()), Form{}, 0, slash());
    for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
      if (nodes_[at].form.may_end()) end_at(at);
      if (!extend(at)) {
        out_.complete = false;
        break;
      }
    }
    return std::move(out_);
  }

 private:
  std::uint32_t slash() const { return static_cast<std::uint32_t>(letters_.size()); }

  static std::string key(const std::vector<std::uint32_t>& numbers, std::initializer_list<std::uint8_t> more) {
    std::string out(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint32_t));
    for (auto byte : more) out += static_cast<char>(byte);
    return out;
  }

  void visit(PatternWalk::Places places, Form form, std::uint32_t before, std::uint32_t letter) {
    if (!seen_.insert(key(places, {form.segment, form.percent, form.ambiguous})).second) return;
    nodes_.push_back({std::move(places), form, before, letter});
  }

  // False when the work is used up.
  bool extend(std::uint32_t at) {
    std::size_t work = (nodes_[at].places.size() + 1) * (letters_.size() + 1);
    if (work > left_) return false;
    left_ -= work;
    for (std::uint32_t i = 0; i < letters_.size(); ++i) {
      Form form = nodes_[at].form;
      auto places = walk_.step(nodes_[at].places, letters_[i].units.front());
      for (std::size_t u = 1; u < letters_[i].units.size(); ++u) places = walk_.step(places, letters_[i].units[u]);
      form.read(letters_[i]);
      visit(std::move(places), form, at, i);
    }
    if (nodes_[at].form.may_slash()) {
      Form form = nodes_[at].form;
      form.slash();
      visit(walk_.step_slash(nodes_[at].places), form, at, slash());
    }
    return true;
  }

  void end_at(std::uint32_t at) {
    if (!kinds_.insert(key(walk_.matching(nodes_[at].places), {nodes_[at].form.ambiguous})).second) return;
    std::string path = path_to(at);
    if (path.size() > CanonicalPath::kMaxLength) return;
    auto canonical = CanonicalPath::parse(path);
    if (canonical && canonical.value().text() == path && canonical.value().ambiguous() == nodes_[at].form.ambiguous)
      out_.paths.push_back(std::move(path));
    else
      out_.complete = false;  // never, unless this alphabet and the engine's disagree
  }

  std::string path_to(std::uint32_t at) const {
    std::vector<std::uint32_t> letters;
    for (;; at = nodes_[at].before) {
      letters.push_back(nodes_[at].letter);
      if (at == 0) break;
    }
    std::string out;
    for (auto letter = letters.rbegin(); letter != letters.rend(); ++letter) {
      if (*letter == slash())
        out += '/';
      else
        for (const PathUnit& unit : letters_[*letter].units) out += unit.raw;
    }
    return out;
  }

  PatternWalk walk_;
  std::vector<PathLetter> letters_;
  std::size_t left_;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> seen_, kinds_;
  PathClasses out_;
};

}  // namespace

PathClasses path_classes(std::span<const PathPattern* const> exact, std::span<const PathPattern* const> loose,
                         std::size_t max_work) {
  PatternWalk walk;
  PathAlphabet alphabet;
  for (const PathPattern* pattern : exact) walk.add_exact(*pattern, alphabet);
  for (const PathPattern* pattern : loose) walk.add_loose(*pattern, alphabet);
  return Walk(std::move(walk), alphabet.letters(), max_work).run();
}

}  // namespace sallyport::policy::review
