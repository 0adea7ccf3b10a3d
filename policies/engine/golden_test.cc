// policies/golden/NAME.yaml and NAME.txt: a policy file and, to the letter, what loading it says. To write the texts
// anew after a message was changed on purpose, run with SALLYPORT_GOLDEN=write and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Golden, SaysOfEveryFileWhatIsWrittenBesideIt) {
  const char* mode = std::getenv("SALLYPORT_GOLDEN");
  bool writing = mode != nullptr && std::string_view(mode) == "write";
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "policies/golden")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    auto outcome = load(read_file(entry.path()), entry.path().filename().string());
    std::string said =
        testing::all_text(outcome) + (outcome.policy ? "loads: " + outcome.policy->label() + "\n" : "refused\n");
    auto beside = fs::path(entry.path()).replace_extension(".txt");
    if (writing) std::ofstream(beside, std::ios::binary) << said;
    EXPECT_EQ(read_file(beside), said) << entry.path();
    for (char c : said) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << entry.path();
  }
  EXPECT_GT(files, 100);
}

TEST(Golden, EndsEveryRefusalWithWhatToWrite) {
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "policies/golden")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const Diagnostic& d : load(read_file(entry.path()), "f").diagnostics) {
      bool counts = d.message.starts_with("and ");
      EXPECT_TRUE(counts || d.severity == Severity::kNote || !d.advice.empty()) << entry.path() << ": " << d.message;
    }
  }
}

}  // namespace
}  // namespace sallyport::policy
