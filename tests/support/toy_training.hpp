#pragma once
// Small problems that every method can learn, and a function that trains on them.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "methods/training.hpp"

namespace margrove::testing {

/// Two groups of two classes. The group decides the sign of feature 0, the class that of feature 1.
inline Examples grouped_rows(std::size_t num_rows, std::uint64_t seed) {
  Random random(seed);
  Examples raw;
  raw.source = "toy";
  raw.X = CsrMatrix(4);
  const std::vector<std::string> names{"a1", "a2", "b1", "b2"};
  for (const auto& name : names) raw.codec.add(name);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<LabelId>(random.below(4));
    const float group = label < 2 ? 1.0F : -1.0F, member = label % 2 == 0 ? 1.0F : -1.0F;
    const auto noise = [&] { return static_cast<float>(0.3 * random.normal()); };
    raw.X.append_row(std::vector<FeatureId>{0, 1, 2, 3},
                     std::vector<float>{group + noise(), member + noise(), noise(), noise()});
    raw.labels.append(std::vector<LabelId>{label});
  }
  return raw;
}

inline Hierarchy groups() {
  Hierarchy hierarchy;
  hierarchy.source = "groups.txt";
  const auto edge = [&](const char* parent, const char* child) {
    const LabelId p = hierarchy.codec.add(parent);
    hierarchy.edges.push_back({p, hierarchy.codec.add(child)});
  };
  edge("root", "a");
  edge("root", "b");
  edge("root", "c");  // without data, as is its child
  edge("c", "c1");
  edge("a", "a1");
  edge("a", "a2");
  edge("b", "b1");
  edge("b", "b2");
  return hierarchy;
}

/// Columns are not scaled, so that tests can compare weights.
inline ModelParts train(const std::string& name, const OptionValues& options, Examples raw,
                        const Hierarchy* hierarchy, int threads = 1) {
  const Method& method = find_method(name);
  const auto run = method.start();
  set_options(run->options(), options);
  PreprocessingOptions preprocessing;
  preprocessing.scale = ColumnScale::none;
  const PreparedRows prepared = prepare_rows(std::move(raw), hierarchy, preprocessing);
  Executor executor(threads);
  RunControl control;
  return train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                     control);
}

inline double accuracy(const ModelParts& model, const Examples& raw) {
  Executor executor(1);
  const LabelSets predicted = model.rows().predict(raw.X, executor);
  const TranslatedLabels truth = translate_labels(raw.labels, raw.codec, model.labels);
  double hits = 0;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    hits += std::ranges::equal(predicted[i], truth.labels[i]);
  }
  return hits / static_cast<double>(raw.num_rows());
}

/// A row has label l if it has feature l. If with_empty, a third of the rows have no label.
inline Examples multi_label_rows(std::size_t num_rows, bool with_empty) {
  Random random(11);
  Examples raw;
  raw.source = "toy";
  raw.X = CsrMatrix(3);
  for (const char* name : {"x", "y", "z"}) raw.codec.add(name);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<LabelId> set;
    for (FeatureId j = 0; j < 3; ++j) {
      if (random.below(2) == 0) continue;
      columns.push_back(j);
      set.push_back(j);
    }
    if (set.empty() && !with_empty) {
      columns = {0};
      set = {0};
    }
    raw.X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
    raw.labels.append(set);
  }
  return raw;
}

/// x and y below u, y and z below v.
inline Hierarchy overlapping_groups() {
  Hierarchy hierarchy;
  hierarchy.source = "dag.txt";
  const auto edge = [&](const char* parent, const char* child) {
    const LabelId p = hierarchy.codec.add(parent);
    hierarchy.edges.push_back({p, hierarchy.codec.add(child)});
  };
  edge("root", "u");
  edge("root", "v");
  edge("u", "x");
  edge("u", "y");
  edge("v", "y");
  edge("v", "z");
  return hierarchy;
}

}  // namespace margrove::testing
