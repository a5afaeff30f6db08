// Any bytes give a model that can be used or an error that names the file.
#include <cmath>

#include "fuzzing.hpp"
#include "margrove/io/model_file.hpp"

namespace {

void use(const margrove::Model& model) {
  using namespace margrove;
  const auto* rows = dynamic_cast<const RowPredictor*>(model.predictor.get());
  if (rows == nullptr) return;
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 2}, std::vector<float>{1, -2});
  X.append_row({}, {});
  Executor executor(1);
  const LabelSets sets = rows->predict(X, executor);
  testing::check(sets.num_rows() == X.num_rows(), "every row has a label set");
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) {
      testing::check(label < model.labels.size(), "labels are those of the codec");
      rows->explain(X.row(i), label, 2);
    }
  }
  testing::check(!serialize_model(model).empty(), "a model can be written again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  try {
    use(parse_model(std::as_bytes(std::span(bytes, size)), "f"));
  } catch (const ModelFileError& error) {
    testing::check(std::string_view(error.what()).starts_with("f:"), "an error names its file");
  }
  return 0;
}
