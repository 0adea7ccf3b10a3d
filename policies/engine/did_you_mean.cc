#include "policies/engine/did_you_mean.h"

#include <algorithm>
#include <array>

namespace sallyport::policy {
namespace {

constexpr std::size_t kLongest = 32;

// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongest + 1>, kLongest + 1> d{};
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    if (std::size_t d = distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace sallyport::policy
