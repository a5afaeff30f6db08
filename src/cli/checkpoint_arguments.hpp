#pragma once
// --checkpoint, --checkpoint-seconds and --resume of `train`.

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>

#include "cli/command.hpp"
#include "io/checkpoint_file.hpp"

namespace margrove::cli {

class CheckpointArguments {
 public:
  void declare(CLI::App& app);
  bool is_given() const { return !path_.empty(); }
  /// Before the work. Throws InvalidOption where options do not go together, InvalidInput if the
  /// file cannot be written, is the model or one of the inputs, or exists and is not to be resumed.
  void check(const std::string& model, std::span<const std::string> inputs) const;
  /// The checkpoint of this training, which continuation.checkpoint of the data refers to
  /// afterwards; null if none was asked for.
  std::unique_ptr<CheckpointFile> open(const Method& method, MethodRun& run,
                                       const Preprocessing& preprocessing, TrainingSet& data,
                                       bool is_quiet, CommandControl& control) const;
  /// After the model was written: a finished training needs no checkpoint.
  static void close(const CheckpointFile* checkpoint, Stop stop);

 private:
  std::string path_;
  double seconds_ = 60;
  bool is_resumed_ = false;
  CLI::Option* seconds_option_ = nullptr;
};

}  // namespace margrove::cli
