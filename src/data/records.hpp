#pragma once
// Records: rows with named fields, as CSV, TSV and JSON lines have them. A selection says which
// fields are features and which are labels.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "margrove/dataset.hpp"

namespace margrove {

/// The fields of a record that are features and labels. Plain data, kept in models.
struct RecordSelection {
  std::vector<std::string> text = {};         // joined to one document, a line per field
  std::vector<std::string> numeric = {};      // one feature per field
  std::vector<std::string> categorical = {};  // one feature per value seen in training
  std::string label = {};                     // empty: paths, if they are selected, are the labels
  std::string label_separator = {};           // between the labels of one field; empty: one label
  std::vector<std::string> path_levels = {};  // one field per level, from the root down
  std::string path = {};                      // one field, levels between separators
  std::string separator = " > ";              // also joins the names of a path to its id

  bool has_features() const { return !text.empty() || !numeric.empty() || !categorical.empty(); }
  bool has_paths() const { return !path_levels.empty() || !path.empty(); }
  bool has_labels() const { return !label.empty() || has_paths(); }
  /// Throws InvalidOption unless some field is a feature, at most one kind of label is selected,
  /// and the path separator is usable.
  void check() const;
  bool operator==(const RecordSelection&) const = default;
};

/// What the names of a selection's features with `*` may stand for, where they are patterns.
struct ColumnPatterns {
  std::vector<std::string> ignored = {};  // columns, or patterns, that no pattern takes
};

/// A field whose values are names; `ids` has one per row.
struct CategoricalField {
  static constexpr std::uint32_t kMissing = ~std::uint32_t{0};
  LabelCodec values;
  std::vector<std::uint32_t> ids;
};

/// The features of records as read.
struct RecordFields {
  std::vector<std::string> documents;       // one per row; none if no text is selected
  std::vector<std::vector<float>> numeric;  // of each field one per row; NaN where it is missing
  std::vector<CategoricalField> categorical;
};
RecordFields select_rows(const RecordFields& fields, std::span<const std::uint32_t> rows);

/// What a file of records holds.
struct RecordDataset {
  RecordSelection selection;
  RecordFields fields;
  LabelSets labels;
  LabelCodec codec;                    // of paths: the ids of all nodes
  std::optional<Hierarchy> hierarchy;  // of paths
};

}  // namespace margrove
