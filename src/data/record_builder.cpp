#include "data/record_builder.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "data/float_parser.hpp"
#include "data/path_ids.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"

namespace margrove {
namespace {
using Role = RecordField::Role;

/// How programs write a value that is missing, beside an empty cell.
constexpr std::array<std::string_view, 6> kMissing{"NA", "NaN", "nan", "null", "<NA>", "NaT"};

/// `text` is trimmed.
bool is_missing(std::string_view text) {
  return text.empty() || std::ranges::find(kMissing, text) != kMissing.end();
}

std::vector<RecordField> fields_of(const RecordSelection& selection, const RecordSelection& given,
                                   bool labels_optional) {
  std::vector<RecordField> fields;
  const auto add = [&](const std::vector<std::string>& names, Role role, bool is_optional) {
    for (const std::string& name : names) fields.push_back({name, role, is_optional});
  };
  add(selection.text, Role::text, false);
  add(selection.numeric, Role::numeric, false);
  add(selection.vectors, Role::vector, false);
  std::set<std::string> named(given.numeric.begin(), given.numeric.end());
  named.insert(given.vectors.begin(), given.vectors.end());
  for (RecordField& field : fields) {
    field.is_of_pattern = field.role != Role::text && !named.contains(field.name);
  }
  add(selection.categorical, Role::categorical, false);
  if (!selection.label.empty()) add({selection.label}, Role::label, labels_optional);
  if (!selection.path.empty()) add({selection.path}, Role::path, labels_optional);
  add(selection.path_levels, Role::path_level, labels_optional);
  return fields;
}

}  // namespace

std::string cell_label_fault(std::string_view name) {
  std::string fault = detail::name_fault(name);
  if (!fault.empty()) return fault;
  if (is_missing(name)) {
    return concat("is ", detail::quoted(name), ", but must not be a text for missing labels");
  }
  const std::string_view read = detail::without_brackets(detail::trimmed(name));
  if (read == name) return {};
  return concat("is ", detail::quoted(name), ", but would be read as ", detail::quoted(read));
}

RecordBuilder::RecordBuilder(std::string source, const ReadOptions& options,
                             const RecordSelection& selection)
    : source_(std::move(source)),
      options_(options),
      fields_(fields_of(selection, *options.selection, options.labels_optional)) {
  data_.kind = RowKind::records;
  data_.selection = selection;
  data_.fields.numeric.resize(data_.selection.numeric.size());
  data_.fields.categorical.resize(data_.selection.categorical.size());
  data_.fields.vector_widths.assign(options.vector_widths.begin(), options.vector_widths.end());
  data_.fields.vector_widths.resize(data_.selection.vectors.size(), 0);
  if (data_.selection.has_paths()) {
    data_.hierarchy.emplace().source = source_;
  } else if (options.codec != nullptr) {
    data_.codec = *options.codec;
  }
}

void RecordBuilder::add(std::span<const RecordValue> record, TextPlace place) {
  if (meter_ != nullptr) meter_->add(fields_.size());
  std::size_t numeric = 0, categorical = 0, vectors = 0;
  row_labels_.clear();
  path_.clear();
  gap_ = nullptr;
  std::string document;
  TextPlace last;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const RecordField& field = fields_[f];
    const RecordValue& value = record[f];
    if (field.role == Role::text) {
      add_text(field, value, document);
    } else if (field.role == Role::numeric) {
      std::vector<float>& column = data_.fields.numeric[numeric++];
      // All columns grow in the same row, by as much again.
      if (meter_ != nullptr && column.size() == column.capacity()) meter_->add(column.size());
      column.push_back(number(field, value));
    } else if (field.role == Role::vector) {
      add_vector(field, value, place, data_.fields.vector_widths[vectors++]);
    } else if (field.role == Role::categorical) {
      CategoricalField& column = data_.fields.categorical[categorical++];
      column.ids.push_back(category(field, value, column.values));
    } else if (field.role == Role::label) {
      add_labels(field, value);
    } else if (field.role == Role::path) {
      add_paths(field, value);
    } else {
      add_level(field, value);
      if (!value.items.empty()) last = value.items.back().place;
    }
  }
  if (!data_.selection.path_levels.empty()) close_path(last);
  if (!data_.selection.text.empty()) data_.fields.documents.push_back(std::move(document));
  data_.labels.append(row_labels_);
}

