// margrove <verb>: parse, call, map errors to exit codes.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "cli/verbs.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove::cli {
namespace {

int report(ExitCode code, std::string_view message) {
  std::cout.flush();
  print_error(fmt::format("margrove: {}\n", printable(message)));
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("Large-margin learning with structured labels and kernels.", "margrove");
  app.set_version_flag("--version", "margrove " MARGROVE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 bad input, 4 bad model file, "
      "130 interrupted.");
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::vector<std::pair<CLI::App*, const Verb*>> declared;
  for (const Verb& verb : verbs()) {
    declared.emplace_back(app.add_subcommand(verb.name, verb.summary), &verb);
  }
  // Only the verb that is asked for declares its arguments: they may depend on each other.
  std::unique_ptr<Command> command;
  for (const auto& [verb_app, verb] : declared) {
    if (!arguments.empty() && arguments.front() == verb->name) {
      command = verb->declare(*verb_app, arguments);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  const int code = command->run();
  std::cout.flush();
  if (!std::cout) throw InvalidInput("standard output: the result cannot be written");
  return code;
}

// A file that is opened while a standard stream is closed would take its place, and messages would
// end in the model.
void open_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1) ::open("/dev/null", O_RDWR);
  }
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InterruptedByUser&) {
    return report(kInterrupted, "interrupted; nothing was written");
  } catch (const InvalidOption& error) {
    return report(kUsage, error.what());
  } catch (const InvalidInput& error) {
    return report(kBadInput, error.what());
  } catch (const ModelFileError& error) {
    return report(kBadModelFile, error.what());
  } catch (const std::bad_alloc&) {
    return report(kInternalError, "out of memory");
  } catch (const std::exception& error) {
    return report(kInternalError, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace
}  // namespace margrove::cli

int main(int argc, char** argv) {
  margrove::cli::open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit of file sizes is an error like others
  return margrove::cli::guarded(argc, argv);
}
