// What `sallyport run` exits with when it is not the command's own status.
#pragma once

namespace sallyport::control {

inline constexpr int kExitResourceLimit = 120;   // memory, wall time or the audit budget
inline constexpr int kExitPolicy = 121;          // the policy ended the task
inline constexpr int kExitCancelled = 122;       // an interrupt or termination from outside
inline constexpr int kExitPlatformFailure = 125;  // ours; the command may not have run

}  // namespace sallyport::control
