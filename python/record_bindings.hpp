#pragma once
// Rows with named columns.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "data/records.hpp"
#include "margrove/tfidf.hpp"
#include "model/model.hpp"
#include "text_argument.hpp"

namespace margrove::python {

using Names = std::vector<std::string>;
/// Of a RecordSelection: text, numeric, categorical; label, path_levels, path, separator; vectors.
using Selection =
    std::tuple<Names, Names, Names, std::string, Names, std::string, std::string, Names>;
RecordSelection selection_of(const Selection& python);

/// Options of terms, with names and values.
using TextOptions = std::vector<std::pair<std::string, std::string>>;
TfidfOptions tfidf_options_of(const TextOptions& values, const Names& stop_words);

/// Vectors of texts are made by the interpreter that runs, not by one of the PATH.
void use_this_interpreter(Preprocessing::Vectors& vectors);

/// The fields of rows that are features.
class Records {
 public:
  /// `documents`: see TextArgument; empty if no field is text. `numeric` has a row per field and
  /// NaN where a number is missing; `categorical` has a list per field, with None where a value is
  /// missing; `vectors` has a row per row and, for each field in turn, as many columns as its
  /// width.
  Records(const nb::object& documents, const Matrix<float>& numeric,
          const std::vector<std::vector<std::optional<std::string>>>& categorical,
          const Matrix<float>& vectors, std::vector<std::uint32_t> vector_widths);

  std::span<const std::string_view> documents() const { return documents_.views(); }
  std::size_t num_rows() const { return num_rows_; }
  /// Numbers and categories; the documents are not copied into it.
  const RecordFields& fields() const { return fields_; }
  Rows rows() const { return {fields_, documents()}; }

 private:
  std::size_t num_rows_;
  TextArgument documents_;
  RecordFields fields_;
};

/// The selected fields of a model for rows with named columns.
std::optional<Selection> record_selection(const ModelParts& model);

void bind_records(nb::module_& m);

}  // namespace margrove::python
