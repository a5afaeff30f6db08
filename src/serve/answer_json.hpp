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

/// A label as Annif names one: {"uri": its id, "label": its name for people, if it has one,
/// "score": its probability}.
Json suggestion_json(const ModelParts& model, LabelId label, double probability);

/// The explanation of one label's score: {"label", "score", "nodes" or "sources"}.
Json explanation_json(const ModelParts& model, const Explanation& explanation);

}  // namespace margrove::serve
