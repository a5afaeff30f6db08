#include "cli/record_arguments.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "base/number_text.hpp"
#include "data/column_patterns.hpp"
#include "data/csv_reader.hpp"
#include "data/vector_file.hpp"

namespace margrove::cli {

auto RecordOptions::fields() {
  using O = RecordOptions;
  return std::tuple{
      field(
          "format", &O::format, detail::Choices{format_choices()},
          "format of TRAIN; auto: csv, tsv or jsonl by content if columns are selected, otherwise "
          "svmlight or, with the option text, annif (text<TAB><URI> <URI>) or text "
          "(label<TAB>text) by content"),
      field("index_base", &O::index_base, detail::Choices{{"auto", "0", "1"}},
            "svmlight: the index of the first feature. auto: 0 in files with a header `rows "
            "features labels`, otherwise 1. Models keep it for the rows that they are applied to"),
      field("text_column", &O::text_column, detail::Choices{},
            "column of text, whose words become tf-idf features. All columns: several names are "
            "separated by commas; in JSON lines a name is a key, with dots if it is nested. "
            "'m*' is every column whose name begins with m, and '*' every column that no "
            "other option names"),
      field("text_weights", &O::text_weights, detail::Choices{},
            "how often the words of a column of text count, as whole numbers: title=3,body=1; "
            "columns that are not named count once"),
      field("numeric_columns", &O::numeric_columns, detail::Choices{},
            "columns of numbers; missing ones become the mean and set a further feature"),
      field("categorical_columns", &O::categorical_columns, detail::Choices{},
            "columns of categories, each of which becomes a feature"),
      field("vector_columns", &O::vector_columns, detail::Choices{},
            "columns of a vector: numbers such as 'e*', or in JSON lines lists of numbers. The "
            "vector gets the share vector_share of the squared norm of a row"),
      field("ignore_columns", &O::ignore_columns, detail::Choices{},
            "columns that no pattern with * takes"),
      field("label_column", &O::label_column, detail::Choices{}, "column with the label"),
      field("id_column", &O::id_column, detail::Choices{},
            "column with the id of the object whose terms in the file of annotations are the "
            "labels"),
      field("label_separator", &O::label_separator, detail::Choices{},
            "text between several labels in the label column, or several paths in the path column"),
      field("path_columns", &O::path_columns, detail::Choices{},
            "columns with the label's path, one per level from the root down; the paths give the "
            "hierarchy"),
      field("path_column", &O::path_column, detail::Choices{}, "one column with the label's path"),
      field("separator", &O::separator, detail::Choices{}, "text between the levels of a path"),
  };
}

std::vector<OptionInfo> record_option_infos() {
  RecordOptions defaults;
  return OptionTable(defaults).list();
}

void RecordArguments::declare(CLI::App& app, const std::string& group) {
  given_.declare(app, record_option_infos(), group);
}

RecordOptions RecordArguments::options() const {
  RecordOptions options;
  OptionTable table(options);
  set_options(table, given_.values());
  return options;
}

namespace {

/// Names separated by commas; a name with a comma is in double quotes.
std::vector<std::string> names_of(const std::string& option, const std::string& text) {
  if (text.empty()) return {};
  std::vector<std::string> names = csv_cells(text, ',');
  for (auto name = names.begin(); name != names.end(); ++name) {
    require<InvalidOption>(!name->empty(), "option ", option, " is '", text,
                           "', but has an empty name");
    require<InvalidOption>(std::find(names.begin(), name, *name) == name, "option ", option,
                           " is '", text, "', but has '", *name, "' twice");
  }
  return names;
}

/// The columns of text, each as often as its words count.
std::vector<std::string> weighted(const std::vector<std::string>& columns,
                                  const std::string& weights) {
  constexpr int kMaxCounted = 100;
  std::map<std::string, int> count_of;
  for (const std::string& text : names_of("text_weights", weights)) {
    const std::size_t equals = text.rfind('=');
    const auto count =
        equals == std::string::npos ? std::nullopt : read_number<int>(text.substr(equals + 1));
    require<InvalidOption>(
        count && *count >= 1 && *count <= kMaxCounted, "option text_weights has '", text,
        "', but must have column=N with a whole number N from 1 to ", kMaxCounted);
    const std::string name = text.substr(0, equals);
    require<InvalidOption>(std::ranges::count(columns, name) == 1, "option text_weights has '",
                           name, "', but text_column must have it once");
    require<InvalidOption>(count_of.emplace(name, *count).second, "option text_weights has '", name,
                           "' twice");
  }
  std::vector<std::string> repeated;
  for (const std::string& column : columns) {
    const auto count = count_of.find(column);
    repeated.insert(repeated.end(), count == count_of.end() ? 1U : count->second, column);
  }
  return repeated;
}

}  // namespace

std::optional<RecordSelection> RecordArguments::selection(bool has_vector_file) const {
  const RecordOptions given = options();
  const bool selects =
      !(given.text_column + given.text_weights + given.numeric_columns + given.categorical_columns +
        given.vector_columns + given.ignore_columns + given.label_column + given.id_column +
        given.label_separator + given.path_columns + given.path_column)
           .empty();
  const bool has_columns =
      given.format == "csv" || given.format == "tsv" || given.format == "jsonl";
  const bool has_separator = std::ranges::any_of(
      given_.values(), [](const auto& each) { return each.first == "separator"; });
  require<InvalidOption>(!has_separator || !(given.path_columns + given.path_column).empty(),
                         "option separator is given, but path_column and path_columns are not, "
                         "whose levels it separates; the text between labels is label_separator");
  if (!selects && !has_columns) return std::nullopt;
  require<InvalidOption>(has_columns || given.format == "auto", "option format is ", given.format,
                         ", which has no columns that other options could select");
  RecordSelection selection;
  selection.text = weighted(names_of("text_column", given.text_column), given.text_weights);
  selection.numeric = names_of("numeric_columns", given.numeric_columns);
  selection.categorical = names_of("categorical_columns", given.categorical_columns);
  selection.vectors = names_of("vector_columns", given.vector_columns);
  require<InvalidOption>(given.label_column.empty() || given.id_column.empty(),
                         "options label_column and id_column are both given, but exclude each "
                         "other");
  selection.label = given.label_column + given.id_column;
  selection.label_separator = given.label_separator;
  selection.path_levels = names_of("path_columns", given.path_columns);
  selection.path = given.path_column;
  selection.separator = given.separator;
  if (has_vector_file) {
    check_with_vector_file(selection);
  } else {
    selection.check();
  }
  require<InvalidOption>(
      selection.has_labels(),
      "options label_column, id_column, path_columns and path_column: none is given, but "
      "one must name the labels");
  return selection;
}

ColumnPatterns RecordArguments::patterns(const RecordSelection& selection) const {
  ColumnPatterns patterns{names_of("ignore_columns", options().ignore_columns)};
  check_patterns(selection, patterns);
  return patterns;
}

RowKind RecordArguments::row_kind(bool is_text) const {
  return margrove::row_kind(selection().has_value(), is_text, format());
}

std::optional<std::uint32_t> RecordArguments::first_index(RowKind kind) const {
  const std::string base = options().index_base;
  if (base == "auto") return std::nullopt;
  require<InvalidOption>(info_of(kind).are_matrix, "option index_base is ", base,
                         ", which is for rows of index:value, but these are others");
  return base == "0" ? 0U : 1U;
}

std::string RecordArguments::format() const {
  const RecordOptions given = options();
  return given.format == "auto" ? std::string() : given.format;
}

}  // namespace margrove::cli
