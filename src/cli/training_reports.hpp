#pragma once
// What trainings print: their plan, progress, warnings and a summary.

#include <string>

#include "cli/command.hpp"
#include "methods/training.hpp"
#include "model/model.hpp"

namespace margrove::cli {

/// Prints and checks the estimate of memory, trains, and prints the warnings. After a time limit or
/// an interruption it returns the model so far. Throws OutOfTimeLimit and Interrupted.
ModelParts train_with_reports(const Method& method, MethodRun& method_run, const RunOptions& run,
                              const TrainingSet& data, const Preprocessing& preprocessing,
                              Executor& executor, CommandControl& control);

/// The plan of a training, whose memory is printed and checked.
Plan plan_with_reports(const Method& method, MethodRun& method_run, const RunOptions& run,
                       const TrainingSet& data, const Preprocessing& preprocessing,
                       Executor& executor, CommandControl& control);

/// Prints a warning. Throws it as InvalidInput if the run is strict.
void warn_or_refuse(const std::string& message, bool is_strict);
/// Prints the warnings of the training. Throws InvalidInput for the first one if the run is strict.
void print_warnings(const ModelParts& model, const RunOptions& run);

/// Writes the model to its file and a summary to stdout, with a hint where the file is large and
/// can be compressed. `earlier`: seconds of the command before the training of this model.
void save_and_print(const ModelParts& model, const std::string& path, CommandControl& control,
                    double earlier = 0);

}  // namespace margrove::cli
