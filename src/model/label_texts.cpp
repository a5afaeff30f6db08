#include "model/label_texts.hpp"

#include <algorithm>

#include "data/path_ids.hpp"

namespace margrove {
namespace {

/// Texts of labels for people.
class LabelsForPeople {
 public:
  explicit LabelsForPeople(const ModelParts& model) : model_(model) {
    const RecordSelection* selection = model.records ? &model.records->selection : nullptr;
    if (selection != nullptr && selection->has_paths()) separator_ = &selection->separator;
  }

  /// The id where the label has no other name, and its last part where ids are paths.
  std::string name(LabelId label) const {
    if (!model_.label_names.empty() && !model_.label_names[label].empty()) {
      return model_.label_names[label];
    }
    const std::string& id = model_.labels.name(label);
    return separator_ == nullptr ? id : split_path(id, *separator_).back();
  }

  std::string path(LabelId label) const {
    if (separator_ != nullptr && model_.label_names.empty()) return model_.labels.name(label);
    std::vector<std::string> names{name(label)};
    while (!model_.hierarchy.parents(label).empty()) {
      label = model_.hierarchy.parents(label).front();
      names.push_back(name(label));
    }
    std::reverse(names.begin(), names.end());
    return join_path(names, separator_ == nullptr ? " > " : std::string_view(*separator_));
  }

 private:
  const ModelParts& model_;
  const std::string* separator_ = nullptr;  // of the parts of ids; null: these are no paths
};

}  // namespace

LabelTexts label_texts(const ModelParts& model, std::string_view show) {
  LabelTexts texts;
  const RecordSelection* selection = model.records ? &model.records->selection : nullptr;
  const LabelsForPeople labels(model);
  for (LabelId label = 0; label < model.labels.size(); ++label) {
    if (show == "name") {
      texts.names.push_back(labels.name(label));
    } else if (show == "path") {
      texts.names.push_back(labels.path(label));
    } else {
      texts.names.push_back(model.labels.name(label));
    }
  }
  if (!show.empty() && show != "id" && !model.label_names.empty()) {
    texts.between.assign(1, '\t');
    texts.between_scores.assign(1, '\t');  // names have blanks and commas
  }
  const auto any_has = [&](char c) {
    return std::ranges::any_of(
        texts.names, [&](const std::string& name) { return name.find(c) != std::string::npos; });
  };
  if (any_has(',')) texts.between.assign(1, '\t');
  if (any_has(' ')) texts.between_scores.assign(1, '\t');
  if (selection != nullptr) {
    texts.between = selection->label_separator.empty() ? "\t" : selection->label_separator;
    texts.between_scores.assign(1, '\t');
  }
  return texts;
}

}  // namespace margrove
