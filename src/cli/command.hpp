#pragma once
// Parts that the verbs of the program share: options from tables, progress on stderr, interruption,
// exit codes. The library never prints, so that all output is made here.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  kOutOfTime = 5,
  kInterrupted = 130,  // the code that shells report after Ctrl-C
};

/// An interruption ended the work before there was anything to write.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// A verb whose arguments have been parsed.
class Command {
 public:
  virtual ~Command() = default;
  /// Returns an ExitCode; errors are thrown.
  virtual int run() = 0;
};

/// A verb. `declare` adds its arguments to `app` and returns the command to run after parsing.
/// Verbs whose options depend on --method read the raw arguments.
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

/// All verbs, in the order of --help.
const std::vector<Verb>& verbs();

/// "--min-confidence" of min_confidence.
std::string option_name(const std::string& name);

/// Accepts numbers >= least.
CLI::Validator number_from(int least);

/// The options of a table with its defaults, as help shows them: without a default that is out of
/// the option's range, which means that it is not given.
std::vector<OptionInfo> shown_options(OptionTable defaults);

/// The options of app.get_options() from this place on, without --help and positional arguments.
std::vector<const CLI::Option*> named_options(const CLI::App& app, std::size_t first);
/// Throws InvalidOption for the first one that is given: "option NAME is given, but " + why.
void refuse_given(std::span<const CLI::Option* const> options, std::string_view why);

/// The options of a table on the command line, and the given values.
class GivenOptions {
 public:
  /// Declares `--name value` for each option, with dashes for underscores. Switches are flags,
  /// which `--name=false` turns off.
  void declare(CLI::App& app, const std::vector<OptionInfo>& infos, const std::string& group);
  /// Only one option of each pair may be given.
  void exclude(std::span<const std::pair<std::string_view, std::string_view>> pairs);
  /// The given options, in the order of the table.
  OptionValues values() const;

 private:
  struct Slot {
    std::string name;
    CLI::Option* option;
  };
  CLI::Option* find(std::string_view name) const;
  std::vector<Slot> slots_;
};

