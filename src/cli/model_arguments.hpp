#pragma once
// What predict, evaluate and explain share: MODEL DATA.

#include "command.hpp"
#include "margrove/model/model.hpp"

namespace margrove::cli {

struct ModelArguments {
  std::string model_path, data_path;
  int threads = 0;
  bool quiet = false;
  void declare(CLI::App& app);
};

/// The rows of a file as the model takes them: texts or numbers.
RawRows read_for(const Model& model, const std::string& path, CommandControl& control);

}  // namespace margrove::cli
