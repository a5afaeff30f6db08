#include "cli/help.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/similar_names.hpp"
#include "margrove/errors.hpp"

namespace margrove::cli {
namespace {

/// The text in lines of at most `width` characters, broken at blanks; its own line breaks stay, and
/// the lines after the first one begin with `indent` blanks, which the width does not count.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  const auto break_line = [&] {
    lines += '\n';
    lines.append(indent, ' ');
    used = 0;
  };
  while (!text.empty()) {
    if (text.front() == '\n') {
      break_line();
      text.remove_prefix(1);
      continue;
    }
    // One word with the blanks before it.
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    if (used > 0 && used + end > width) {
      break_line();
      text.remove_prefix(begin);
      continue;
    }
    lines += text.substr(0, end);
    used += end;
    text.remove_prefix(end);
  }
  return lines;
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first of the arguments after the verb that has the form of an option and is none of it.
std::optional<std::string> first_unknown(const std::vector<std::string>& names,
                                         const std::vector<std::string>& arguments) {
  for (std::size_t k = 1; k < arguments.size() && arguments[k] != "--"; ++k) {
    std::string word = arguments[k].substr(0, arguments[k].find('='));
    if (word.starts_with("--") && std::find(names.begin(), names.end(), word) == names.end()) {
      return word;
    }
  }
  return std::nullopt;
}

void append(std::string& details, const std::string& more) {
  if (more.empty()) return;
  details += concat(details.empty() ? "" : "; ", more);
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text += concat(text.empty() ? "" : separator, part);
  return text;
}

/// What CLI11 calls the type of an option, in parts: "SHARE:FLOAT in [0 - 0.9]", or with the range
/// of an option table, "TEXT:auto | csv".
struct TypeText {
  std::string name;                  // "SHARE"
  std::string range;                 // "in [0, 0.9]"
  std::vector<std::string> choices;  // {"auto", "csv"}
};
TypeText type_text(const CLI::Option& option) {
  const std::string whole = option.get_type_name();
  const std::size_t colon = std::min(whole.find(':'), whole.size());
  TypeText text{whole.substr(0, colon), whole.substr(std::min(colon + 1, whole.size())), {}};
  if (text.name == "UINT") text.name = "INT";
  std::string& range = text.range;
  if (range.starts_with('{')) {
    text.choices = split(range.substr(1, range.size() - 2), ",");
  } else if (range.find(" | ") != std::string::npos) {
    text.choices = split(range, " | ");
  } else if (const std::size_t in = range.find(" in ["); in != std::string::npos) {
    range.erase(0, in + 1);
    if (const std::size_t dash = range.find(" - "); dash != std::string::npos) {
      range.replace(dash, 3, ", ");
    }
  }
  if (!text.choices.empty()) range.clear();
  return text;
}

/// "not with --a, --b" of options that exclude this one.
std::string excluded(const CLI::Option& option) {
  std::string names;
  for (const CLI::Option* other : option.get_excludes()) {
    names += concat(names.empty() ? "not with " : ", ", other->get_name());
  }
  return names;
}

/// "default VALUE", quoted if there are blanks at its ends; empty if it is.
std::string default_text(const std::string& value) {
  if (value.empty()) return {};
  const bool is_quoted = value.front() == ' ' || value.back() == ' ';
  return is_quoted ? concat("default '", value, "'") : concat("default ", value);
}

/// A switch takes its value after '=' only: `--match-names true` ends with a file too many.
std::optional<std::string> detached_value(const CLI::App& program,
                                          const std::vector<std::string>& arguments) {
  const CLI::App& verb = *program.get_subcommand(arguments.front());
  for (std::size_t k = 1; k + 1 < arguments.size(); ++k) {
    const std::string& value = arguments[k + 1];
    const CLI::Option* option = verb.get_option_no_throw(arguments[k]);
    if (option == nullptr || option->get_expected_max() != 0) continue;
    if (value == "true" || value == "false" || value == "auto") {
      return fmt::format("{0} takes a value after '=' only: {0}={1}\n", arguments[k], value);
    }
  }
  return std::nullopt;
}

}  // namespace

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  text.takes_value = option.get_expected_max() != 0;
  TypeText type = type_text(option);
  text.type = type.name;
  if (option.get_expected_max() == CLI::detail::expected_max_vector_size)
    text.type += text.type.empty() ? "..." : " ...";
  std::string details;
  append(details, type.range);
  if (joined(type.choices, "|") != type.name) append(details, joined(type.choices, " | "));
  append(details, default_text(option.get_default_str()));
  append(details, excluded(option));
  text.choices = std::move(type.choices);
  text.help = option.get_description();
  if (!details.empty()) text.help += concat(" [", details, "]");
  return text;
}

WrappedHelp::WrappedHelp(std::size_t width) : width_(width) {}

std::string WrappedHelp::in_two_columns(const std::string& name, std::string_view text) const {
  std::string lines = "  " + name;
  if (text.empty()) return lines + "\n";
  if (lines.size() + 2 > column_width_) {
    lines += '\n';
    lines.append(column_width_, ' ');
  } else {
    lines.append(column_width_ - lines.size(), ' ');
  }
  return lines + wrapped(text, width_ - column_width_, column_width_) + "\n";
}

