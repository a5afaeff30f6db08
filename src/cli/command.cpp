#include "cli/command.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/atomic_file.hpp"
#include "base/memory_limit.hpp"
#include "data/utf8.hpp"
#include "margrove/linear_estimators.hpp"

namespace margrove::cli {
namespace {

volatile std::sig_atomic_t bar_shown = 0;

// Moves to the left end of the terminal's line and erases its text.
constexpr std::string_view kStartOfLine = "\r\033[K";

// Handlers call only what is safe in them: stdio, destructors and exit() are not.
void print_from_handler(std::string_view message) {
  // A message that cannot be written changes nothing.
  if (bar_shown != 0)
    std::ignore = ::write(STDERR_FILENO, kStartOfLine.data(), kStartOfLine.size());
  std::ignore = ::write(STDERR_FILENO, message.data(), message.size());
}

[[noreturn]] void end_at_once(int code, std::string_view message) {
  remove_temporary_files();
  print_from_handler(message);
  ::_exit(code);
}

extern "C" void on_interrupt(int) {
  end_at_once(kInterrupted, "margrove: interrupted; nothing was written\n");
}
extern "C" void on_interrupt_elsewhere(int) {
  end_at_once(kInterrupted, "margrove: interrupted\n");
}
extern "C" void on_time_limit(int) {
  end_at_once(kOutOfTime, "margrove: the time limit ended the work; nothing was written\n");
}
extern "C" void on_interrupt_in_stream(int) {
  end_at_once(kInterrupted, "margrove: interrupted; the answers so far were written\n");
}
std::atomic<RunControl*> interruptible = nullptr;

void on_interruption(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  struct sigaction hangup {};
  const bool is_ignored =  // by nohup
      ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!is_ignored) std::signal(SIGHUP, handler);
}

extern "C" void on_interrupt_once(int signal) {
  RunControl* control = interruptible.exchange(nullptr);
  if (control == nullptr) on_interrupt(signal);  // the second of two that came at once
  constexpr std::string_view kMessage =
      "margrove: interrupted; the best so far will be written (a second time: nothing)\n";
  print_from_handler(kMessage);
  control->interrupt();
  on_interruption(on_interrupt);
}
extern "C" void on_interrupt_while_writing(int signal) {
  if (waits_for_a_reader()) on_interrupt_elsewhere(signal);  // which may never come
  on_interruption(on_interrupt_elsewhere);                   // the next one ends the program
}

/// Sends SIGALRM after this many seconds; 0: cancels it.
void set_alarm(double seconds) {
  constexpr double kLongest = 1e8;  // three years
  seconds = std::min(seconds, kLongest);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<::time_t>(seconds);
  const double rest = seconds - std::floor(seconds);
  timer.it_value.tv_usec = static_cast<::suseconds_t>(rest * 1e6);
  if (seconds > 0 && timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) {
    timer.it_value.tv_usec = 1;
  }
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

/// The type of a value and its range, which option_text() takes apart.
std::string type_name(const OptionInfo& info) {
  const std::string_view type = info.type == "number"    ? "NUMBER"
                                : info.type == "integer" ? "INT"
                                                         : "TEXT";
  return concat(type, info.range.empty() ? "" : ":", info.range);
}

}  // namespace

// Options -----------------------------------------------------------------------------------------

std::string option_name(const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return concat("--", dashed);
}

CLI::Validator number_from(int least) {
  const auto refusal = [least](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least) return std::string();
    return concat("value is ", text, ", but must be >= ", least);
  };
  return CLI::Validator(refusal, "");
}

std::vector<OptionInfo> shown_options(OptionTable defaults) {
  std::vector<OptionInfo> infos = defaults.list();
  for (OptionInfo& info : infos) {
    try {
      defaults.set(info.name, info.default_value);
    } catch (const InvalidOption&) {
      info.default_value.clear();
    }
  }
  return infos;
}

