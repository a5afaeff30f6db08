#pragma once
// Functions that fuzz targets of models share.

#include <unistd.h>

#include <fstream>
#include <string>

#include "fuzzing.hpp"
#include "io/model_file.hpp"
#include "model/finite_scores.hpp"

namespace margrove::testing {

/// Predicts sentences with a model of them; their form may be another one than the model's.
inline void use_file(const FilePredictor& files) {
  static const std::string path = "sentences-" + std::to_string(::getpid());
  std::ofstream(path) << "w\tO\nv\tO\n\n1\tw\tw\tN\t_\t_\t0\tr\t_\t_\n\n";
  Executor executor(1);
  RunControl control;
  try {
    check(!files.predict_file(path, executor, control).empty(), "sentences get labels");
  } catch (const InvalidInput& error) {
    check(std::string_view(error.what()).starts_with(path), "an error names its file");
  }
}

/// Predicts and explains rows.
inline void use_rows(const ModelParts& model, const RowPredictor& rows) {
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{1, -2});
  X.append_row({}, {});
  Executor executor(1);
  const bool explains =
      model.predictor->linear() != nullptr || model.predictor->kernels() != nullptr;
  const LabelSets sets = rows.predict(X, executor);
  check(sets.num_rows() == X.num_rows(), "every row has a label set");
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) {
      check(label < model.labels.size(), "labels are those of the codec");
      if (explains) rows.explain(X.row(i), label, 2);
    }
  }
}

/// Predicts with a model that was read, which must work.
inline void use(const ModelParts& model) {
  if (const FilePredictor* files = model.predictor->files()) use_file(*files);
  try {
    if (const RowPredictor* rows = model.predictor->rows()) use_rows(model, *rows);
  } catch (const NonFiniteScores&) {  // of weights that are finite, but large
  } catch (const InvalidInput&) {
    check(model.predictor->kernels() != nullptr, "only kernels refuse numbers");
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
