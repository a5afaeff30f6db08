#pragma once
// Answers as JSON. docs/serving.md describes them, openapi.hpp for programs.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "model/answers.hpp"
#include "serve/served_models.hpp"

namespace margrove::serve {

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

/// The text of a value; bytes that are not UTF-8, as a damaged model may have, become U+FFFD.
std::string to_text(const Json& value);

/// {"labels": [...]} and, where the options ask for them, "scores" or "probabilities". Numbers have
/// the digits that `margrove predict` writes.
Json answer_json(const Answer& answer, const AnswerOptions& options, const LabelTexts& texts);

/// The answer to a sentence: a list for each column.
Json answer_json(const Sentence& answer, std::span<const AnswerColumn> columns);

/// The explanation of one label's score: {"label", "score", "nodes" or "sources"}.
Json explanation_json(const ModelParts& model, const Explanation& explanation);

}  // namespace margrove::serve
