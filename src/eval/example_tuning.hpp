#pragma once
// Model selection for methods whose examples are sentences in files of their own formats.

#include <span>
#include <string>
#include <vector>

#include "eval/tuning.hpp"

namespace margrove {

/// The sentences of a file: its blocks of lines between blank lines, each with its line ends.
/// Throws OutOfTimeLimit where `control` asks to end.
std::vector<std::string> read_sentences(const std::string& path, RunControl* control = nullptr);

/// As tune() for the sentences of a file, which the method has read without an error. `metric` is
/// one of those of `margrove evaluate`; if it is empty it becomes las (of trees) or token_accuracy.
/// Grid points and splits run one after the other, each with all threads. Throws InvalidOption for
/// an unknown metric or option.
TuningResult tune_sentences(const Method& method, const OptionValues& fixed,
                            std::span<const OptionValues> grid,
                            std::span<const std::string> sentences, std::span<const Split> splits,
                            std::string& metric, Executor& executor, RunControl& control);

}  // namespace margrove
