// The command line of `sallyport`.
#pragma once

namespace sallyport::control {

// Parses, runs the verb, returns the exit status. Wrong usage is 2, with what to write instead.
int run_command_line(int argc, char** argv);

}  // namespace sallyport::control
