#include "data/examples.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "data/column_patterns.hpp"
#include "data/npy_reader.hpp"
#include "data/vector_file.hpp"
#include "data/views.hpp"
#include "margrove/errors.hpp"

namespace margrove {

Examples::Examples(Dataset data)
    : X(std::move(data.X)),
      first_index(data.first_index),
      labels(std::move(data.labels)),
      codec(std::move(data.codec)) {}

Examples::Examples(TextDataset data)
    : kind(RowKind::documents),
      documents(std::move(data.documents)),
      labels(std::move(data.labels)),
      codec(std::move(data.codec)) {}

Rows::Rows(const Examples& examples)
    : kind_(examples.kind),
      X_(examples.X),
      texts_(examples.texts()),
      fields_(&examples.fields),
      selection_(&examples.selection) {}

std::vector<std::string_view> Rows::documents() const {
  if (!text_views_.empty()) return {text_views_.begin(), text_views_.end()};
  return {texts_.begin(), texts_.end()};
}

Examples read_rows(const std::string& path, RowKind kind, const ReadOptions& options,
                   RunControl* control) {
  const RowFormat& format = row_format_of(row_formats(), path, kind, options.format);
  require_vectors_within(format, options, path);
  Examples rows = format.read(path, options, control);
  rows.source = path;
  if (!options.vector_file.empty()) add_vectors(rows, options, control);
  return rows;
}

Examples read_examples(const std::string& path, const ExampleOptions& options,
                       RunControl* control) {
  const bool are_records = options.columns != RecordSelection();
  require<InvalidOption>(!are_records || !options.text,
                         "options columns and text are both given, but rows are either records or "
                         "documents");
  const bool has_vector_file = !options.vector_file.empty();
  if (are_records && has_vector_file) check_with_vector_file(options.columns);
  if (are_records && !has_vector_file) options.columns.check();
  const ColumnPatterns patterns{options.ignore_columns};
  check_patterns(options.columns, patterns);
  Examples examples = read_rows(path, row_kind(are_records, options.text),
                                {.codec = options.codec,
                                 .known_labels_only = options.known_labels_only,
                                 .refuse_labels_alone = true,
                                 .selection = are_records ? &options.columns : nullptr,
                                 .patterns = are_records ? &patterns : nullptr,
                                 .labels_optional = options.labels_optional,
                                 .format = options.format,
                                 .vector_file = options.vector_file},
                                control);
  read_views(examples, options.views, control);
  return examples;
}

Examples select_rows(const Examples& raw, std::span<const std::uint32_t> rows) {
  for (const std::uint32_t i : rows) {
    require(i < raw.num_rows(), "select_rows: row is ", i, ", but must be below ", raw.num_rows());
  }
  Examples selected;
  selected.kind = raw.kind;
  selected.X = raw.X.num_rows() == 0 ? raw.X : select_rows(raw.X.view(), rows);
  selected.first_index = raw.first_index;
  selected.documents.reserve(raw.documents.empty() ? 0 : rows.size());
  for (const std::uint32_t i : rows) {
    if (!raw.documents.empty()) selected.documents.push_back(raw.documents[i]);
  }
  selected.selection = raw.selection;
  selected.fields = select_rows(raw.fields, rows);
  selected.labels = select_rows(raw.labels, rows);
  selected.codec = raw.codec;
  selected.hierarchy = raw.hierarchy;
  selected.views = raw.views;
  selected.source = raw.source;
  return selected;
}

namespace {

/// Throws unless `files` name each view of the model but the first exactly once.
void check_names(const Examples& raw, std::span<const ViewFile> files,
                 std::span<const View> views) {
  std::string names;
  for (const View& view : views) names += concat(names.empty() ? "" : ", ", view.name);
  const std::string the_model =
      views.empty() ? std::string("the model has no views")
                    : concat("the model has the views ", names, " (", raw.source, " is the first)");
  for (const ViewFile& file : files) {
    const auto has_name = [&](const auto& each) { return each.name == file.name; };
    require(!views.empty() && std::any_of(views.begin() + 1, views.end(), has_name), file.path,
            ": is given as view '", file.name, "', but ", the_model);
    require(std::count_if(files.begin(), files.end(), has_name) == 1, "view '", file.name,
            "' is given twice");
  }
  require(views.empty() || files.size() + 1 == views.size(), raw.source, ": comes with ",
          files.size(), " further views, but ", the_model, "; give a file for each");
}

/// The file of a view: its rows, or an array whose rows are still in the file.
using Part = std::variant<Examples, NpyArray>;

ViewRows rows_of(Part& part) {
  if (auto* array = std::get_if<NpyArray>(&part)) return array;
  return std::get<Examples>(part).X.view();
}

FeatureId num_columns(const Part& part) {
  if (const auto* array = std::get_if<NpyArray>(&part)) return array->num_columns();
  return std::get<Examples>(part).X.num_columns();
}

void check_num_rows(const Examples& raw, std::uint64_t num_rows, const std::string& source) {
  require(num_rows == raw.num_rows(), source, ": it has ", num_rows, " rows, but must have ",
          raw.num_rows(), " as ", raw.source);
}

void check_rows(const Examples& raw, const Examples& part) {
  check_num_rows(raw, part.num_rows(), part.source);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    const auto own = raw.labels[i];
    for (const LabelId label : own.empty() ? own : part.labels[i]) {
      const std::string& name = part.codec.name(label);
      const auto id = raw.codec.find(name);
      require(id && std::find(own.begin(), own.end(), *id) != own.end(), part.source, ": row ",
              i + 1, ": label is '", name, "', but must be one that the row has in ", raw.source);
    }
  }
}

Part read_part(const Examples& raw, const std::string& path, RunControl* control) {
  if (path.ends_with(".npy")) {
    NpyArray array = open_npy(path, control);
    check_num_rows(raw, array.num_rows(), path);
    return array;
  }
  Examples rows =
      read_rows(path, raw.kind, {.first_index = given_first_index(raw.first_index)}, control);
  check_rows(raw, rows);
  return rows;
}

std::vector<Part> read_parts(const Examples& raw, std::span<const ViewFile> files,
                             RunControl* control) {
  const RowKindInfo& kind = info_of(raw.kind);
  require(kind.are_matrix, raw.source, ": the rows are ", kind.name,
          ", but only numbers can have further views");
  std::vector<Part> parts;
  for (const ViewFile& file : files) parts.push_back(read_part(raw, file.path, control));
  return parts;
}

}  // namespace

