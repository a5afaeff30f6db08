#pragma once
// The arguments of all verbs as data, for texts about them: completion of shells, the manual.

#include <string>
#include <vector>

#include "cli/help.hpp"

namespace margrove::cli {

/// An option or a positional argument of a verb.
struct DeclaredArgument {
  std::string name;  // "--scale", or "MODEL" of a positional argument
  bool is_required = false;
  OptionText text;
};

/// The arguments of a verb as --help shows them; of one with --method those without a method.
struct DeclaredVerb {
  std::string name;
  std::string summary;
  std::string footer;  // what --help says below the arguments
  std::vector<DeclaredArgument> positional, options;
  bool takes_method = false;
};
std::vector<DeclaredVerb> declared_verbs();

/// The options of a method of training.
struct DeclaredMethod {
  std::string name;
  std::string summary;
  std::vector<DeclaredArgument> options;
};
std::vector<DeclaredMethod> declared_methods();

}  // namespace margrove::cli