Examples RecordBuilder::finish() {
  if (data_.hierarchy) data_.hierarchy->codec = data_.codec;
  return std::move(data_);
}

void RecordBuilder::require_utf8(const RecordField& field, const RecordValue::Item& item) const {
  const std::size_t fault = std::min(item.text.find('\0'), find_invalid_utf8(item.text));
  if (fault == std::string_view::npos) return;
  fail(item.place, "column '", field.name, "' has the byte ",
       detail::quoted(item.text.substr(fault, 1)), ", but must be UTF-8 text without NUL");
}

/// The only value; null if there is none.
const RecordValue::Item* RecordBuilder::single(const RecordField& field,
                                               const RecordValue& value) const {
  if (value.items.size() > 1) {
    fail(value.items[1].place, "column '", field.name, "' is a list of ", value.items.size(),
         " values, but must be one value");
  }
  return value.items.empty() ? nullptr : value.items.data();
}

// Features ----------------------------------------------------------------------------------------

void RecordBuilder::add_text(const RecordField& field, const RecordValue& value,
                             std::string& document) const {
  for (const RecordValue::Item& item : value.items) {
    require_utf8(field, item);
    if (!document.empty()) document += '\n';
    document += item.text;
  }
}

float RecordBuilder::number(const RecordField& field, const RecordValue& value) const {
  const RecordValue::Item* item = single(field, value);
  const std::string_view text = item == nullptr ? std::string_view() : detail::trimmed(item->text);
  if (is_missing(text) || text == "?") {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const auto [number, fault] = detail::parse_float(text);
  if (fault != detail::FloatFault::none) {
    fail(item->place, "column '", field.name, "' is ", detail::quoted(text),
         fault == detail::FloatFault::too_large
             ? ", but must fit a 32-bit float"
             : ", but must be a number, or empty where it is missing",
         field.is_of_pattern ? "; option ignore_columns keeps a column out of patterns" : "");
  }
  return number;
}

/// Adds the numbers of a column of vectors. A column has as many in each row.
void RecordBuilder::add_vector(const RecordField& field, const RecordValue& value, TextPlace place,
                               std::uint32_t& width) {
  constexpr std::string_view kNoGaps = ", but must be a finite number; vectors have no gaps";
  const std::string_view hint =
      field.is_of_pattern ? "; option ignore_columns keeps a column out of patterns" : "";
  const std::size_t size = value.items.size();
  if (size == 0) {
    fail(place, "column '", field.name, "' has no number, but must have one or a list of them; ",
         "vectors have no gaps", vector_hint());
  }
  std::vector<float>& numbers = data_.fields.vectors;
  if (meter_ != nullptr) {
    meter_->add(numbers.size() + size > numbers.capacity() ? numbers.size() + size : size);
  }
  for (const RecordValue::Item& item : value.items) {
    const std::string_view text = detail::trimmed(item.text);
    const auto [number, fault] = detail::parse_float(text);
    if (fault != detail::FloatFault::none) {
      fail(item.place, "column '", field.name, "' is ", detail::quoted(text),
           fault == detail::FloatFault::too_large ? ", but must fit a 32-bit float" : kNoGaps,
           hint);
    }
    numbers.push_back(number);
  }
  if (width == 0) width = static_cast<std::uint32_t>(size);
  if (size != width) {
    fail(value.items.front().place, "column '", field.name, "' has ", size,
         size == 1 ? " number" : " numbers", ", but must have ", width, " as in ",
         options_.vector_widths.empty() ? "the first row" : "training");
  }
}

std::uint32_t RecordBuilder::category(const RecordField& field, const RecordValue& value,
                                      LabelCodec& values) const {
  const RecordValue::Item* item = single(field, value);
  if (item == nullptr || detail::trimmed(item->text).empty()) return CategoricalField::kMissing;
  require_utf8(field, *item);
  return values.add(detail::trimmed(item->text));
}

// Labels ------------------------------------------------------------------------------------------

void RecordBuilder::add_labels(const RecordField& field, const RecordValue& value) {
  const std::string& separator = data_.selection.label_separator;
  for (const RecordValue::Item& item : value.items) {
    if (is_missing(detail::trimmed(item.text))) continue;  // a row without labels
    if (value.is_list) {
      add_label(field, item);
      continue;
    }
    std::string_view rest = item.text;
    for (;;) {
      const std::size_t end = separator.empty() ? std::string_view::npos : rest.find(separator);
      add_label(field, {rest.substr(0, end), item.place});
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + separator.size());
    }
  }
}