void read_views(Examples& raw, std::span<const ViewFile> files, RunControl* control) {
  if (files.empty()) return;
  auto parts = read_parts(raw, files, control);
  raw.views = {{std::string(kFirstView), 0, raw.X.num_columns()}};
  std::vector<ViewRows> rows{raw.X.view()};
  for (std::size_t k = 0; k < files.size(); ++k) {
    const FeatureId begin = raw.views.back().end, width = num_columns(parts[k]);
    require(width < std::numeric_limits<FeatureId>::max() - begin, files[k].path, ": it has ",
            width, " columns, which with the ", begin, " before them are too many");
    raw.views.push_back({files[k].name, begin, begin + width});
    rows.push_back(rows_of(parts[k]));
  }
  check_views(raw.views);
  raw.X = side_by_side(rows, raw.views);
}

void read_views_of_model(Examples& raw, std::span<const ViewFile> files,
                         std::span<const View> views, RunControl* control) {
  check_names(raw, files, views);
  if (views.empty()) return;
  auto parts = read_parts(raw, files, control);
  raw.views.assign(views.begin(), views.end());
  std::vector<ViewRows> rows{raw.X.view()};
  for (const View& view : views.subspan(1)) {
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const ViewFile& each) { return each.name == view.name; });
    Part& part = parts[static_cast<std::size_t>(file - files.begin())];
    if (const auto* array = std::get_if<NpyArray>(&part)) {
      require(array->num_columns() == view.end - view.begin, array->name(), ": it has ",
              array->num_columns(), " columns, but view '", view.name, "' of the model has ",
              view.end - view.begin);
    }
    rows.push_back(rows_of(part));
  }
  raw.X = side_by_side(rows, raw.views);
}

}  // namespace margrove