std::vector<const CLI::Option*> named_options(const CLI::App& app, std::size_t first) {
  std::vector<const CLI::Option*> named = app.get_options();
  named.erase(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(first));
  std::erase_if(named, [&](const CLI::Option* option) {
    return !option->nonpositional() || option == app.get_help_ptr();
  });
  return named;
}

void refuse_given(std::span<const CLI::Option* const> options, std::string_view why) {
  for (const CLI::Option* option : options) {
    require<InvalidOption>(option->empty(), "option ", option->get_lnames().front(),
                           " is given, but ", why);
  }
}

void GivenOptions::declare(CLI::App& app, const std::vector<OptionInfo>& infos,
                           const std::string& group) {
  for (const OptionInfo& info : infos) {
    const std::string name = option_name(info.name);
    const bool is_switch = info.type == "switch";
    CLI::Option* option = is_switch ? app.add_flag(name, info.help)
                                    : app.add_option(name, info.help)->type_name(type_name(info));
    if (!is_switch || info.default_value != "false") option->default_str(info.default_value);
    option->group(group);
    slots_.push_back({info.name, option});
  }
}

void GivenOptions::exclude(std::span<const std::pair<std::string_view, std::string_view>> pairs) {
  for (const auto& [first, second] : pairs) find(first)->excludes(find(second));
}

CLI::Option* GivenOptions::find(std::string_view name) const {
  return std::ranges::find(slots_, name, &Slot::name)->option;
}

OptionValues GivenOptions::values() const {
  OptionValues values;
  for (const Slot& slot : slots_) {
    for (const std::string& text : slot.option->results()) values.emplace_back(slot.name, text);
  }
  return values;
}

void ViewArguments::declare(CLI::App& app) {
  app.add_option(
         "--view", texts_,
         "file with further features of the same rows, as a view of that name: rows, or .npy, an "
         "array of NumPy with a row for each row; may be repeated")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option(
         "--vector-file", vector_file_,
         "vectors of texts, or of rows with named columns, as their column 'vectors': .npy, "
         "an array of NumPy with a row for each row")
      ->type_name("FILE");
}

std::vector<std::string> ViewArguments::paths() const {
  std::vector<std::string> paths{vector_file_};
  for (const ViewFile& view : files()) paths.push_back(view.path);
  return paths;
}

std::vector<ViewFile> ViewArguments::files() const {
  std::vector<ViewFile> files;
  for (const std::string& text : texts_) {
    const std::size_t equals = text.find('=');
    require<InvalidOption>(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
                           "option view is '", text, "', but must be NAME=FILE");
    files.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return files;
}

namespace {

/// What gives rows a hierarchy.
constexpr std::array<std::string_view, 4> kHierarchies{"--hierarchy", "--hierarchy-from",
                                                       "--path-column", "--path-columns"};

std::string_view name_of_option(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

bool give_hierarchy(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments, [](std::string_view argument) {
    return std::ranges::find(kHierarchies, name_of_option(argument)) != kHierarchies.end();
  });
}

}  // namespace

std::optional<std::string> method_argument(const std::vector<std::string>& arguments) {
  bool asks_for_help = arguments.size() < 2;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& argument = arguments[k];
    const std::string_view name = name_of_option(argument);
    if (name == "--method") {
      if (name.size() < argument.size()) return argument.substr(name.size() + 1);
      return k + 1 < arguments.size() ? std::optional(arguments[k + 1]) : std::nullopt;
    }
    asks_for_help |= name == "--help" || name == "-h";
  }
  if (give_hierarchy(arguments)) return std::string(LevelSvmOptions::kMethod);
  if (asks_for_help) return std::nullopt;
  return std::string(FlatSvmOptions::kMethod);
}

std::string_view note_of_default(const std::vector<std::string>& arguments) {
  if (std::ranges::find(arguments, "--method", name_of_option) != arguments.end()) return {};
  return give_hierarchy(arguments)
             ? ", the default where a hierarchy is given, but no --method"
             : ", the default where neither a hierarchy nor --method is given";
}

