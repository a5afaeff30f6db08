// margrove manual

#include <fmt/format.h>

#include <iostream>

#include "cli/declared_verbs.hpp"
#include "cli/verbs.hpp"

namespace margrove::cli {
namespace {

/// Text as man reads it: backslashes and dashes are escaped, and no line begins with a request.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void print_argument(const DeclaredArgument& argument) {
  std::cout << ".TP\n.B " << roff(argument.name);
  if (!argument.text.type.empty()) std::cout << " \\fI" << roff(argument.text.type) << "\\fR";
  std::cout << "\n"
            << roff(argument.text.help) << (argument.is_required ? " (required)" : "") << "\n";
}

void print_verb(const DeclaredVerb& verb) {
  std::cout << ".SS " << roff(verb.name) << "\n"
            << roff(verb.summary) << ".\n.PP\n.B margrove " << roff(verb.name)
            << "\n[\\fIoptions\\fR]";
  for (const DeclaredArgument& argument : verb.positional) {
    const std::string name = "\\fI" + roff(argument.name) + "\\fR";
    std::cout << " " << (argument.is_required ? name : "[" + name + "]");
  }
  std::cout << "\n";
  for (const DeclaredArgument& argument : verb.positional) print_argument(argument);
  for (const DeclaredArgument& option : verb.options) print_argument(option);
  // Methods have a section of their own.
  if (!verb.footer.empty() && !verb.takes_method) std::cout << ".PP\n" << roff(verb.footer) << "\n";
}

class Manual final : public Command {
 public:
  explicit Manual(CLI::App& app) { app.footer("margrove manual | man -l - shows it."); }

  int run() override {
    std::cout << ".\\\" Made by margrove manual.\n"
              << ".TH MARGROVE 1 \"\" \"margrove " MARGROVE_VERSION "\" \"User Commands\"\n"
              << ".SH NAME\nmargrove \\- " << roff(kAboutProgram) << "\n"
              << ".SH SYNOPSIS\n.B margrove\n\\fIverb\\fR [\\fIoptions\\fR] \\fIarguments\\fR\n"
              << ".br\n.B margrove help\n\\fIverb\\fR\n.SH VERBS\n";
    for (const DeclaredVerb& verb : declared_verbs()) print_verb(verb);
    std::cout << ".SH METHODS\nThe values of \\-\\-method, each with its options.\n";
    for (const DeclaredMethod& method : declared_methods()) {
      std::cout << ".SS " << roff(method.name) << "\n" << roff(method.summary) << ".\n";
      for (const DeclaredArgument& option : method.options) print_argument(option);
    }
    std::cout << ".SH EXIT STATUS\n" << roff(kExitCodes) << "\n";
    return kOk;
  }
};

}  // namespace

Verb manual_verb() { return make_verb<Manual>("manual", "the manual page, for man"); }

}  // namespace margrove::cli
