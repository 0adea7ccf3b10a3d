// Randomness from the kernel, for ids, nonces and ports.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sallyport {

// Fills `out` from getrandom(2). Ends the process if the kernel cannot give randomness.
void random_bytes(std::span<std::uint8_t> out) noexcept;
std::uint64_t random_u64() noexcept;
// 2 * `bytes` lower-case hexadecimal digits; at most 64 bytes.
std::string random_hex(std::size_t bytes);

}  // namespace sallyport
