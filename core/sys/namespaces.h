// Namespace: a kernel namespace held by descriptor, so that what was checked is what is entered.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::sys {

enum class NamespaceKind { kNetwork, kUser, kMount, kPid, kIpc, kUts, kCgroup, kTime };
std::string_view to_string(NamespaceKind kind) noexcept;  // as under /proc/PID/ns: "net", "user", "mnt", …

// Which namespace it is; equal exactly for the same one, while anything holds it.
struct NamespaceId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const NamespaceId&, const NamespaceId&) = default;
};

// Owns an open nsfs descriptor of a known kind; the namespace lives as long. Every way to make one verifies that the
// file really is a namespace of that kind (kInvalid otherwise).
class Namespace {
 public:
  // A path such as /run/netns/NAME or /proc/PID/ns/net; symbolic links are followed, the type of what is found decides.
  static Result<Namespace> open(const std::string& path, NamespaceKind kind);
  // kUnavailable when there is no such process, kDenied when the caller may not look at it.
  static Result<Namespace> of_process(pid_t pid, NamespaceKind kind);
  // The same without a race on the number: verified that the process of `pidfd` still lived after opening. `pidfd` is
  // borrowed.
  static Result<Namespace> of_pidfd(int pidfd, NamespaceKind kind);
  static Result<Namespace> current(NamespaceKind kind);
  // The network namespace of a socket (SIOCGSKNS). Needs CAP_NET_ADMIN in the user namespace that owns it.
  static Result<Namespace> of_socket(int socket);
  // A descriptor that came from elsewhere.
  static Result<Namespace> adopt(UniqueFd fd, NamespaceKind kind);

  int fd() const noexcept { return fd_.get(); }
  NamespaceKind kind() const noexcept { return kind_; }
  NamespaceId id() const noexcept { return id_; }

  // The user namespace that owns it (of a user namespace: its parent); NS_GET_USERNS. kDenied when it lies outside the
  // caller's own user namespace.
  Result<Namespace> owner() const;
  // Of a user namespace: the uid, as the caller sees it, that created it.
  Result<uid_t> owner_uid() const;
  // The calling thread enters it.
  Result<void> enter() const;

 private:
  Namespace(UniqueFd fd, NamespaceKind kind, NamespaceId id) noexcept : fd_(std::move(fd)), kind_(kind), id_(id) {}
  UniqueFd fd_;
  NamespaceKind kind_;
  NamespaceId id_;
};

// The identities of the caller's and of pid 1's namespace. Pid 1's needs the right to trace it: kDenied for an ordinary
// user, and for root where a sandbox around us takes that right.
Result<NamespaceId> current_namespace_id(NamespaceKind kind);
Result<NamespaceId> pid1_namespace_id(NamespaceKind kind);
inline Result<Namespace> current_netns() { return Namespace::current(NamespaceKind::kNetwork); }
// Whether the calling thread is in the network namespace of `pid`. Needs no rights over that process: the kernel shows
// the same /proc/PID/net to all, with inode numbers of its own for each network namespace.
Result<bool> shares_network_namespace(pid_t pid);
// True for the initial user namespace, whose inode number is fixed.
bool is_initial_user_namespace(NamespaceId id) noexcept;

// A pidfd for `pid`. kUnavailable when there is no such process.
Result<UniqueFd> open_pidfd(pid_t pid);
// The process number behind a pidfd, -1 mapped to kUnavailable once it has been reaped.
Result<pid_t> pid_of_pidfd(int pidfd);

}  // namespace sallyport::sys
