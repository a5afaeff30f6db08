#pragma once
// How predictions name labels.

#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace margrove::cli {

struct LabelTexts {
  std::vector<std::string> names;  // of each label
  std::string between = ",";       // labels of a row
  std::string between_scores = " ";
};

/// `show`: "id", "name" (the last name of a path; other labels have no name beside their id),
/// "path" (of other labels the names from a root down, by the first parent of each) or "". Labels
/// of records may have blanks and commas, so tabs stand between them, or the label separator.
LabelTexts label_texts(const ModelParts& model, std::string_view show);

}  // namespace margrove::cli