std::string WrappedHelp::make_option(const CLI::Option* option, bool is_positional) const {
  const OptionText text = option_text(*option);
  std::string name = make_option_name(option, is_positional);
  if (!text.type.empty()) name += concat(" ", text.type);
  if (option->get_required()) name += " REQUIRED";
  return in_two_columns(name, text.help);
}

std::string WrappedHelp::make_subcommand(const CLI::App* verb) const {
  return in_two_columns(verb->get_name(), verb->get_description());
}

std::string WrappedHelp::make_description(const CLI::App* app) const {
  return wrapped(Formatter::make_description(app), width_, 0);
}

std::string WrappedHelp::make_footer(const CLI::App* app) const {
  // The lines of a list have two columns.
  constexpr std::size_t kListIndent = 19;
  const std::string footer = Formatter::make_footer(app);
  std::string lines;
  for (std::size_t begin = 0; begin < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', begin), footer.size());
    const bool in_list = footer[begin] == ' ';
    const std::size_t indent = in_list ? kListIndent : 0;
    lines += wrapped(std::string_view(footer).substr(begin, end - begin), width_ - indent, indent);
    lines += '\n';
    begin = end + 1;
  }
  return lines;
}

std::size_t help_width() {
  constexpr std::size_t kNarrowest = 60, kUsual = 100, kWidest = 120;
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    std::from_chars(text.data(), text.data() + text.size(), width);
  }
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? kUsual : std::clamp(width, kNarrowest, kWidest);
}

std::optional<std::string> unknown_argument(const CLI::App& program,
                                            const std::vector<std::string>& arguments) {
  if (arguments.empty()) return "A verb is missing.\n";
  const std::string word = arguments.front().substr(0, arguments.front().find('='));
  const std::vector<std::string> own = option_names(program);
  if (word.starts_with('-') && word != "-h") {
    if (std::find(own.begin(), own.end(), word) != own.end()) return std::nullopt;
    return fmt::format("{} is no option of margrove, whose arguments begin with a verb\n", word);
  }
  const auto called = program.get_subcommands(
      [&](const CLI::App* verb) { return verb->get_name() == arguments.front(); });
  if (called.empty()) {
    return word == "-h" ? std::nullopt
                        : std::optional(fmt::format("{} is no verb of margrove\n", word));
  }
  const CLI::App& verb = *called.front();
  const bool takes_method = verb.get_option_no_throw("--method") != nullptr;
  const std::optional<std::string> method = method_argument(arguments);
  // Without its method, the options of a verb are not known.
  if (takes_method && !method) return std::nullopt;
  const std::optional<std::string> unknown = first_unknown(option_names(verb), arguments);
  if (!unknown) return std::nullopt;
  if (!takes_method) return fmt::format("{} is no option of {}\n", *unknown, verb.get_name());
  return fmt::format("{} is no option of {} with method {}{}\n", *unknown, verb.get_name(), *method,
                     note_of_default(arguments));
}

std::optional<std::string> wrong_values(const CLI::ParseError& error, const CLI::App& program,
                                        const std::vector<std::string>& arguments) {
  // The name of this error is that of the verb.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return detached_value(program, arguments);
  }
  if (error.get_name() != "ArgumentMismatch") return std::nullopt;
  const std::string message = error.what();
  const std::string option = message.substr(0, message.find(':'));
  if (message.starts_with(option + ": 1 required ")) {
    return fmt::format("{} needs a value\n", option);
  }
  if (message.starts_with(option + ": At Most 1 required ")) {
    return fmt::format("{} may be given once only\n", option);
  }
  return std::nullopt;
}

void require_file_names(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_type_name() != "FILE") continue;
    require<InvalidOption>(std::ranges::count(option->results(), "") == 0, "option ",
                           option->get_single_name(), " is empty, but must name a file");
  }
}

std::string suggestion(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return {};
  std::vector<std::string> names = option_names(program);
  for (const CLI::App* verb : program.get_subcommands({})) names.push_back(verb->get_name());
  std::optional<std::string> meant;
  if (std::find(names.begin(), names.end(), arguments.front()) == names.end()) {
    meant = nearest_name(arguments.front(), names);
  } else {
    names = option_names(*program.get_subcommand(arguments.front()));
    for (std::size_t k = 1; k < arguments.size() && !meant; ++k) {
      const std::string word = arguments[k].substr(0, arguments[k].find('='));
      const bool is_known = std::find(names.begin(), names.end(), word) != names.end();
      if (word.starts_with("--") && word.size() > 2 && !is_known) meant = nearest_name(word, names);
    }
  }
  return meant ? fmt::format("Did you mean {}?\n", *meant) : "";
}

std::vector<std::string> names_of_words(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name.find('-') != std::string::npos) names.push_back(name);
    }
  }
  return names;
}

}  // namespace margrove::cli