std::string list_of_methods() {
  std::string text = "Methods (--method M --help lists the options of M):\n";
  for (const Method& method : methods()) {
    text += fmt::format("  {:<16} {}\n", method.name, method.summary);
  }
  return text;
}

// Progress and interruption -----------------------------------------------------------------------

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

ProgressPrinter::ProgressPrinter(ProgressForm form) : form_(form), on_terminal_(isatty(2) == 1) {}

ProgressPrinter::~ProgressPrinter() { clear(); }

void ProgressPrinter::clear() {
  if (bar_shown != 0) print_error(kStartOfLine);
  bar_shown = 0;
}

namespace {

std::string json_line(const Progress& progress) {
  nlohmann::ordered_json line{{"stage", progress.stage}, {"done", progress.done}};
  if (progress.total > 0) line["total"] = progress.total;
  line["unit"] = name_of(progress.unit);
  if (!std::isnan(progress.objective)) line["objective"] = progress.objective;
  if (!std::isnan(progress.relative_gap)) line["relative_gap"] = progress.relative_gap;
  line["seconds"] = progress.seconds;
  return line.dump() + "\n";
}

}  // namespace

std::string ProgressPrinter::seconds_left(const Progress& progress) {
  if (progress.stage != stage_ || progress.done < stage_done_) {
    stage_ = progress.stage;
    stage_seconds_ = progress.seconds;
    stage_done_ = progress.done;
  }
  // For work that ends at a gap, the total is only a limit.
  const bool is_known =
      progress.total > 0 && progress.done > stage_done_ && std::isnan(progress.relative_gap);
  if (!is_known) return {};
  const double per_unit =
      (progress.seconds - stage_seconds_) / static_cast<double>(progress.done - stage_done_);
  const auto left = static_cast<double>(std::max<std::int64_t>(progress.total - progress.done, 0));
  return fmt::format(", about {} left", duration_text(per_unit * left));
}

void ProgressPrinter::show(const Progress& progress) {
  if (form_ == ProgressForm::none) return;
  if (form_ == ProgressForm::json) {
    print_error(json_line(progress));
    return;
  }
  const std::string left = seconds_left(progress);
  const double interval = on_terminal_ ? 0.1 : 5.0;
  if (progress.seconds - last_seconds_ < interval) return;
  last_seconds_ = progress.seconds;
  std::string line = fmt::format("{}: {}", progress.stage, progress.done);
  if (progress.total > 0) line += fmt::format(" of {}", progress.total);
  line += fmt::format(" {}", name_of(progress.unit));
  if (!std::isnan(progress.objective)) {
    line += fmt::format(", objective {:.6g}", progress.objective);
  }
  if (!std::isnan(progress.relative_gap)) {
    line += fmt::format(", gap {:.2e}", progress.relative_gap);
  }
  line += fmt::format(", {}{}, {:.2f} GB", duration_text(progress.seconds), left,
                      resident_memory().value_or(0) / 1e9);
  if (!on_terminal_) {
    print_error(fmt::format("{}\n", line));
    return;
  }
  constexpr int kWidth = 24;
  std::string bar;
  if (progress.total > 0) {
    const auto filled =
        static_cast<int>(kWidth * std::clamp(static_cast<double>(progress.done) /
                                                 static_cast<double>(progress.total),
                                             0.0, 1.0));
    bar = fmt::format("[{}{}] ", std::string(filled, '#'), std::string(kWidth - filled, '.'));
  }
  print_error(fmt::format("{}{}{}", kStartOfLine, bar, line));
  std::fflush(stderr);
  bar_shown = 1;
}

void interruptions_end_the_program() { on_interruption(on_interrupt_elsewhere); }

CommandControl::CommandControl(ProgressForm form, double time_limit_seconds, AtLimit at_limit,
                               RunControl::Time time)
    : printer_(form),
      control_(
          [this](const Progress& progress) {
            printer_.show(progress);
            return true;
          },
          at_limit == AtLimit::best_so_far && time_limit_seconds > 0
              ? time_limit_seconds
              : std::numeric_limits<double>::infinity(),
          RunControl::clock_of(time)) {
  on_interruption(on_interrupt);
  if (at_limit == AtLimit::end && time_limit_seconds > 0) {
    std::signal(SIGALRM, on_time_limit);
    set_alarm(time_limit_seconds);
  }
}