/// The options of a struct with fields(), bound to the command line. Its kExclusions, if it has
/// them, are pairs of names of which one alone may be given.
template <class Struct>
class BoundOptions {
 public:
  void declare(CLI::App& app, const std::string& group) {
    given_.declare(app, shown_options(OptionTable(options_)), group);
    if constexpr (requires { Struct::kExclusions; }) given_.exclude(Struct::kExclusions);
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

/// The files beside that of the rows: `--view NAME=FILE`, once per view, and `--vector-file FILE`.
class ViewArguments {
 public:
  void declare(CLI::App& app);
  /// After the command line was parsed. Throws InvalidOption.
  std::vector<ViewFile> files() const;
  /// Empty: not given.
  const std::string& vector_file() const { return vector_file_; }
  std::vector<std::string> paths() const;

 private:
  std::vector<std::string> texts_;
  std::string vector_file_;
};

/// What progress looks like on stderr.
enum class ProgressForm { none, text, json };

/// Options of a run that do not change its result, except for a time limit.
struct RunOptions {
  int threads = 0;
  double time_limit_seconds = 0;
  double memory_limit = 0;
  bool strict = false;
  bool quiet = false;
  std::string log = "text";
  ProgressForm progress_form() const {
    if (quiet) return ProgressForm::none;
    return log == "json" ? ProgressForm::json : ProgressForm::text;
  }
  static auto fields() {
    return std::tuple{
        field("threads", &RunOptions::threads, at_least(0),
              "number of threads; 0: one per core. The result does not depend on it"),
        field("time_limit_seconds", &RunOptions::time_limit_seconds, non_negative,
              "time after which training ends with the best weights so far; 0: no limit"),
        field("memory_limit", &RunOptions::memory_limit, non_negative,
              "refuse to train if the estimated memory exceeds this many GB (10^9 bytes); 0: 90 % "
              "of what is free"),
        field("strict", &RunOptions::strict,
              "refuse suspicious rows (without features or labels, with values beyond 1e10), and "
              "write no model where training ends with a warning"),
        field("quiet", &RunOptions::quiet, "print no progress on stderr"),
        field("log", &RunOptions::log, detail::Choices{{"text", "json"}},
              "progress on stderr: text, a bar or a line every few seconds; json, an object on a "
              "line for every report"),
    };
  }
};

/// Shows progress on stderr. As text: a bar on a terminal, otherwise a line every few seconds. If
/// the amount of work is known, the line has an estimate of the remaining time. As JSON: every
/// report.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(ProgressForm form);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  void show(const Progress& progress);
  /// Removes the bar, so that results are not printed next to it.
  void clear();

 private:
  std::string seconds_left(const Progress& progress);

  ProgressForm form_;
  bool on_terminal_;
  double last_seconds_ = 0;
  // The beginning of the current stage.
  std::string stage_;
  double stage_seconds_ = 0;
  std::int64_t stage_done_ = 0;
};

/// From now on SIGINT, SIGTERM and SIGHUP end the program with kInterrupted. To be called before
/// everything else; a CommandControl handles them in its lifetime.
void interruptions_end_the_program();

/// "42 s", "3 min 20 s" or "1 h 05 min".
std::string duration_text(double seconds);

/// The control of one command; at most one may exist. It shows progress and handles Ctrl-C, SIGTERM
/// and the time limit. A command computes first and writes last, so that until start_writing() an
/// interruption ends the program at once with kInterrupted.
class CommandControl {
 public:
  enum class AtLimit {
    best_so_far,  // run() says that time is up: there is a result, if not the best one
    end           // the program ends at once with kOutOfTime: there is no result without the rest
  };
  /// time_limit_seconds 0: none.
  explicit CommandControl(ProgressForm form, double time_limit_seconds = 0,
                          AtLimit at_limit = AtLimit::best_so_far,
                          RunControl::Time time = RunControl::Time::wall);
  /// With progress as text, or without.
  explicit CommandControl(bool quiet, double time_limit_seconds = 0,
                          AtLimit at_limit = AtLimit::best_so_far,
                          RunControl::Time time = RunControl::Time::wall)
      : CommandControl(quiet ? ProgressForm::none : ProgressForm::text, time_limit_seconds,
                       at_limit, time) {}
  ~CommandControl();
  CommandControl(const CommandControl&) = delete;
  CommandControl& operator=(const CommandControl&) = delete;
  RunControl& run() { return control_; }
  /// From now on the first interruption makes run() end its work, because there may be a result
  /// already; only a second one ends the program.
  void await_interruption();
  bool is_interrupted() const { return control_.stop_reason() == Stop::interrupted; }
  /// Of a command whose result is written.
  ExitCode exit_code() const { return is_interrupted() ? kInterrupted : kOk; }
  /// From now on the time limit ends the program, as with AtLimit::end.
  void end_at_limit();
  /// From now on run() says that time is up, as with AtLimit::best_so_far.
  void keep_best_so_far();
  /// To be called before anything but progress is printed.
  void end_progress();
  /// After this call only a second interruption ends the program, or one while it waits for the
  /// reader of a pipe.
  void start_writing();
  /// After this call answers are written as they come, and an interruption ends the program with
  /// those so far. There is no progress and no time limit.
  void start_stream();

 private:
  ProgressPrinter printer_;
  RunControl control_;
};

/// Sets the long names of the verb's options that consist of several words, "path-column", before
/// it runs.
void set_option_names(std::vector<std::string> names);
/// A message of the library, in which these names have the form of C++ and Python, path_column,
/// with the names as one types them. What is quoted stays as it is.
std::string with_typed_names(std::string_view message);

/// Writes to stderr and ignores errors, so that they do not lose a result.
void print_error(std::string_view text) noexcept;
/// Writes "margrove: warning: ..." to stderr.
void warn(const std::string& message);
/// Writes to stdout, with control characters as \xNN, because names may come from an untrusted
/// model.
void print_text(std::string_view text);

/// The value of `--method` among the raw arguments of a verb, and by default a method for rows with
/// or without a hierarchy. Nothing where they are none, or ask for help without a hierarchy.
std::optional<std::string> method_argument(const std::vector<std::string>& arguments);
/// Where the raw arguments have no `--method`: ", the default where ...", which follows the method
/// in messages. Otherwise empty.
std::string_view note_of_default(const std::vector<std::string>& arguments);
/// The list of methods for help texts.
std::string list_of_methods();

/// Writes to a file, whole or not at all, or to stdout if the path is empty.
void write_result(const std::string& path, std::string_view text);
/// Throws InvalidInput if write_result() could not write there, or if that would replace one of
/// the files that are read. To be called before the computation.
void require_result_writable(const std::string& path, std::span<const std::string> inputs);
/// Throws InvalidInput if `path` is one of the files that are read.
void require_not_read(const std::string& path, std::span<const std::string> inputs);
/// Throws InvalidInput if two results would be the same file. Devices may be.
void require_different_results(const std::string& one, const std::string& other);

}  // namespace margrove::cli