void RecordBuilder::add_label(const RecordField& field, const RecordValue::Item& item) {
  if (meter_ != nullptr) meter_->add();
  const std::string_view name = detail::without_brackets(detail::trimmed(item.text));
  if (const auto known = data_.codec.find(name)) {
    row_labels_.push_back(*known);
    return;
  }
  const std::string fault = detail::name_fault(name);
  if (!fault.empty()) fail(item.place, "label in column '", field.name, "' ", fault);
  if (options_.known_labels_only) {
    detail::refuse_unknown_label(concat(source_, ":", item.place.line, ":", item.place.column),
                                 name, data_.codec);
  }
  row_labels_.push_back(data_.codec.add(name));
}

// Paths -------------------------------------------------------------------------------------------

void RecordBuilder::add_paths(const RecordField& field, const RecordValue& value) {
  if (value.is_list) {
    for (const RecordValue::Item& item : value.items) {
      append_name(field, detail::trimmed(item.text), item.place);
    }
    if (!value.items.empty()) close_path(value.items.front().place);
    return;
  }
  const RecordValue::Item* item = single(field, value);
  if (item == nullptr || is_missing(detail::trimmed(item->text))) return;
  const std::string& separator = data_.selection.label_separator;
  std::string_view rest = item->text;
  for (;;) {
    const std::size_t end = separator.empty() ? std::string_view::npos : rest.find(separator);
    add_path(field, rest.substr(0, end), item->place);
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + separator.size());
  }
}

void RecordBuilder::add_path(const RecordField& field, std::string_view text, TextPlace place) {
  for (const std::string& name : split_path(detail::trimmed(text), data_.selection.separator)) {
    append_name(field, name, place);
  }
  close_path(place);
}

/// Adds one level of a path whose levels are columns. Columns below the path's end are empty.
void RecordBuilder::add_level(const RecordField& field, const RecordValue& value) {
  const RecordValue::Item* item = single(field, value);
  const std::string_view name = item == nullptr ? std::string_view() : detail::trimmed(item->text);
  if (is_missing(name)) {
    if (gap_ == nullptr) gap_ = &field;
    return;
  }
  if (gap_ != nullptr) {
    fail(item->place, "column '", field.name, "' is ", detail::quoted(name), ", but column '",
         gap_->name, "', the level above it, is empty");
  }
  append_name(field, name, item->place);
}

void RecordBuilder::append_name(const RecordField& field, std::string_view name, TextPlace place) {
  if (meter_ != nullptr) meter_->add();
  const std::string fault = detail::name_fault(name);
  if (!fault.empty()) fail(place, "a name of the path in column '", field.name, "' ", fault);
  path_.emplace_back(name);
}

/// Adds the nodes of the row's path, and the last one to the row's labels.
void RecordBuilder::close_path(TextPlace place) {
  if (path_.empty()) return;
  const std::string& separator = data_.selection.separator;
  std::string id = join_path(std::span(path_).first(1), separator);
  LabelId parent = data_.codec.add(id);
  for (const std::string& name : std::span(path_).subspan(1)) {
    id += separator;
    id += join_path({&name, 1}, separator);
    if (id.size() > detail::kMaxLabelBytes) {  // each level has the names of all above it
      fail(place, "the path ", detail::quoted(id), " of ", path_.size(), " names has more than ",
           detail::kMaxLabelBytes, " bytes with its separators, but must have at most as many");
    }
    const std::size_t known = data_.codec.size();
    const LabelId child = data_.codec.add(id);
    if (child == known) {
      if (meter_ != nullptr) meter_->add(id.size());
      data_.hierarchy->edges.push_back({parent, child});
      data_.hierarchy->lines.push_back(place.line);
    }
    parent = child;
  }
  row_labels_.push_back(parent);
  path_.clear();
}

}  // namespace margrove
