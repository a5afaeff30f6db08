#pragma once
// The options that select columns of CSV, TSV and JSON lines.

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "data/records.hpp"
#include "data/row_formats.hpp"

namespace margrove::cli {

struct RecordOptions {
  std::string format = "auto", index_base = "auto";
  std::string text_column, text_weights, numeric_columns, categorical_columns, vector_columns;
  std::string ignore_columns;
  std::string label_column, id_column, label_separator;
  std::string path_columns, path_column, separator = " > ";
  static auto fields();
};

/// The table of RecordOptions.
std::vector<OptionInfo> record_option_infos();

/// The options that select columns.
class RecordArguments {
 public:
  void declare(CLI::App& app,
               const std::string& group = "Columns of CSV, TSV and JSON lines (kept in the model)");
  /// After the command line was parsed; nothing if no column is selected. Throws InvalidOption for
  /// selections that contradict each other or the format. has_vector_file: a file gives the rows a
  /// further feature, their vectors.
  std::optional<RecordSelection> selection(bool has_vector_file = false) const;
  /// What patterns among the selected names may stand for. Throws as check_patterns().
  ColumnPatterns patterns(const RecordSelection& selection) const;
  /// The kind of rows that the options describe; is_text: another option says that they are texts.
  RowKind row_kind(bool is_text) const;
  bool are_given() const { return !given_.values().empty(); }
  /// Whether a column has the ids of objects that have annotations instead of labels.
  bool has_ids() const { return !options().id_column.empty(); }
  /// The value of --format; empty if the content decides.
  std::string format() const;
  /// ReadOptions::first_index for rows of the kind. Throws InvalidOption if it is given, but not
  /// for numbers.
  std::optional<std::uint32_t> first_index(RowKind kind) const;

 private:
  RecordOptions options() const;
  GivenOptions given_;
};

}  // namespace margrove::cli
