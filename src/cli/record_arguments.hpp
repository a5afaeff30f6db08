#pragma once
// Which columns of CSV, TSV and JSON lines are what.

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "data/records.hpp"

namespace margrove::cli {

struct RecordOptions {
  std::string format = "auto";
  std::string text_column, numeric_columns, categorical_columns;
  std::string label_column, label_separator;
  std::string path_columns, path_column, separator = " > ";
  static auto fields();
};

/// Their table.
std::vector<OptionInfo> record_option_infos();

/// The options that select columns.
class RecordArguments {
 public:
  void declare(CLI::App& app);
  /// After the command line was parsed; nothing if no column is selected. Throws InvalidOption for
  /// selections that do not fit together, or not the format.
  std::optional<RecordSelection> selection() const;
  /// Of --format; empty if the content says it.
  std::string format() const;

 private:
  RecordOptions options() const;
  GivenOptions given_;
};

}  // namespace margrove::cli
