#include "record_bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "data/column_patterns.hpp"
#include "data/path_ids.hpp"
#include "data/text_views.hpp"
#include "methods/prepared_rows.hpp"
#include "methods/training.hpp"
#include "model/process_encoder.hpp"

namespace margrove::python {
namespace {

using namespace nb::literals;

/// The features that are fitted to records, and the numbers that they make of these.
nb::tuple fit_and_apply(const Records& records, const Selection& selection,
                        const TextOptions& options, const Names& stop_words) {
  const TfidfOptions terms = tfidf_options_of(options, stop_words);
  RecordSelection selected = selection_of(selection);
  selected.check();
  FittedRecords both = [&] {
    const nb::gil_scoped_release released;
    return fit_and_apply_records(records.documents(), records.fields(), std::move(selected), terms);
  }();
  nb::object X = to_python(both.X);
  return nb::make_tuple(std::move(both.fitted), std::move(X));
}

/// Those of a kernel model with this name, for the labels of the selection.
nb::tuple of_kernel_model(const ModelParts& model, const std::string& name, const Records& records,
                          const Selection& selection) {
  RecordFeatures features = record_features_of(model, name, selection_of(selection), "X");
  const CsrMatrix X = [&] {
    const nb::gil_scoped_release released;
    return preprocess_columns(model, records.rows());
  }();
  return nb::make_tuple(std::move(features), to_python(X));
}

/// The columns of text, numbers, categories and vectors, which may be patterns, of those of X.
std::tuple<Names, Names, Names, Names> expand(const Selection& selection, const Names& columns) {
  const RecordSelection found = expand_patterns(selection_of(selection), {}, columns, "X");
  return {found.text, found.numeric, found.categorical, found.vectors};
}

/// In the interpreter that runs this module.
EncoderProcess own_process() {
  const nb::object executable = nb::module_::import_("sys").attr("executable");
  return {.interpreter = nb::cast<std::string>(executable)};
}

}  // namespace

RecordSelection selection_of(const Selection& python) {
  RecordSelection selection;
  auto& s = selection;
  std::tie(s.text, s.numeric, s.categorical, s.label, s.path_levels, s.path, s.separator,
           s.vectors) = python;
  return selection;
}

TfidfOptions tfidf_options_of(const TextOptions& values, const Names& stop_words) {
  TfidfOptions options;
  OptionTable table(options);
  for (const auto& [name, value] : values) table.set(name, value);
  options.stop_words = stop_words;
  name_encoder(options, own_process());
  return options;
}

void use_this_interpreter(Preprocessing::Vectors& vectors) { name_encoder(vectors, own_process()); }

Records::Records(const nb::object& documents, const Matrix<float>& numeric,
                 const std::vector<std::vector<std::optional<std::string>>>& categorical,
                 const Matrix<float>& vectors, std::vector<std::uint32_t> vector_widths)
    : num_rows_(numeric.shape(1)), documents_(documents) {
  const std::size_t num_rows = num_rows_;
  require(documents_.views().empty() || documents_.views().size() == num_rows, "X: it has ",
          documents_.views().size(), " texts, but must have ", num_rows, " as it has rows");
  for (std::size_t f = 0; f < numeric.shape(0); ++f) {
    const float* values = numeric.data() + f * num_rows;
    fields_.numeric.emplace_back(values, values + num_rows);
  }
  for (const auto& values : categorical) {
    require(values.size() == num_rows, "X: a column of categories has ", values.size(),
            " rows, but must have ", num_rows);
    CategoricalField& field = fields_.categorical.emplace_back();
    for (const std::optional<std::string>& value : values) {
      field.ids.push_back(value ? field.values.add(*value) : CategoricalField::kMissing);
    }
  }
  fields_.vectors.assign(vectors.data(), vectors.data() + vectors.size());
  fields_.vector_widths = std::move(vector_widths);
}

std::optional<Selection> record_selection(const ModelParts& model) {
  if (!model.records) return std::nullopt;
  const RecordSelection& s = model.records->selection;
  return Selection{s.text,        s.numeric, s.categorical, s.label,
                   s.path_levels, s.path,    s.separator,   s.vectors};
}

void bind_records(nb::module_& m) {
  nb::class_<Records>(m, "Records")
      .def(nb::init<const nb::object&, const Matrix<float>&,
                    const std::vector<std::vector<std::optional<std::string>>>&,
                    const Matrix<float>&, std::vector<std::uint32_t>>(),
           "documents"_a, "numeric"_a.noconvert(), "categorical"_a, "vectors"_a.noconvert(),
           "vector_widths"_a);
  nb::class_<RecordFeatures>(m, "FittedRecords")
      .def_static("fit_and_apply", &fit_and_apply, "records"_a, "selection"_a, "text_options"_a,
                  "stop_words"_a)
      .def_static("of_kernel_model", &of_kernel_model, "model"_a, "name"_a, "records"_a,
                  "selection"_a)
      .def_prop_ro("num_rows_without_terms",
                   [](const RecordFeatures& fitted) { return fitted.text.num_rows_without_terms; });
  m.def("expand_columns", &expand, "selection"_a, "columns"_a);
  m.def("split_path", &split_path, "id"_a, "separator"_a);
}

}  // namespace margrove::python
