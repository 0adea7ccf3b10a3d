// The sallyport-init program as bytes, to be written into a sandbox's root.
#pragma once

#include <cstddef>
#include <string_view>

namespace sallyport::launcher {

// A static executable; lives as long as the process.
std::string_view init_image() noexcept;
// Where it is inside every sandbox.
inline constexpr std::string_view kInitPath = "/run/sallyport-init";

}  // namespace sallyport::launcher
