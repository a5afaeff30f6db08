#include "cli/declared_verbs.hpp"

#include "cli/verbs.hpp"

namespace margrove::cli {
namespace {

DeclaredArgument declared(const CLI::Option& option) {
  const bool is_positional = !option.nonpositional();
  const std::string name =
      is_positional ? option.get_name(true) : "--" + option.get_lnames().front();
  return {name, option.get_required(), option_text(option)};
}

DeclaredVerb declared(const Verb& verb) {
  CLI::App app(verb.summary, verb.name);
  const std::unique_ptr<Command> command = verb.declare(app, {verb.name});
  DeclaredVerb result;
  result.name = verb.name;
  result.summary = verb.summary;
  result.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    DeclaredArgument argument = declared(*option);
    result.takes_method |= argument.name == "--method";
    (option->nonpositional() ? result.options : result.positional).push_back(std::move(argument));
  }
  return result;
}

}  // namespace

std::vector<DeclaredVerb> declared_verbs() {
  std::vector<DeclaredVerb> all;
  for (const Verb& verb : verbs()) all.push_back(declared(verb));
  return all;
}

std::vector<DeclaredMethod> declared_methods() {
  std::vector<DeclaredMethod> all;
  for (const Method& method : methods()) {
    CLI::App app;
    GivenOptions options;
    options.declare(app, method.start()->options().list(), method.name);
    DeclaredMethod& result = all.emplace_back(DeclaredMethod{method.name, method.summary, {}});
    for (const CLI::Option* option : app.get_options()) {
      if (option != app.get_help_ptr()) result.options.push_back(declared(*option));
    }
  }
  return all;
}

}  // namespace margrove::cli
