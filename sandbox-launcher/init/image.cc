#include "sandbox-launcher/init/image.h"

asm(".section .rodata.sallyport_init,\"a\"\n"
    ".global sallyport_init_begin\n"
    ".global sallyport_init_end\n"
    ".balign 16\n"
    "sallyport_init_begin:\n"
    ".incbin \"" SALLYPORT_INIT_FILE
    "\"\n"
    "sallyport_init_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char sallyport_init_begin[];
extern "C" const char sallyport_init_end[];

namespace sallyport::launcher {

std::string_view init_image() noexcept {
  return {sallyport_init_begin, static_cast<std::size_t>(sallyport_init_end - sallyport_init_begin)};
}

}  // namespace sallyport::launcher
