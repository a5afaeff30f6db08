#include "model/label_texts.hpp"

#include <algorithm>

#include "data/path_ids.hpp"

namespace margrove {
namespace {

/// For people; the id where the label has no other name.
const std::string& name_of(const ModelParts& model, LabelId label) {
  const bool has_name = !model.label_names.empty() && !model.label_names[label].empty();
  return has_name ? model.label_names[label] : model.labels.name(label);
}

std::string path_of(const ModelParts& model, LabelId label) {
  std::vector<std::string> names{name_of(model, label)};
  while (!model.hierarchy.parents(label).empty()) {
    label = model.hierarchy.parents(label).front();
    names.push_back(name_of(model, label));
  }
  std::reverse(names.begin(), names.end());
  return join_path(names, " > ");
}

}  // namespace

LabelTexts label_texts(const ModelParts& model, std::string_view show) {
  LabelTexts texts;
  const RecordSelection* selection = model.records ? &model.records->selection : nullptr;
  const bool ids_are_paths = selection != nullptr && selection->has_paths();
  for (LabelId label = 0; label < model.labels.size(); ++label) {
    const std::string& id = model.labels.name(label);
    if (ids_are_paths && show == "name") {
      texts.names.push_back(split_path(id, selection->separator).back());
    } else if (!ids_are_paths && show == "path") {
      texts.names.push_back(path_of(model, label));
    } else if (show == "name") {
      texts.names.push_back(name_of(model, label));
    } else {
      texts.names.push_back(id);
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
