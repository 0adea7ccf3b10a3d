// SyscallFilter: the list of system calls a daemon may make.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace sallyport::sys {

// An allow-list, composed of named groups; a plain value. A call that is not on it ends the process (SIGSYS). It starts
// empty and groups only add, so what a daemon may do is the list of groups in its main.cc:
//
//   confinement.filter = SyscallFilter().event_loop().sockets_inet().splice().receive_descriptors();
//
// clone3 answers ENOSYS (glibc falls back to clone). In ASan and TSan builds what their runtimes need is added, there
// only. A build with -DSALLYPORT_SECCOMP_REPORT=ON names the refused call on stderr before it ends the process;
// otherwise the kernel's log (dmesg, type=1326) has its number.
class SyscallFilter {
 public:
  // Waiting, time, memory (never executable), reading and writing what is open, signals to itself, ending. Every
  // daemon.
  SyscallFilter& event_loop();
  // Creating threads (not processes): clone with exactly a thread's flags.
  SyscallFilter& threads();
  // socket() for AF_INET and AF_INET6, TCP and UDP only; connect, accept4, send and receive, shutdown, names, and the
  // socket options the appliance uses. bind and listen are not in it: listeners arrive as descriptors.
  SyscallFilter& sockets_inet();
  // pipe2 (close-on-exec, non-blocking), splice of streams (moving, non-blocking), and fcntl for pipe sizes.
  SyscallFilter& splice();
  // Appending to what is open: write at offsets, fdatasync, fsync, fallocate, ftruncate, lseek.
  SyscallFilter& append_files();
  // openat, for rotation below a directory that Landlock grants.
  SyscallFilter& open_files();
  // sendmsg, recvmsg, getsockopt, shutdown on sockets that are open already: control channels, passed descriptors.
  SyscallFilter& receive_descriptors();
  // memfd_create, seals, shared mappings of it.
  SyscallFilter& shared_memory();
  // open, stat, access, readlink answer EACCES instead of ending the process: for libraries that look for files they
  // can do without (time zones, configuration). Not together with open_files().
  SyscallFilter& refuse_file_lookups();
  // One further call without argument checks, by name ("getpeername"). Unknown names fail at install.
  SyscallFilter& allow(std::string_view name);

  bool empty() const noexcept { return rules_.empty(); }
  // The names on the list, for reports and tests.
  std::vector<std::string> names() const;

  // Installs it for the calling thread and its children, irrevocably. Needs no_new_privs. kInvalid when empty.
  Result<void> install() const;

 private:
  friend class FilterProgram;
  struct Condition {
    std::uint8_t argument;
    enum class Test : std::uint8_t { kEquals, kMaskedEquals, kIsOwnPid } test;
    std::uint64_t mask;
    std::uint64_t value;
  };
  static Condition is(std::uint8_t argument, int value);
  struct Rule {
    std::string name;
    std::vector<Condition> conditions;  // all of them
    int refuse_with = 0;                // errno instead of permission
  };
  void allow_all(std::initializer_list<std::string_view> names);
  void allow_if(std::string_view name, std::initializer_list<Condition> conditions);
  void refuse(std::string_view name, int error);
  void allow_socket_options();
  void allow_for_sanitizers();

  std::vector<Rule> rules_;
};

}  // namespace sallyport::sys
