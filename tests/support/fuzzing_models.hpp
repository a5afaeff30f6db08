#pragma once
// What fuzz targets of models share.

#include "fuzzing.hpp"
#include "io/model_file.hpp"

namespace margrove::testing {

/// Predicts with a model that was read, which must work.
inline void use(const ModelParts& model) {
  const auto* rows = dynamic_cast<const RowPredictor*>(model.predictor.get());
  if (rows == nullptr) return;
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{1, -2});
  X.append_row({}, {});
  Executor executor(1);
  const LabelSets sets = rows->predict(X, executor);
  check(sets.num_rows() == X.num_rows(), "every row has a label set");
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) {
      check(label < model.labels.size(), "labels are those of the codec");
      rows->explain(X.row(i), label, 2);
    }
  }
  check(!serialize_model(model).empty(), "a model can be written again");
}

/// read() must return a model, or throw a ModelFileError that names the file.
template <class Read>
void expect_model_or_named_error(const Read& read) {
  try {
    use(read());
  } catch (const ModelFileError& error) {
    check(std::string_view(error.what()).starts_with("f:"), "an error names its file");
  }
}

}  // namespace margrove::testing
