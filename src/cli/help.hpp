#pragma once
// Help pages that fit the terminal, and suggestions for misspelt words.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace margrove::cli {

/// What --help and the manual say of the whole program.
inline constexpr std::string_view kAboutProgram =
    "Large-margin learning with structured labels and kernels";
inline constexpr std::string_view kExitCodes =
    "0 done, 1 internal error, 2 wrong usage, 3 bad input, 4 bad model file, 5 time limit without "
    "a result, 130 interrupted.";

/// An option or an argument as texts for users.
struct OptionText {
  bool takes_value = false;
  std::string type;                  // "FILE"; empty for switches and most arguments
  std::vector<std::string> choices;  // that its value is one of; empty: it may be something else
  std::string help;                  // with range, choices and default in brackets
};
OptionText option_text(const CLI::Option& option);

/// Formats help for lines of `width` characters: names on the left, descriptions on the right.
class WrappedHelp final : public CLI::Formatter {
 public:
  explicit WrappedHelp(std::size_t width);
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  std::string in_two_columns(const std::string& name, std::string_view text) const;

  std::size_t width_;
};

/// The width of $COLUMNS or of the terminal on stdout, between 60 and 120; 100 if neither is known.
std::size_t help_width();

/// "... is no verb of margrove", or "... is no option of ..." for the first argument that has the
/// form of an option and is none of the verb, or of its method, if there is one.
std::optional<std::string> unknown_argument(const CLI::App& program,
                                            const std::vector<std::string>& arguments);

/// What is wrong with the values of a verb's options: "--name needs a value", "--name may be given
/// once only", or where the value of an option that may have none does not follow '='.
std::optional<std::string> wrong_values(const CLI::ParseError& error, const CLI::App& program,
                                        const std::vector<std::string>& arguments);

/// Throws InvalidOption for a FILE that is empty, as of a shell variable that is not set.
void require_file_names(const CLI::App& verb);

/// "Did you mean ...?" for the first unknown verb or option among the arguments that is similar to
/// a known one; otherwise empty.
std::string suggestion(const CLI::App& program, const std::vector<std::string>& arguments);

/// The long names of a verb's options that consist of several words: "path-column".
std::vector<std::string> names_of_words(const CLI::App& verb);

}  // namespace margrove::cli
