#include "data/row_formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "data/annif_reader.hpp"
#include "data/csv_reader.hpp"
#include "data/input_file.hpp"
#include "data/json_rows.hpp"
#include "data/jsonl_reader.hpp"
#include "data/number_rows.hpp"
#include "data/row_parts.hpp"
#include "data/text_views.hpp"
#include "margrove/svmlight_reader.hpp"

namespace margrove {
namespace {

Examples svmlight_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_svmlight(path,
                       {.codec = options.codec,
                        .known_labels_only = options.known_labels_only,
                        .refuse_labels_alone = options.refuse_labels_alone,
                        .first_index = options.first_index},
                       control);
}

Examples text_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_text(path, {options.codec, options.known_labels_only}, control);
}

Examples annif_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_annif(path, {options.codec, options.known_labels_only}, control);
}

bool any_line(std::string_view) { return true; }

CsrMatrix apply_numbers(const RecordFeatures*, const Preprocessing& preprocessing, const Rows& rows,
                        RunControl* control) {
  return apply_to_numbers(preprocessing, rows.numbers(), control);
}

CsrMatrix apply_texts(const RecordFeatures*, const Preprocessing& preprocessing, const Rows& rows,
                      RunControl* control) {
  return weigh_texts(preprocessing, rows.documents(), control);
}

FittedRecords fit_fields(const Examples& rows, const TfidfOptions& terms, RunControl* control) {
  return fit_and_apply_records(views_of(rows.fields.documents), rows.fields, rows.selection, terms,
                               control);
}

CsrMatrix apply_fields(const RecordFeatures* features, const Preprocessing& preprocessing,
                       const Rows& rows, RunControl* control) {
  CsrMatrix X = apply_records(*features, rows.documents(), rows.fields(), control);
  if (preprocessing.kind == Preprocessing::Kind::none) return X;
  return apply_to_numbers(preprocessing, X, control);
}

// One entry for each kind, in the order of RowKind.
constexpr std::array kKinds{
    RowKindInfo{
        .name = "numbers", .apply = apply_numbers, .read_json = json_numbers, .are_matrix = true},
    RowKindInfo{.name = "texts", .apply = apply_texts, .read_json = json_texts, .are_texts = true},
    RowKindInfo{
        .name = "records",
        .apply = apply_fields,
        .read_json = json_records,
        .fit = fit_fields,
        .without_terms = "rows with named columns, of which text_column becomes tf-idf features"},
};

// One entry for each format.
constexpr std::array kFormats{
    RowFormat{RowKind::numbers, "", svmlight_rows, "svmlight", nullptr, svmlight_part,
              is_svmlight_header},
    RowFormat{.kind = RowKind::documents,
              .extension = "",
              .read = annif_rows,
              .name = "annif",
              .claims = starts_like_annif,
              .read_part = annif_part,
              .reads_folders = true},
    RowFormat{RowKind::documents, "", text_rows, "text", nullptr, text_part},
    RowFormat{.kind = RowKind::records,
              .extension = "",
              .read = read_jsonl,
              .name = "jsonl",
              .claims = starts_like_json,
              .read_part = jsonl_part,
              .holds_lists = true},
    RowFormat{RowKind::records, "", csv_rows, "csv", nullptr, csv_part, any_line, csv_row_end},
    RowFormat{RowKind::records, "", tsv_rows, "tsv", nullptr, tsv_part, any_line, tsv_row_end},
};

/// The lines at the start of a file up to the first one that is not blank, without a byte order
/// mark. The file is opened only when they are asked for.
class FileStart {
 public:
  explicit FileStart(std::string_view path) : path_(path) {}
  std::string_view text() {
    if (!blocks_) {
      blocks_.emplace(open_file(path_), path_);
      while (blocks_->next() && is_blank(blocks_->text())) continue;
    }
    return blocks_->text();
  }

 private:
  static bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  std::string path_;
  std::optional<LineBlocks> blocks_;
};

/// The format of the given name or, if it is empty, the first one of the kind that is_of() holds
/// of.
template <class IsOf>
const RowFormat& first_format(std::span<const RowFormat> formats, RowKind kind,
                              std::string_view name, const IsOf& is_of) {
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const RowFormat& format) {
    if (format.kind != kind) return false;
    return name.empty() ? is_of(format) : format.name == name;
  });
  if (found != formats.end()) return *found;
  if (name.empty()) throw std::logic_error("no row format claims every file");
  std::vector<std::string> names;
  for (const RowFormat& format : formats) {
    if (format.kind == kind) names.emplace_back(format.name);
  }
  throw InvalidOption(concat("option format is '", name, "', but must be one of ",
                             detail::join(names, ", "), " for these rows"));
}

}  // namespace

const RowKindInfo& info_of(RowKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

RowKind row_kind(bool selects_columns, bool are_texts, std::string_view format) {
  if (selects_columns) return RowKind::records;
  if (are_texts) return RowKind::documents;
  const auto named = std::ranges::find(kFormats, format, &RowFormat::name);
  return named == kFormats.end() ? RowKind::numbers : named->kind;
}

RowKind row_kind(const RecordFeatures* features, const Preprocessing& preprocessing) {
  if (features != nullptr) return RowKind::records;
  return preprocessing.kind == Preprocessing::Kind::text_tfidf ? RowKind::documents
                                                               : RowKind::numbers;
}

std::span<const RowFormat> row_formats() { return kFormats; }

std::vector<std::string> format_choices() {
  return {"auto", "csv", "tsv", "jsonl", "svmlight", "text", "annif"};
}

const RowFormat& row_format_of(std::span<const RowFormat> formats, std::string_view path,
                               RowKind kind, std::string_view name) {
  FileStart start(path);
  const bool is_folder = std::filesystem::is_directory(path);
  const std::string_view uncompressed = name_uncompressed(path);
  return first_format(formats, kind, name, [&](const RowFormat& format) {
    if (is_folder) return format.reads_folders || format.claims == nullptr;
    return uncompressed.ends_with(format.extension) &&
           (format.claims == nullptr || format.claims(start.text()));
  });
}

const RowFormat& row_format_starting(std::span<const RowFormat> formats, RowKind kind,
                                     std::string_view start, std::string_view name) {
  return first_format(formats, kind, name, [&](const RowFormat& format) {
    return format.extension.empty() && (format.claims == nullptr || format.claims(start));
  });
}

}  // namespace margrove
