// margrove <verb>: parse, call, map errors to exit codes.

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <tuple>

#include "base/atomic_file.hpp"
#include "base/large_arrays.hpp"
#include "cli/help.hpp"
#include "cli/verbs.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove::cli {
namespace {

// Allocates nothing.
[[noreturn]] void end_at_once(std::string_view message) noexcept {
  remove_temporary_files();
  std::ignore = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(kInternalError);
}

// The exit code must also be one of ours if no handler is reached, for example if an allocation
// fails in a destructor (those of the JSON library allocate) or before main().
[[noreturn]] void on_terminate() noexcept {
  end_at_once("margrove: internal error, or out of memory\n");
}
struct TerminateHandler {
  TerminateHandler() noexcept { std::set_terminate(on_terminate); }
};
// Made before all other objects of static storage.
[[gnu::init_priority(101)]] const TerminateHandler kTerminateHandler;

int report(ExitCode code, std::string_view message) {
  std::cout.flush();
  print_error(fmt::format("margrove: {}\n", printable(with_typed_names(message))));
  return code;
}

/// `help train --method M` as `train --method M --help`.
std::vector<std::string> without_help_verb(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    std::rotate(arguments.begin(), arguments.begin() + 1, arguments.end());
    arguments.back() = "--help";
  }
  return arguments;
}

/// Whether standard output is a pipe whose reader has closed it.
bool reader_has_left() {
  ::pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// The exit code after what was written on standard output. A reader that has left, as head does
/// after its lines, wanted no more, which is no error.
int code_after_output(int code) {
  std::cout.flush();
  require(std::cout.good() || reader_has_left(), "standard output: the result cannot be written");
  return code;
}

int run(int argc, char** argv) {
  CLI::App app(concat(kAboutProgram, "."), "margrove");
  app.formatter(std::make_shared<WrappedHelp>(help_width()));
  app.set_version_flag("--version", "margrove " MARGROVE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "margrove VERB --help, or margrove help VERB, lists the arguments of a verb.\n"
      "Exit codes: " +
      std::string(kExitCodes));
  const std::vector<std::string> arguments = without_help_verb({argv + 1, argv + argc});
  std::vector<std::pair<CLI::App*, const Verb*>> declared;
  for (const Verb& verb : verbs()) {
    declared.emplace_back(app.add_subcommand(verb.name, verb.summary), &verb);
  }
  // Only the called verb declares its arguments, because they may depend on each other.
  std::unique_ptr<Command> command;
  for (const auto& [verb_app, verb] : declared) {
    if (!arguments.empty() && arguments.front() == verb->name) {
      command = verb->declare(*verb_app, arguments);
    }
  }
  try {
    std::vector<std::string> last_first(arguments.rbegin(), arguments.rend());
    app.parse(last_first);
  } catch (const CLI::ParseError& error) {
    // An unknown option's value would be taken for MODEL, and the message would blame that.
    auto unknown = unknown_argument(app, arguments);
    if (!unknown) unknown = wrong_values(error, app, arguments);
    // Help is not an error, unless it is of a verb that does not exist.
    if (!unknown || (error.get_exit_code() == 0 && command)) {
      if (app.exit(error) == 0) return code_after_output(kOk);
    } else {
      print_error(*unknown + "Run with --help for more information.\n");
    }
    print_error(suggestion(app, arguments));
    return kUsage;
  }
  const CLI::App& verb = *app.get_subcommands().front();
  require_file_names(verb);
  set_option_names(names_of_words(verb));
  return code_after_output(command->run());
}

// A file that is opened while a standard stream is closed would get its descriptor, and messages
// would be written into the model.
void open_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1) ::open("/dev/null", O_RDWR);
  }
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const OutOfTimeLimit& error) {
    return report(kOutOfTime, error.what());
  } catch (const Interrupted& error) {
    return report(kInterrupted, error.what());
  } catch (const InvalidOption& error) {
    return report(kUsage, error.what());
  } catch (const InvalidInput& error) {
    return report(kBadInput, error.what());
  } catch (const ModelFileError& error) {
    return report(kBadModelFile, error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return report(kInternalError, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace
}  // namespace margrove::cli

int main(int argc, char** argv) {
  margrove::cli::interruptions_end_the_program();
  margrove::cli::open_standard_streams();
  // A write beyond the limit of file sizes or to a closed pipe is then an ordinary error, or is
  // ignored if only a message is lost.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  margrove::return_large_arrays();
  try {
    return margrove::cli::guarded(argc, argv);
  } catch (const std::bad_alloc&) {  // also if the message of another error cannot be allocated
    margrove::cli::end_at_once("margrove: out of memory\n");
  }
}
