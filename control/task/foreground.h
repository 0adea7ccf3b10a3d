// Tasks whose namespace or clients are somebody else's: served in the foreground until a signal, or until the namespace's process ends.
#pragma once

#include <optional>
#include <string>

namespace sallyport::control {

struct ForegroundOptions {
  std::optional<std::string> policy, config, state;
  std::string libexec;
  bool quiet = false;
};

// `sallyport attach`: a network namespace made by others, by path or by a process in it.
struct AttachOptions {
  ForegroundOptions common;
  std::optional<std::string> netns;
  std::optional<int> pid;
};
int attach_foreground(const AttachOptions& options);

// `sallyport proxy --listen` and `sallyport resolver --listen`: the same data plane or resolver on a loopback port of this machine, for
// clients that use it of their own will. No containment, no credentials. `listen` is "127.0.0.1:PORT" or "[::1]:PORT".
struct ListenOptions {
  ForegroundOptions common;
  std::string listen;
};
int proxy_foreground(const ListenOptions& options);
int resolver_foreground(const ListenOptions& options);

}  // namespace sallyport::control
