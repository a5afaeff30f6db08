#pragma once
// The arguments MODEL DATA, which predict, evaluate, explain and report share.

#include "cli/command.hpp"
#include "model/model.hpp"

namespace margrove::cli {

/// DATA of rows that come from standard input.
inline constexpr std::string_view kStandardInput = "-";

struct ModelArguments {
  std::string model_path, data_path;
  ViewArguments views;
  int threads = 0;
  double time_limit_seconds = 0;
  bool quiet = false;
  void declare(CLI::App& app, bool needs_data = true);
  /// To be created before anything that takes long, such as reading the model.
  CommandControl control() const {
    return CommandControl(quiet, time_limit_seconds, CommandControl::AtLimit::end);
  }
  /// Reads the model. The encoder of its vectors takes at most `threads`. Throws ModelFileError.
  ModelParts load() const { return load(model_path); }
  ModelParts load(const std::string& path) const;
  /// The rows for the model (texts, numbers or records) with all its views. Records may lack the
  /// column of labels unless labels are needed.
  Examples read(const ModelParts& model, CommandControl& control, bool needs_labels) const;
  /// For models whose examples are not rows: throws InvalidOption if views or vectors are given.
  void require_no_views(const ModelParts& model) const;
  /// For rows that are read one by one: throws InvalidOption if a file of their vectors is given.
  void require_no_vector_file(const ModelParts& model) const;
  /// The file of a model whose examples are not rows. Throws InvalidOption if views or vectors are
  /// given, or standard input.
  const std::string& examples_path(const ModelParts& model) const;
  /// The files that are read.
  std::vector<std::string> input_paths() const;
};

/// For models whose examples are not rows: throws InvalidOption if one of the options is given.
void refuse_options_of_rows(std::span<const CLI::Option* const> options, const ModelParts& model);

/// Leaves out rows without a label, with a warning, where the model gives each row one.
void leave_out_unlabelled(const ModelParts& model, Examples& raw);

}  // namespace margrove::cli