void CommandControl::end_at_limit() {
  const double left = control_.seconds_left();
  if (!std::isfinite(left) || left <= 0) return;  // run() says so where it has passed
  std::signal(SIGALRM, on_time_limit);
  set_alarm(left);
}

void CommandControl::keep_best_so_far() { set_alarm(0); }

CommandControl::~CommandControl() {
  set_alarm(0);
  interruptions_end_the_program();
  interruptible = nullptr;
}

void CommandControl::await_interruption() {
  interruptible = &control_;
  on_interruption(on_interrupt_once);
}

void CommandControl::end_progress() { printer_.clear(); }

void CommandControl::start_writing() {
  printer_.clear();
  set_alarm(0);
  on_interruption(is_interrupted() ? on_interrupt_elsewhere : on_interrupt_while_writing);
}

void CommandControl::start_stream() {
  printer_.clear();
  set_alarm(0);
  on_interruption(on_interrupt_in_stream);
}

namespace {
std::vector<std::string>& option_names() {
  static std::vector<std::string> names;
  return names;
}
}  // namespace

void set_option_names(std::vector<std::string> names) { option_names() = std::move(names); }

std::string with_typed_names(std::string_view message) {
  const auto& names = option_names();
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '/' ||
           c == '.';
  };
  std::string text;
  bool is_quoted = false;
  for (std::size_t begin = 0; begin < message.size();) {
    std::size_t end = begin;
    while (end < message.size() && is_of_word(message[end])) ++end;
    if (end == begin) {
      // An apostrophe stands after a letter.
      const bool is_quote =
          message[begin] == '\'' && (is_quoted || begin == 0 || !is_of_word(message[begin - 1]));
      if (is_quote) is_quoted = !is_quoted;
      text += message[begin++];
      continue;
    }
    const std::string_view word = message.substr(begin, end - begin);
    std::string typed(word);
    std::replace(typed.begin(), typed.end(), '_', '-');
    // A message begins with the file, if there is one.
    const bool is_file = begin == 0 && message.substr(end).starts_with(':');
    const bool is_name =
        !is_quoted && !is_file && std::find(names.begin(), names.end(), typed) != names.end();
    text += is_name ? std::string_view(typed) : word;
    begin = end;
  }
  return text;
}

void print_error(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void warn(const std::string& message) {
  print_error(fmt::format("margrove: warning: {}\n", printable(with_typed_names(message))));
}

void print_text(std::string_view text) { std::cout << printable(text); }

void require_result_writable(const std::string& path, std::span<const std::string> inputs) {
  if (path.empty()) return;
  require_writable(path);
  require_not_read(path, inputs);
}

void require_not_read(const std::string& path, std::span<const std::string> inputs) {
  struct stat result {};
  if (::stat(path.c_str(), &result) != 0 || !S_ISREG(result.st_mode)) return;
  for (const std::string& input : inputs) {
    struct stat read {};
    const bool is_same = ::stat(input.c_str(), &read) == 0 && read.st_dev == result.st_dev &&
                         read.st_ino == result.st_ino;
    require(!is_same, path, ": the result would replace ", input,
            ", which is read; name another file");
  }
}

void require_different_results(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(one, ignored) && !std::filesystem::is_regular_file(one, ignored))
    return;
  const auto followed = [&](const std::string& path) {  // as far as it leads
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored);
  };
  const bool is_same =
      followed(one) == followed(other) || std::filesystem::equivalent(one, other, ignored);
  require(!is_same, one, ": the result would replace ", other,
          ", another result; name another file");
}

void write_result(const std::string& path, std::string_view text) {
  if (path.empty()) {
    std::cout << text;
    return;
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace margrove::cli
