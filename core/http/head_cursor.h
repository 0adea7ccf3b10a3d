// HeadCursor: how far the head parser came with a message whose end has not arrived.
#pragma once

#include <cstddef>

namespace sallyport::http {

class HeadCursor {
 public:
  // Forgets the message begun; the next parse starts anew.
  void reset() noexcept { *this = HeadCursor(); }

 private:
  friend class HeadReader;
  const char* base = nullptr;  // null: nothing begun
  std::size_t line = 0;        // where the first unparsed line begins
  std::size_t scanned = 0;     // no line feed in [line, scanned)
  bool start_line_done = false;
};

}  // namespace sallyport::http
