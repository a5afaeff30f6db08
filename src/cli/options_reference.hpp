#pragma once
// `margrove train --options-reference`: docs/options.md from the tables. Hidden; a test compares.

#include "cli/command.hpp"

namespace margrove::cli {

bool asks_for_reference(const std::vector<std::string>& arguments);

class OptionsReference final : public Command {
 public:
  explicit OptionsReference(CLI::App& app);
  int run() override;
};

}  // namespace margrove::cli
