#include "data/record_features.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/work_meter.hpp"
#include "data/text_views.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

RecordFeatures::Numeric fit_numbers(const std::vector<float>& values, WorkMeter& meter) {
  meter.add(values.size());
  double sum = 0;
  std::size_t count = 0;
  for (const float value : values) {
    if (std::isnan(value)) continue;
    sum += static_cast<double>(value);
    ++count;
  }
  return {count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0.0F,
          count < values.size()};
}

/// The values that occur in rows; the codec of the field may have more.
std::vector<std::string> fit_values(const CategoricalField& field, WorkMeter& meter) {
  std::vector<bool> used(field.values.size());
  for (const std::uint32_t id : field.ids) {
    if (id != CategoricalField::kMissing) used[id] = true;
  }
  std::vector<std::string> values;
  for (LabelId id = 0; id < used.size(); ++id) {
    meter.add();
    if (used[id]) values.push_back(field.values.name(id));
  }
  sort_metered(values, std::less(), meter);
  return values;
}

/// The place in `values` of each value of a field.
std::vector<std::optional<FeatureId>> places(const CategoricalField& field,
                                             const std::vector<std::string>& values,
                                             WorkMeter& meter) {
  std::vector<std::optional<FeatureId>> found(field.values.size());
  for (LabelId id = 0; id < found.size(); ++id) {
    meter.add();
    const auto at = std::lower_bound(values.begin(), values.end(), field.values.name(id));
    if (at != values.end() && *at == field.values.name(id)) {
      found[id] = static_cast<FeatureId>(at - values.begin());
    }
  }
  return found;
}

std::size_t num_rows(std::span<const std::string_view> documents, const RecordFields& fields) {
  if (!documents.empty()) return documents.size();
  return !fields.numeric.empty()       ? fields.numeric.front().size()
         : !fields.categorical.empty() ? fields.categorical.front().ids.size()
         : !fields.vectors.empty()     ? fields.vectors.size() / fields.vector_width()
                                       : 0;
}

void check_vectors(std::size_t num_rows, const RecordFields& fields,
                   const RecordSelection& selection) {
  const std::size_t given = fields.vector_widths.size(), width = fields.vector_width();
  require(given == selection.vectors.size(), "the records have ", given,
          " columns of vectors, but must have ", selection.vectors.size());
  require((width > 0 || num_rows == 0) && fields.vectors.size() == num_rows * width,
          "the records have ", fields.vectors.size(), " numbers of vectors, but must have ",
          num_rows, " times ", width);
}

/// Throws InvalidInput unless there is a field for each column of the selection, and a value for
/// each row.
void check_fields(std::span<const std::string_view> documents, const RecordFields& fields,
                  const RecordSelection& selection) {
  require(fields.numeric.size() == selection.numeric.size() &&
              fields.categorical.size() == selection.categorical.size() &&
              (documents.empty() || !selection.text.empty()),
          "the records have ", documents.empty() ? "no texts, " : "texts, ", fields.numeric.size(),
          " numeric and ", fields.categorical.size(), " categorical fields, but must have ",
          selection.text.empty() ? "no texts, " : "texts, ", selection.numeric.size(), " and ",
          selection.categorical.size());
  const std::size_t n = num_rows(documents, fields);
  const auto require_rows = [n](std::string_view name, std::size_t found) {
    require(found == n, "the records have ", found, " values of column '", name,
            "', but must have ", n, " as they have rows");
  };
  if (!selection.text.empty()) require_rows(selection.text.front(), documents.size());
  if (!selection.vectors.empty()) check_vectors(n, fields, selection);
  for (std::size_t f = 0; f < fields.numeric.size(); ++f) {
    require_rows(selection.numeric[f], fields.numeric[f].size());
  }
  for (std::size_t f = 0; f < fields.categorical.size(); ++f) {
    const CategoricalField& field = fields.categorical[f];
    require_rows(selection.categorical[f], field.ids.size());
    for (const std::uint32_t id : field.ids) {
      require(id < field.values.size() || id == CategoricalField::kMissing, "column '",
              selection.categorical[f], "' has the id ", id, " of a value, but only ",
              field.values.size(), " values");
    }
  }
}

}  // namespace

RecordFeatures RecordFeatures::fit(const RecordFields& fields, RecordSelection selection,
                                   const TfidfOptions& options) {
  return fit_and_apply_records(views_of(fields.documents), fields, std::move(selection), options)
      .fitted;
}

CsrMatrix RecordFeatures::apply(const RecordFields& fields) const {
  return apply_records(*this, views_of(fields.documents), fields);
}

