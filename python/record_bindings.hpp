#pragma once
// Rows with named columns, for models that take them.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "model/model.hpp"

namespace margrove::python {

using Names = std::vector<std::string>;

/// The names of the fields (text, numeric, categorical) of a model for rows with named columns.
std::optional<std::tuple<Names, Names, Names>> record_columns(const ModelParts& model);

/// The rows of numbers that the model makes of records.
/// `numeric` has a row per field and NaN where a number is missing; `categorical` has a list per
/// field, with None where a value is missing.
nb::object preprocess_records(
    const ModelParts& model, std::vector<std::string> documents, const Matrix<float>& numeric,
    const std::vector<std::vector<std::optional<std::string>>>& categorical);

}  // namespace margrove::python
