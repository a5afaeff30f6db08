#include "record_bindings.hpp"

#include <cstddef>
#include <utility>

#include "methods/training.hpp"

namespace margrove::python {

std::optional<std::tuple<Names, Names, Names>> record_columns(const ModelParts& model) {
  if (!model.records) return std::nullopt;
  const RecordSelection& selection = model.records->selection;
  return std::tuple{selection.text, selection.numeric, selection.categorical};
}

nb::object preprocess_records(
    const ModelParts& model, std::vector<std::string> documents, const Matrix<float>& numeric,
    const std::vector<std::vector<std::optional<std::string>>>& categorical) {
  RawRows raw;
  raw.kind = RowKind::records;
  raw.fields.documents = std::move(documents);
  const std::size_t num_rows = numeric.shape(1);
  for (std::size_t f = 0; f < numeric.shape(0); ++f) {
    const float* values = numeric.data() + f * num_rows;
    raw.fields.numeric.emplace_back(values, values + num_rows);
  }
  for (const auto& values : categorical) {
    CategoricalField& field = raw.fields.categorical.emplace_back();
    for (const std::optional<std::string>& value : values) {
      field.ids.push_back(value ? field.values.add(*value) : CategoricalField::kMissing);
    }
  }
  return to_python(preprocess(model, raw));
}

}  // namespace margrove::python
