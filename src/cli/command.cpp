#include "cli/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <limits>

#include "base/atomic_file.hpp"
#include "data/utf8.hpp"

namespace margrove::cli {
namespace {

std::atomic<RunControl*> interruptible = nullptr;

extern "C" void on_interrupt(int) {
  if (RunControl* control = interruptible.load()) control->interrupt();
  std::signal(SIGINT, SIG_DFL);  // the next one ends the program
  std::signal(SIGTERM, SIG_DFL);
}

std::string type_name(const OptionInfo& info) {
  if (info.type == "number") return "NUMBER";
  if (info.type == "integer") return "INT";
  return "TEXT";
}

/// Help, then range and default.
std::string description(const OptionInfo& info) {
  std::string text = info.help;
  std::string details = info.type == "switch" ? "" : info.range;
  if (!(info.type == "switch" && info.default_value == "false")) {
    details += fmt::format("{}default {}", details.empty() ? "" : "; ", info.default_value);
  }
  return details.empty() ? text : fmt::format("{} [{}]", text, details);
}

}  // namespace

// Options -----------------------------------------------------------------------------------------

std::string option_name(const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return concat("--", dashed);
}

void GivenOptions::declare(CLI::App& app, const std::vector<OptionInfo>& infos,
                           const std::string& group) {
  for (const OptionInfo& info : infos) {
    const std::string name = option_name(info.name);
    const std::string help = description(info);
    CLI::Option* option = info.type == "switch"
                              ? app.add_flag(name, help)
                              : app.add_option(name, help)->type_name(type_name(info));
    option->group(group);
    slots_.push_back({info.name, option});
  }
}

OptionValues GivenOptions::values() const {
  OptionValues values;
  for (const Slot& slot : slots_) {
    for (const std::string& text : slot.option->results()) values.emplace_back(slot.name, text);
  }
  return values;
}

void ViewArguments::declare(CLI::App& app) {
  app.add_option("--view", texts_,
                 "file with further features of the same rows, as a view of that name; again for "
                 "another")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
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

std::optional<std::string> method_argument(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "--method";
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string& argument = arguments[k];
    if (argument == kName && k + 1 < arguments.size()) return arguments[k + 1];
    if (argument.starts_with(kName) && argument.size() > kName.size() &&
        argument[kName.size()] == '=') {
      return argument.substr(kName.size() + 1);
    }
  }
  return std::nullopt;
}

std::string list_of_methods() {
  std::string text = "Methods (--method M --help lists the options of M):\n";
  for (const Method& method : methods()) {
    text += fmt::format("  {:<16} {}\n", method.name, method.summary);
  }
  return text;
}

// Progress and interruption -----------------------------------------------------------------------

ProgressPrinter::ProgressPrinter(bool quiet) : quiet_(quiet), on_terminal_(isatty(2) == 1) {}

ProgressPrinter::~ProgressPrinter() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
}

void ProgressPrinter::show(const Progress& progress) {
  const double interval = on_terminal_ ? 0.1 : 5.0;
  if (quiet_ || progress.seconds - last_seconds_ < interval) return;
  last_seconds_ = progress.seconds;
  std::string line = fmt::format("{}: {}", progress.stage, progress.done);
  if (progress.total > 0) line += fmt::format(" of {}", progress.total);
  line += fmt::format(" {}", progress.unit);
  if (!std::isnan(progress.objective)) {
    line += fmt::format(", objective {:.6g}", progress.objective);
  }
  if (!std::isnan(progress.relative_gap)) {
    line += fmt::format(", gap {:.2e}", progress.relative_gap);
  }
  line += fmt::format(", {:.1f} s", progress.seconds);
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
  print_error(fmt::format("\r\033[K{}{}", bar, line));
  std::fflush(stderr);
  bar_shown_ = true;
}

CommandControl::CommandControl(bool quiet, double time_limit_seconds)
    : printer_(quiet),
      control_(
          [this](const Progress& progress) {
            printer_.show(progress);
            return true;
          },
          time_limit_seconds > 0 ? time_limit_seconds : std::numeric_limits<double>::infinity()) {
  interruptible = &control_;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

CommandControl::~CommandControl() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  interruptible = nullptr;
}

void CommandControl::leave_if_interrupted() const {
  // No std::exception: handlers of errors are to let it pass.
  // NOLINTNEXTLINE(bugprone-std-exception-baseclass)
  if (control_.stop_reason() == Stop::interrupted) throw InterruptedByUser{};
}

void print_error(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void warn(const std::string& message) {
  print_error(fmt::format("margrove: warning: {}\n", printable(message)));
}

void print_text(std::string_view text) { std::cout << printable(text); }

void require_result_writable(const std::string& path) {
  if (!path.empty()) require_writable(path);
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
