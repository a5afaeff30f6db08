// margrove completion

#include <fmt/format.h>

#include <iostream>

#include "cli/declared_verbs.hpp"
#include "cli/verbs.hpp"
#include "eval/metric_choice.hpp"

namespace margrove::cli {
namespace {

std::string words(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : " ") + text;
  return line;
}

std::string names_of(const std::vector<DeclaredArgument>& options) {
  std::vector<std::string> names;
  for (const DeclaredArgument& option : options) names.push_back(option.name);
  return words(names);
}

constexpr std::string_view kFilesToo = ":files:";

/// The values that are offered for an option of a verb that takes other texts, too.
std::vector<std::string> known_values(const std::string& verb, const std::string& option) {
  if (option == "--class-weight") return {"none", "balanced", std::string(kFilesToo)};
  if (option == "--metrics" || (option == "--metric" && verb == "compress")) {
    std::vector<std::string> names = metric_names();
    if (option == "--metrics") names.emplace_back("all");
    return names;
  }
  if (option == "--metric") return search_metric_names();
  return {};
}

/// A case of a shell's `case $verb:$method:$name`, for options whose values are known, or are
/// numbers.
std::string case_of_values(const std::string& verb, const std::string& method,
                           const DeclaredArgument& option) {
  const OptionText& text = option.text;
  const bool is_number = text.type == "NUMBER" || text.type == "INT";
  const std::vector<std::string> values =
      text.choices.empty() ? known_values(verb, option.name) : text.choices;
  if (!text.takes_value || (values.empty() && !is_number)) return {};
  return fmt::format("    {}:{}:{}) echo '{}' ;;\n", verb, method, option.name,
                     is_number ? ":none:" : words(values));
}

/// Functions of any shell, whose output are words: the verbs, the options of a verb with a method,
/// the values of an option: nothing where they may be files, ":files:" among them where they may be
/// files, too, ":none:" where they are neither.
std::string tables() {
  const std::vector<DeclaredVerb> verbs = declared_verbs();
  const std::vector<DeclaredMethod> methods = declared_methods();
  std::vector<std::string> verb_names{"help"}, method_names;
  for (const DeclaredVerb& verb : verbs) verb_names.push_back(verb.name);
  for (const DeclaredMethod& method : methods) method_names.push_back(method.name);

  std::string options, values;
  std::string with_method;  // a pattern of the verbs that take one
  for (const DeclaredVerb& verb : verbs) {
    options += fmt::format("    {}) echo '{}' ;;\n", verb.name, names_of(verb.options));
    if (verb.takes_method) {
      with_method += (with_method.empty() ? "" : "|") + verb.name;
      values += fmt::format("    {}:*:--method) echo '{}' ;;\n", verb.name, words(method_names));
    }
    for (const DeclaredArgument& each : verb.options)
      values += case_of_values(verb.name, "*", each);
    for (const DeclaredArgument& each : verb.positional) {
      if (!each.text.choices.empty()) {
        values += fmt::format("    {}:*:) echo '{}' ;;\n", verb.name, words(each.text.choices));
      }
    }
  }
  std::string of_methods;
  for (const DeclaredMethod& method : methods) {
    of_methods += fmt::format("    {}) echo '{}' ;;\n", method.name, names_of(method.options));
    for (const DeclaredArgument& each : method.options) {
      values += case_of_values("*", method.name, each);
    }
  }
  return fmt::format(R"(_margrove_verbs() {{
  echo '{verbs} --help --version'
}}
_margrove_options() {{ # verb method
  case $1 in
{options}  esac
  case $1 in {with_method}) ;; *) return 0 ;; esac
  case $2 in
{of_methods}  esac
}}
_margrove_values() {{ # verb method option
  case $1:$2:$3 in
{values}  esac
}}
)",
                     fmt::arg("verbs", words(verb_names)), fmt::arg("options", options),
                     fmt::arg("with_method", with_method), fmt::arg("of_methods", of_methods),
                     fmt::arg("values", values));
}

