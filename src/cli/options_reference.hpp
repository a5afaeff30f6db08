#pragma once
// `margrove train --options-reference`, a hidden option: prints docs/options.md.

#include "cli/command.hpp"

namespace margrove::cli {

bool asks_for_reference(const std::vector<std::string>& arguments);

class OptionsReference final : public Command {
 public:
  explicit OptionsReference(CLI::App& app);
  int run() override;
};

}  // namespace margrove::cli
