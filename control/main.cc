// sallyport: the command.
#include "control/command_line.h"

int main(int argc, char** argv) { return sallyport::control::run_command_line(argc, argv); }
