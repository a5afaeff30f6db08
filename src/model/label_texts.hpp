#pragma once
// The texts of labels in answers.

#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace margrove {

struct LabelTexts {
  std::vector<std::string> names;  // of each label
  std::string between = ",";       // labels of a row
  std::string between_scores = " ";
};

/// `show`: "id", "name" (the last name of a path; for other labels the one of their vocabulary, or
/// the id), "path" (for other labels the names from a root down, via the first parent of each) or
/// "". Tabs separate names and labels that may have blanks and commas, or the label separator those
/// of records.
LabelTexts label_texts(const ModelParts& model, std::string_view show);

}  // namespace margrove
