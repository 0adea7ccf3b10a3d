#include "control/audit/daemon.h"
#include "core/sys/confine.h"

namespace sallyport::audit_writer {

Result<void> confine_process(const audit::api::Start& start) {
  sys::Confinement confinement;
  if (start.user() != 0) confinement.user = sys::User{start.user(), start.user()};
  // shared_memory() is for mapping the rings that are registered later.
  confinement.filter = sys::SyscallFilter().event_loop().append_files().receive_descriptors().shared_memory();
  BOOST_OUTCOME_TRY(sys::confine(confinement));
  return success();
}

}  // namespace sallyport::audit_writer
