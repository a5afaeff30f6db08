#include "cli/checkpoint_arguments.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/atomic_file.hpp"

namespace margrove::cli {

void CheckpointArguments::declare(CLI::App& app) {
  app.add_option("--checkpoint", path_,
                 "write the state of the training to this file now and then, so that --resume can "
                 "go on from it; removed when the training ends. For solvers that keep their "
                 "state, and label by label for one-vs-rest")
      ->type_name("FILE")
      ->group("Checkpoints");
  seconds_option_ = app.add_option("--checkpoint-seconds", seconds_,
                                   "time between two checkpoints; longer where writing them would "
                                   "take more than a twentieth of it")
                        ->type_name("S")
                        ->group("Checkpoints")
                        ->capture_default_str()
                        ->check(number_from(0));
  app.add_flag("--resume", is_resumed_,
               "go on from the checkpoint of the same training, or start if there is none yet")
      ->group("Checkpoints");
}

void CheckpointArguments::check(const std::string& model,
                                std::span<const std::string> inputs) const {
  require<InvalidOption>(is_given() || !is_resumed_,
                         "option resume is given, but needs --checkpoint FILE");
  require<InvalidOption>(is_given() || seconds_option_->count() == 0,
                         "option checkpoint_seconds is given, but needs --checkpoint FILE");
  if (!is_given()) return;
  require_result_writable(path_, inputs);
  require_different_results(path_, model);
  require(is_resumed_ || !std::filesystem::exists(path_), path_,
          ": the file exists; --resume goes on from a checkpoint. To start anew, remove it");
}

std::unique_ptr<CheckpointFile> CheckpointArguments::open(const Method& method, MethodRun& run,
                                                          const Preprocessing& preprocessing,
                                                          TrainingSet& data, bool is_quiet,
                                                          CommandControl& control) const {
  if (!is_given()) return nullptr;
  const std::string training = training_digest(method, run, data, preprocessing, MARGROVE_VERSION);
  auto checkpoint =
      std::make_unique<CheckpointFile>(path_, training, seconds_, is_resumed_, control.run());
  if (is_resumed_ && !is_quiet) {
    control.end_progress();
    print_error(checkpoint->saved() == nullptr
                    ? fmt::format("{}: there is no checkpoint yet; the training starts\n", path_)
                    : fmt::format("{}: going on after {} of training\n", path_,
                                  duration_text(checkpoint->seconds_before())));
  }
  data.continuation.checkpoint = checkpoint.get();
  return checkpoint;
}

void CheckpointArguments::close(const CheckpointFile* checkpoint, Stop stop) {
  if (checkpoint == nullptr) return;
  if (!checkpoint->failure().empty()) {
    warn(fmt::format("the last checkpoint could not be written: {}", checkpoint->failure()));
  }
  if (stop == Stop::interrupted || stop == Stop::time_limit) return;
  std::error_code ignored;  // a file that stays costs space only
  std::filesystem::remove(checkpoint->path(), ignored);
}

}  // namespace margrove::cli