namespace {

/// The rows of records, whose texts have the terms `words`.
CsrMatrix record_rows(const RecordFeatures& fitted, const CsrMatrix& words, std::size_t num_rows,
                      const RecordFields& fields, RunControl* control) {
  const bool has_text = !fitted.selection.text.empty();
  const auto& [numeric, categorical] = std::tie(fitted.numeric, fitted.categorical);
  WorkMeter meter(control);
  std::vector<std::vector<std::optional<FeatureId>>> value_places;
  for (std::size_t f = 0; f < categorical.size(); ++f) {
    value_places.push_back(places(fields.categorical[f], categorical[f], meter));
  }
  const RecordFeatures::Range numbers = fitted.numeric_columns();
  CsrMatrix X(fitted.num_columns() - fitted.vector_width());
  std::vector<FeatureId> columns;
  std::vector<float> values;
  const auto add = [&](FeatureId column, float value) {
    if (value == 0) return;
    columns.push_back(column);
    values.push_back(value);
  };
  for (std::size_t i = 0; i < num_rows; ++i) {
    columns.clear();
    values.clear();
    if (has_text) {
      const SparseRow row = words.row(i);
      columns.assign(row.columns.begin(), row.columns.end());
      values.assign(row.values.begin(), row.values.end());
    }
    meter.add(columns.size() + numeric.size() + categorical.size());
    for (std::size_t f = 0; f < numeric.size(); ++f) {
      const float value = fields.numeric[f][i];
      add(numbers.begin + static_cast<FeatureId>(f), std::isnan(value) ? numeric[f].mean : value);
    }
    FeatureId column = numbers.end;
    for (std::size_t f = 0; f < numeric.size(); ++f) {
      if (numeric[f].may_be_missing) add(column++, std::isnan(fields.numeric[f][i]) ? 1.0F : 0.0F);
    }
    for (std::size_t f = 0; f < categorical.size(); ++f) {
      const std::uint32_t id = fields.categorical[f].ids[i];
      if (id != CategoricalField::kMissing && value_places[f][id]) {
        add(column + *value_places[f][id], 1.0F);
      }
      column += static_cast<FeatureId>(categorical[f].size());
    }
    X.append_row(columns, values);
  }
  return X;
}

/// X with the vectors of records, or of their texts, as its last columns.
CsrMatrix with_block(CsrMatrix X, const RecordFeatures& fitted,
                     std::span<const std::string_view> documents, const RecordFields& fields,
                     RunControl* control) {
  if (fitted.vector_widths.empty()) {
    return with_vectors(std::move(X), fitted.text, documents, control);
  }
  const RecordSelection& selection = fitted.selection;
  const double share = fitted.vector_share;
  const std::size_t num_others = selection.numeric.size() + selection.categorical.size();
  VectorBlock block{fitted.text.idf.size(), fitted.vector_width(), 1, 1};
  if (!selection.text.empty()) {
    block.norm = std::sqrt(share);
    block.term_scale = std::sqrt(1 - share);
  } else if (num_others > 0) {
    block.norm = std::sqrt(share / (1 - share) * static_cast<double>(num_others));
  }
  WorkMeter meter(control);
  CsrMatrix joined(fitted.num_columns());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    meter.add(block.width);
    append_with_vectors(X, i, std::span(fields.vectors).subspan(i * block.width, block.width),
                        block, joined);
  }
  return joined;
}

void require_one_vector(const RecordSelection& selection, const TfidfOptions& options) {
  if (selection.vectors.empty()) return;
  require<InvalidOption>(options.vectors == "none" && options.encoder == nullptr,
                         "options vectors and vector_columns are both given, but a row has one "
                         "vector");
  require<InvalidOption>(options.vector_share > 0 && options.vector_share < 1,
                         "option vector_share is ", options.vector_share,
                         ", but must be in (0, 1)");
}

}  // namespace

FittedRecords fit_and_apply_records(std::span<const std::string_view> documents,
                                    const RecordFields& fields, RecordSelection selection,
                                    const TfidfOptions& options, RunControl* control) {
  require_one_vector(selection, options);
  check_fields(documents, fields, selection);
  FittedRecords both;
  RecordFeatures& fitted = both.fitted;
  CsrMatrix words;
  if (!selection.text.empty()) {
    const bool is_all =
        fields.numeric.empty() && fields.categorical.empty() && fields.vectors.empty();
    FittedTexts texts = fit_and_weigh_terms(documents, options, /*needs_terms=*/is_all, control);
    fitted.text = std::move(texts.fitted);
    if (!is_all) fitted.text.num_rows_without_terms = 0;
    words = std::move(texts.X);
  }
  WorkMeter meter(control);
  for (const std::vector<float>& values : fields.numeric) {
    fitted.numeric.push_back(fit_numbers(values, meter));
  }
  for (const CategoricalField& field : fields.categorical) {
    fitted.categorical.push_back(fit_values(field, meter));
  }
  if (!selection.vectors.empty()) {
    fitted.vector_widths = fields.vector_widths;
    fitted.vector_share = options.vector_share;
  }
  fitted.selection = std::move(selection);
  both.X = with_block(record_rows(fitted, words, num_rows(documents, fields), fields, control),
                      fitted, documents, fields, control);
  return both;
}

