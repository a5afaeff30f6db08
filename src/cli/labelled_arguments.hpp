#pragma once
// The arguments of verbs that measure a model on labelled rows: evaluate and report.

#include <string>
#include <vector>

#include "cli/annotation_arguments.hpp"
#include "cli/model_arguments.hpp"
#include "data/hierarchy_edges.hpp"
#include "eval/evaluated_rows.hpp"

namespace margrove::cli {

struct LabelledRowsRead {
  Examples raw;
  EvaluatedRows rows;
};

struct LabelledArguments {
  ModelArguments model;
  AnnotationArguments annotations;
  std::string hierarchy_path;
  HierarchyOptions read_hierarchy_options;

  /// Those of the model and its data, then those of the labels.
  void declare(CLI::App& app) {
    model.declare(app);
    declare_labels(app);
  }
  void declare_labels(CLI::App& app);
  /// The files that are read.
  std::vector<std::string> input_paths();
  /// The rows with their true and predicted labels. `train_path` may be empty: the rows that the
  /// model was trained on.
  LabelledRowsRead read(const ModelParts& parts, CommandControl& control, Executor& executor,
                        const std::string& train_path = {});
};

}  // namespace margrove::cli