// Both take the words before the present one apart in the same way: the verb (after `help`, too),
// the method, and the option whose value the present word is.
constexpr std::string_view kBash = R"(_margrove() {
  local current=${COMP_WORDS[COMP_CWORD]} before="" verb="" method="" word k
  # bash makes three words of --name=value.
  local -a given=()
  for ((k = 1; k < COMP_CWORD; k++)); do
    word=${COMP_WORDS[k]}
    if [[ $word != = ]]; then given+=("$word"); fi
  done
  if [[ $current == = ]]; then current=; fi
  for ((k = 0; k < ${#given[@]}; k++)); do
    word=${given[k]}
    if [[ -z $verb && $word != help && $word != -* ]]; then verb=$word; fi
    if [[ $word == --method ]]; then method=${given[k + 1]:-}; fi
    before=$word
  done
  COMPREPLY=()
  local candidates
  if [[ -z $verb ]]; then
    candidates=$(_margrove_verbs)
  elif [[ $current == -* ]]; then
    candidates=$(_margrove_options "$verb" "$method")
  else
    [[ $before == --* ]] || before=
    candidates=$(_margrove_values "$verb" "$method" "$before")
    if [[ $candidates == :none: ]]; then
      compopt +o default 2>/dev/null
      return 0
    fi
    if [[ $candidates == *\ :files: ]]; then
      candidates=${candidates% :files:}
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
  fi
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -o default -F _margrove margrove
)";

constexpr std::string_view kZsh = R"(_margrove() {
  local current=${words[CURRENT]} before="" verb="" method="" word prefix=""
  local -a given candidates
  local -i k
  given=("${(@)words[2,CURRENT-1]}")
  if [[ $current == --*=* ]]; then
    given+=("${current%%=*}")
    prefix=${current%%=*}=
  fi
  for ((k = 1; k <= $#given; k++)); do
    word=${given[k]}
    if [[ -z $verb && $word != help && $word != -* ]]; then verb=$word; fi
    if [[ $word == --method ]]; then method=${given[k + 1]:-}; fi
    if [[ $word == --method=* ]]; then method=${word#*=}; fi
    before=$word
  done
  if [[ -z $verb ]]; then
    candidates=(${=$(_margrove_verbs)})
  elif [[ -z $prefix && $current == -* ]]; then
    candidates=(${=$(_margrove_options "$verb" "$method")})
  else
    [[ $before == --* ]] || before=
    candidates=(${=$(_margrove_values "$verb" "$method" "$before")})
    if [[ "$candidates" == :none: ]]; then return 0; fi
    if (( $#candidates == 0 )) || [[ ${candidates[-1]} == :files: ]]; then
      candidates=(${candidates:#:files:})
      if [[ -n $prefix ]]; then compset -P '*='; fi
      if (( $#candidates )); then compadd -- "${(@)candidates}"; fi
      _files
      return
    fi
  fi
  compadd -- "${(@)candidates/#/$prefix}"
}
if [[ ${funcstack[1]:-} == _margrove ]]; then _margrove "$@"; else compdef _margrove margrove; fi
)";

class Completion final : public Command {
 public:
  explicit Completion(CLI::App& app) {
    app.add_option("SHELL", shell_, "shell that reads the output")
        ->required()
        ->type_name("")
        ->check(CLI::IsMember({"bash", "zsh"}));
    app.footer(
        "bash: eval \"$(margrove completion bash)\" in ~/.bashrc. zsh: write the output to a file "
        "_margrove in a folder of $fpath, or eval it in ~/.zshrc after compinit.");
  }

  int run() override {
    if (shell_ == "zsh") std::cout << "#compdef margrove\n";
    std::cout << tables() << (shell_ == "zsh" ? kZsh : kBash);
    return kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

Verb completion_verb() {
  return make_verb<Completion>("completion", "completion of commands for a shell");
}

}  // namespace margrove::cli