CsrMatrix apply_records(const RecordFeatures& fitted, std::span<const std::string_view> documents,
                        const RecordFields& fields, RunControl* control) {
  check_fields(documents, fields, fitted.selection);
  for (std::size_t v = 0; v < fitted.vector_widths.size(); ++v) {
    const std::uint32_t width = fields.vector_widths[v];
    require(width == fitted.vector_widths[v] || fields.vectors.empty(), "column '",
            fitted.selection.vectors[v], "' has ", width, width == 1 ? " number" : " numbers",
            ", but must have ", fitted.vector_widths[v], " as in training");
  }
  const bool has_text = !fitted.selection.text.empty();
  const CsrMatrix words = has_text ? weigh_terms(fitted.text, documents, control) : CsrMatrix();
  return with_block(record_rows(fitted, words, num_rows(documents, fields), fields, control),
                    fitted, documents, fields, control);
}

RecordFeatures::Range RecordFeatures::numeric_columns() const {
  const auto begin = static_cast<FeatureId>(text.idf.size());
  return {begin, begin + static_cast<FeatureId>(numeric.size())};
}

std::uint32_t RecordFeatures::num_columns() const {
  std::size_t count = numeric_columns().end;
  for (const Numeric& each : numeric) count += each.may_be_missing ? 1U : 0U;
  for (const std::vector<std::string>& values : categorical) count += values.size();
  count += vector_width();
  return static_cast<std::uint32_t>(count);
}

std::uint32_t RecordFeatures::vector_width() const {
  return std::accumulate(vector_widths.begin(), vector_widths.end(), text.vectors.width());
}

std::string RecordFeatures::vector_name() const {
  const std::vector<std::string>& names = selection.vectors;
  if (names.empty()) return text.vectors.facts.name;
  constexpr std::size_t kAll = 2;
  return names.size() <= kAll ? detail::join(names, ", ")
                              : concat(names.front(), ", ..., ", names.back());
}

std::string RecordFeatures::column_name(FeatureId column) const {
  const Range numbers = numeric_columns();
  if (column < numbers.begin) return text.term_name(column);
  if (column < numbers.end) return selection.numeric[column - numbers.begin];
  FeatureId first = numbers.end;
  for (std::size_t f = 0; f < numeric.size(); ++f) {
    if (!numeric[f].may_be_missing) continue;
    if (column == first++) return selection.numeric[f] + " is missing";
  }
  for (std::size_t f = 0; f < categorical.size(); ++f) {
    if (column - first < categorical[f].size()) {
      return concat(selection.categorical[f], " = ", categorical[f][column - first]);
    }
    first += static_cast<FeatureId>(categorical[f].size());
  }
  if (column - first < text.vectors.width()) {
    return text.term_name(column - first + static_cast<FeatureId>(text.idf.size()));
  }
  for (std::size_t v = 0; v < vector_widths.size(); ++v) {
    const std::string& name = selection.vectors[v];
    if (column - first < vector_widths[v]) {
      return vector_widths[v] == 1 ? name : concat("number ", column - first + 1, " of ", name);
    }
    first += vector_widths[v];
  }
  return concat("feature ", column + 1);
}

void RecordFeatures::check() const {
  selection.check();
  text.check();
  const bool has_words = text.kind == Preprocessing::Kind::text_tfidf;
  require(
      has_words == !selection.text.empty() && (has_words || text.kind == Preprocessing::Kind::none),
      "records: ", selection.text.size(), " fields are text, which does not fit the vocabulary");
  require(numeric.size() == selection.numeric.size() &&
              categorical.size() == selection.categorical.size(),
          "records: ", numeric.size(), " means and ", categorical.size(),
          " lists of values do not fit the selected fields");
  constexpr std::uint64_t kWidest = std::uint64_t{1} << 30U;
  require(
      vector_widths.size() == selection.vectors.size() &&
          std::ranges::count(vector_widths, 0U) == 0 &&
          std::accumulate(vector_widths.begin(), vector_widths.end(), std::uint64_t{0}) <= kWidest,
      "records: ", vector_widths.size(), " lengths of vectors do not fit the selected fields");
  require(
      vector_widths.empty() || (vector_share > 0 && vector_share < 1 && text.vectors.width() == 0),
      "records: vectors of columns have the share ", vector_share,
      ", but must be in (0, 1), without vectors of texts");
  for (const Numeric& each : numeric) {
    require(std::isfinite(each.mean), "records: a mean is ", each.mean,
            ", but must be a finite number");
  }
  for (const std::vector<std::string>& values : categorical) {
    require(
        std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end(),
        "records: the values of a field do not ascend");
  }
}

}  // namespace margrove
