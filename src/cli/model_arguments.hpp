#pragma once
// What predict, evaluate and explain share: MODEL DATA.

#include "cli/command.hpp"
#include "model/model.hpp"

namespace margrove::cli {

/// For rows with labels in the form that the model takes. Refers to the model.
ReadOptions read_options(const ModelParts& model);

struct ModelArguments {
  std::string model_path, data_path;
  ViewArguments views;
  int threads = 0;
  bool quiet = false;
  void declare(CLI::App& app, bool needs_data = true);
  /// The rows as the model takes them: texts, numbers or records, with all its views. Records may
  /// lack the column of labels unless they are needed.
  RawRows read(const ModelParts& model, CommandControl& control, bool needs_labels) const;
  /// The file of a model whose examples are not rows. Throws InvalidOption if views are given.
  const std::string& examples_path(const ModelParts& model) const;
};

}  // namespace margrove::cli
