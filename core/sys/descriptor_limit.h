// How many descriptors a process may hold.
#pragma once

#include <cstdint>

namespace sallyport::sys {

// Raises the soft limit to the hard one, at most to `wanted`; never the hard one, which may need a privilege. Best effort: with
// fewer descriptors connections are refused, nothing else. Call before confinement.
void use_available_descriptors(std::uint64_t wanted) noexcept;

}  // namespace sallyport::sys
