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

/// `show`: "id", "name" (the one for people; for other labels the last name of a path, or the id),
/// "path" (the id that is a path, unless labels have names for people; for other labels the names
/// from a root down, via the first parent of each) or "". Tabs separate names and labels that may
/// have blanks and commas, or the label separator those of records.
LabelTexts label_texts(const ModelParts& model, std::string_view show);

}  // namespace margrove
