#pragma once
// What the verbs of the program share: options from tables, progress on stderr, interruption, exit
// codes. The library itself never prints, so all of it is here.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "methods/training.hpp"
#include "model/method.hpp"

namespace margrove::cli {

enum ExitCode {
  kOk = 0,
  kInternalError = 1,
  kUsage = 2,
  kBadInput = 3,
  kBadModelFile = 4,
  kInterrupted = 130,  // as a shell reports a program that Ctrl-C ended
};

/// One verb after its arguments were parsed.
class Command {
 public:
  virtual ~Command() = default;
  /// Returns an ExitCode; errors are thrown.
  virtual int run() = 0;
};

/// A verb: `declare` adds its arguments to `app` and returns what runs once they are parsed. The
/// raw arguments are there for verbs whose options depend on them (--method).
struct Verb {
  std::string name;
  std::string summary;
  std::function<std::unique_ptr<Command>(CLI::App& app, const std::vector<std::string>& arguments)>
      declare;
};
/// The verb of a command whose constructor declares its arguments.
template <class C>
Verb make_verb(std::string name, std::string summary) {
  return {std::move(name), std::move(summary),
          [](CLI::App& app, const std::vector<std::string>& arguments) -> std::unique_ptr<Command> {
            if constexpr (std::is_constructible_v<C, CLI::App&, const std::vector<std::string>&>) {
              return std::make_unique<C>(app, arguments);
            } else {
              return std::make_unique<C>(app);
            }
          }};
}

/// In the order of --help.
const std::vector<Verb>& verbs();

/// "--min-confidence" of min_confidence.
std::string option_name(const std::string& name);

/// The command-line options of a table, and the values that were given.
class GivenOptions {
 public:
  /// `--name value` for each option, dashes for underscores; switches are flags, `--name=false`
  /// turns one off.
  void declare(CLI::App& app, const std::vector<OptionInfo>& infos, const std::string& group);
  /// Those that were given, in the order of the table.
  OptionValues values() const;

 private:
  struct Slot {
    std::string name;
    const CLI::Option* option;
  };
  std::vector<Slot> slots_;
};

/// The options of a struct with fields(), bound to the command line.
template <class Struct>
class BoundOptions {
 public:
  void declare(CLI::App& app, const std::string& group) {
    given_.declare(app, OptionTable(options_).list(), group);
  }
  /// After the command line was parsed.
  const Struct& parse() {
    OptionTable table(options_);
    set_options(table, given_.values());
    return options_;
  }

 private:
  Struct options_;
  GivenOptions given_;
};

/// `--view NAME=FILE`, as often as there are views.
class ViewArguments {
 public:
  void declare(CLI::App& app);
  /// After the command line was parsed. Throws InvalidOption.
  std::vector<ViewFile> files() const;

 private:
  std::vector<std::string> texts_;
};

/// How a run is carried out; nothing here changes its result, except a time limit.
struct RunOptions {
  int threads = 0;
  double time_limit_seconds = 0;
  double memory_limit = 0;
  bool quiet = false;
  static auto fields() {
    return std::tuple{
        field("threads", &RunOptions::threads, at_least(0),
              "threads to use; 0: one for each core. The result does not depend on it"),
        field("time_limit_seconds", &RunOptions::time_limit_seconds, non_negative,
              "end training after so long, with the best weights so far; 0: no limit"),
        field("memory_limit", &RunOptions::memory_limit, non_negative,
              "refuse to train if the estimate exceeds so many GB (10^9 bytes); 0: no limit"),
        field("quiet", &RunOptions::quiet, "no progress on stderr"),
    };
  }
};

/// Shows progress on stderr: a bar on a terminal, otherwise a line every few seconds.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  void show(const Progress& progress);

 private:
  bool quiet_;
  bool on_terminal_;
  bool bar_shown_ = false;
  double last_seconds_ = 0;
};

/// The control of one command: shows progress, and ends work at the first Ctrl-C; the second ends
/// the program. There is one at a time.
class CommandControl {
 public:
  /// time_limit_seconds 0: none.
  explicit CommandControl(bool quiet, double time_limit_seconds = 0);
  ~CommandControl();
  CommandControl(const CommandControl&) = delete;
  CommandControl& operator=(const CommandControl&) = delete;
  RunControl& run() { return control_; }
  /// Throws InterruptedByUser if Ctrl-C was pressed.
  void leave_if_interrupted() const;

 private:
  ProgressPrinter printer_;
  RunControl control_;
};

/// Writes to stderr. Faults are ignored, so that no result is lost to them.
void print_error(std::string_view text) noexcept;
/// Writes "margrove: warning: ..." to stderr.
void warn(const std::string& message);
/// Writes to stdout, with control characters as \xNN: names may come from a stranger's model.
void print_text(std::string_view text);
/// main() turns it into kInterrupted.
struct InterruptedByUser {};

/// The value of `--method` among raw arguments.
std::optional<std::string> method_argument(const std::vector<std::string>& arguments);
/// A help text's list of methods.
std::string list_of_methods();

/// Writes to a file, whole or not at all, or to stdout if the path is empty.
void write_result(const std::string& path, std::string_view text);
/// Throws InvalidInput if write_result() could not write there. To be called before the work.
void require_result_writable(const std::string& path);

}  // namespace margrove::cli
