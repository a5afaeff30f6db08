#pragma once
// Answers of models of sentences beside the lines that they answer.

#include <string>
#include <string_view>

#include "model/sentence_predictor.hpp"

namespace margrove::cli {

/// The lines of the file at `path` with those of `answers`, one per token. Lines that are no tokens
/// stay as they are.
std::string with_answers(const std::string& path, const SentencePredictor& predictor,
                         std::string_view answers);

}  // namespace margrove::cli
