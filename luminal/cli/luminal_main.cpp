// luminal: the command of the project. `luminal --help` lists what it does.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "luminal/cli/command_line.h"
#include "luminal/support/error.h"
#include "luminal/support/trace.h"

namespace {

/// A stream that the caller closed must not become the number of a file that is opened later, which
/// would be written to. In its place stands something that cannot be written.
void occupy_closed_streams() {
  for (int stream = 0; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) return;
}

/// Says so if anything that was printed got lost: a script that keeps the output counts on it.
int finish_output(int code) {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (std::cout && flushed) return code;
  // The reason of a write that failed long ago is forgotten; one more meets it again.
  const bool is_known = errno != 0 || ::write(STDOUT_FILENO, "\n", 1) < 0;
  std::cerr << "luminal: the output could not be written";
  if (is_known) std::cerr << ": " << std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
  std::cerr << '\n';
  return luminal::cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  try {
    luminal::support::is_traced();  // a trace that cannot be written is known before anything is
                                    // done
    const int code = luminal::cli::run_command_line({argv + 1, argv + argc}, std::cout, std::cerr);
    luminal::support::finish_trace();
    return finish_output(code);
  } catch (const luminal::UserError& error) {
    std::cerr << error.what() << '\n';
    return luminal::cli::kFailed;
  } catch (const std::exception& error) {
    std::cerr << "luminal: " << error.what() << '\n';
    return luminal::cli::kFailed;
  }
}
