// Escaping of hostile text before it reaches a log, a page, a header or a terminal.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

// For terminals, logs, reason phrases and field values: printable ASCII stays, backslash is doubled, every other byte becomes
// \xHH; more than `max` input bytes end in "…" written as "...". The result is ASCII without control bytes.
std::string escape_text(std::string_view hostile, std::size_t max = 512);

// The inside of a JSON string (without quotes): ASCII output; valid UTF-8 becomes \uXXXX, each byte that is not valid
// UTF-8 becomes the four characters \\xHH, so the result is always valid JSON. Capped at `max` input bytes like escape_text.
std::string escape_json(std::string_view hostile, std::size_t max = 4096);
// The same, appended to `out`.
void append_json(std::string& out, std::string_view hostile, std::size_t max = 4096);

}  // namespace sallyport
