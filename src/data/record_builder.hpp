#pragma once
// Readers of records find the values of the selected fields. RecordBuilder checks them and makes
// rows of them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/work_meter.hpp"
#include "data/records.hpp"
#include "data/row_formats.hpp"
#include "margrove/errors.hpp"

namespace margrove {

/// Line and byte column in the decompressed text, from 1.
struct TextPlace {
  std::int64_t line = 0;
  std::int64_t column = 0;
};

/// A selected field.
struct RecordField {
  enum class Role : std::uint8_t { text, numeric, categorical, vector, label, path, path_level };
  std::string name;
  Role role;
  bool is_optional;  // a file may lack it
  bool is_of_pattern = false;
};

/// Why the readers of records would not give a label back from a cell with its text ("is ' a',
/// but ..."); empty if they do.
std::string cell_label_fault(std::string_view name);

/// The values of a field in one record.
struct RecordValue {
  struct Item {
    std::string_view text;
    TextPlace place;
  };
  std::vector<Item> items;  // empty: the record lacks the field
  bool is_list = false;     // whether it is a list of JSON
};

class RecordBuilder {
 public:
  /// options.selection must not be null.
  RecordBuilder(std::string source, const ReadOptions& options)
      : RecordBuilder(std::move(source), options, *options.selection) {}
  /// `selection` is that of the options with columns instead of patterns.
  RecordBuilder(std::string source, const ReadOptions& options, const RecordSelection& selection);

  /// Fields, labels, names of paths and the bytes of new nodes are the work that `meter`, which
  /// must outlive the builder, counts.
  void count_with(WorkMeter& meter) { meter_ = &meter; }

  const std::vector<RecordField>& fields() const { return fields_; }
  /// One value per field; `place` is that of the record. Throws InvalidInput "file:line:column:
  /// ..." for a value that its field cannot have.
  void add(std::span<const RecordValue> record, TextPlace place);
  /// What messages about vectors that are missing end with.
  std::string_view vector_hint() const {
    return options_.may_need_vector_file ? "; option vector_file gives vectors of a file" : "";
  }
  std::size_t num_rows() const { return data_.labels.num_rows(); }
  Examples finish();

  template <class... Parts>
  [[noreturn]] void fail(TextPlace place, const Parts&... parts) const {
    throw InvalidInput(concat(source_, ":", place.line, ":", place.column, ": ", parts...));
  }

 private:
  void add_text(const RecordField& field, const RecordValue& value, std::string& document) const;
  float number(const RecordField& field, const RecordValue& value) const;
  std::uint32_t category(const RecordField& field, const RecordValue& value,
                         LabelCodec& values) const;
  void add_vector(const RecordField& field, const RecordValue& value, TextPlace place,
                  std::uint32_t& width);
  void add_labels(const RecordField& field, const RecordValue& value);
  void add_label(const RecordField& field, const RecordValue::Item& item);
  void add_paths(const RecordField& field, const RecordValue& value);
  void add_path(const RecordField& field, std::string_view text, TextPlace place);
  void add_level(const RecordField& field, const RecordValue& value);
  void append_name(const RecordField& field, std::string_view name, TextPlace place);
  void close_path(TextPlace place);
  void require_utf8(const RecordField& field, const RecordValue::Item& item) const;
  const RecordValue::Item* single(const RecordField& field, const RecordValue& value) const;

  std::string source_;
  WorkMeter* meter_ = nullptr;
  ReadOptions options_;
  std::vector<RecordField> fields_;
  Examples data_;
  std::vector<LabelId> row_labels_;
  std::vector<std::string> path_;     // of the row so far
  const RecordField* gap_ = nullptr;  // the first level without a name
};

}  // namespace margrove
