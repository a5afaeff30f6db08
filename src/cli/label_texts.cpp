#include "cli/label_texts.hpp"

#include <algorithm>

#include "data/path_ids.hpp"

namespace margrove::cli {
namespace {

std::string path_of(const ModelParts& model, LabelId label) {
  std::vector<std::string> names{model.labels.name(label)};
  while (!model.hierarchy.parents(label).empty()) {
    label = model.hierarchy.parents(label).front();
    names.push_back(model.labels.name(label));
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
    } else {
      texts.names.push_back(id);
    }
  }
  if (selection != nullptr) {
    texts.between = selection->label_separator.empty() ? "\t" : selection->label_separator;
    texts.between_scores = "\t";
  }
  return texts;
}

}  // namespace margrove::cli
