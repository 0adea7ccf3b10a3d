// The word that was probably meant.
#pragma once

#include <span>
#include <string_view>

namespace sallyport::policy {

// The candidate that differs least from `word`, at most in a third of its letters (a swap of neighbours counts one);
// empty if none is that close. Words of more than 32 bytes have none.
std::string_view did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace sallyport::policy
