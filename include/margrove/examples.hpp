#pragma once
// Labelled rows of any kind in memory, and files of them: numbers, texts, and records, which are
// rows with named columns of CSV, TSV and JSON lines.
//
//   const Examples train = read_examples(
//       "articles.csv", {.columns = {.text = {"title"}, .path_levels = {"section", "kind"}}});

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/text_reader.hpp"

namespace margrove MARGROVE_API {

enum class RowKind : std::uint8_t { numbers, documents, records };

/// The columns of records that are features and labels. Plain data, kept in models. Names of
/// features with `*` are patterns.
struct RecordSelection {
  std::vector<std::string> text = {};         // joined to one document, a line per field
  std::vector<std::string> numeric = {};      // one feature per field
  std::vector<std::string> categorical = {};  // one feature per value seen in training
  std::vector<std::string> vectors = {};      // one block of their numbers, or lists of numbers
  std::string label = {};                     // empty: paths, if they are selected, are the labels
  std::string label_separator = {};           // between the labels of one field; empty: one label
  std::vector<std::string> path_levels = {};  // one field per level, from the root down
  std::string path = {};                      // one field, levels between separators
  std::string separator = " > ";              // also joins the names of a path to its id
  bool of_texts = false;  // the rows are whole texts, which with a vector count as records

  bool has_features() const {
    return !text.empty() || !numeric.empty() || !categorical.empty() || !vectors.empty();
  }
  bool has_paths() const { return !path_levels.empty() || !path.empty(); }
  bool has_labels() const { return !label.empty() || has_paths(); }
  /// Throws InvalidOption unless some field is a feature, at most one kind of label is selected,
  /// and the path separator is usable.
  void check() const;
  bool operator==(const RecordSelection&) const = default;
};

/// The features of records, in the order of a selection, which must have a field for each column.
struct RecordFields {
  /// A field whose values are names; `ids` has one per row.
  struct Categorical {
    static constexpr std::uint32_t kMissing = ~std::uint32_t{0};
    LabelCodec values;
    std::vector<std::uint32_t> ids;
  };
  std::vector<std::string> documents;       // one per row; none if no text is selected
  std::vector<std::vector<float>> numeric;  // of each field one per row; NaN where it is missing
  std::vector<Categorical> categorical;
  std::vector<std::uint32_t> vector_widths;  // how many numbers each column of vectors gives a row
  std::vector<float> vectors;                // those of each row, column by column; finite
  std::size_t vector_width() const {
    return std::accumulate(vector_widths.begin(), vector_widths.end(), std::size_t{0});
  }
};
RecordFields select_rows(const RecordFields& fields, std::span<const std::uint32_t> rows);

/// Columns [begin, end) of X, where rows of numbers have features of several sources side by side.
struct View {
  std::string name;
  FeatureId begin = 0;
  FeatureId end = 0;
  bool operator==(const View&) const = default;
};

/// Rows and their labels. What the readers of single formats return converts to it.
struct Examples {
  Examples() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  Examples(Dataset data);
  Examples(TextDataset data);
  // NOLINTEND(google-explicit-constructor)

  RowKind kind = RowKind::numbers;
  CsrMatrix X;                         // of numbers
  std::vector<View> views;             // of X; empty if there is only one
  std::uint32_t first_index = 1;       // of a file of numbers: that of column 0
  std::vector<std::string> documents;  // of documents
  RecordSelection selection;           // of records
  RecordFields fields;                 // of records
  LabelSets labels;                    // of each row
  LabelCodec codec;                    // of paths: the ids of all nodes
  std::optional<Hierarchy> hierarchy;  // of paths
  std::string source;                  // for messages; empty: none
  std::size_t num_rows() const { return labels.num_rows(); }
  /// The texts of the rows; none where they have none.
  const std::vector<std::string>& texts() const {
    return kind == RowKind::records ? fields.documents : documents;
  }
};
Examples select_rows(const Examples& examples, std::span<const std::uint32_t> rows);

struct ExampleOptions {
  /// A file with further features of the same rows, in the same order: rows of numbers, or .npy, an
  /// array of NumPy.
  struct ViewFile {
    std::string name;
    std::string path;
  };
  /// Rows are documents: lines label<TAB>text, or in the forms of Annif.
  bool text = false;
  /// Rows are records, of which these columns are read.
  RecordSelection columns = {};
  std::vector<std::string> ignore_columns = {};  // that no pattern takes; may be patterns
  /// Of rows of numbers, whose own view is called "main".
  std::vector<ViewFile> views = {};
  /// An array of NumPy, .npy, whose row i is the vector of row i of texts, which become records
  /// with the columns "text" and "vectors", or of records, which get the column "vectors".
  std::string vector_file = {};
  const LabelCodec* codec = nullptr;  // labels get its ids, and new ones the ids after it
  bool known_labels_only = false;     // a label that `codec` lacks is an error
  bool labels_optional = false;       // records may lack the selected labels
  std::string format = {};            // csv, tsv, jsonl, svmlight, text, annif; empty: as it looks
};

/// Reads a plain, gzip or zstd file; docs/formats.md has the forms. If records have label paths,
/// their hierarchy is read, too. Throws InvalidInput "file:line:column: ..." for errors in the
/// file, and InvalidOption for options that contradict each other. When `control` asks to end,
/// returns the rows read so far. O(bytes).
Examples read_examples(const std::string& path, const ExampleOptions& options = {},
                       RunControl* control = nullptr);

/// Rows of any kind without their labels, which belong to the caller. Cheap to copy.
class Rows {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Rows(const CsrView& X) : X_(X) {}
  Rows(const CsrMatrix& X) : X_(X.view()) {}
  Rows(const Dataset& data) : X_(data.X.view()) {}
  Rows(std::span<const std::string> documents) : kind_(RowKind::documents), texts_(documents) {}
  Rows(const std::vector<std::string>& documents) : Rows(std::span(documents)) {}
  Rows(const TextDataset& data) : Rows(std::span(data.documents)) {}
  Rows(std::span<const std::string_view> documents)
      : kind_(RowKind::documents), text_views_(documents) {}
  Rows(const RecordFields& fields)
      : kind_(RowKind::records), texts_(fields.documents), fields_(&fields) {}
  Rows(const Examples& examples);
  // NOLINTEND(google-explicit-constructor)
  /// Records whose documents lie elsewhere.
  Rows(const RecordFields& fields, std::span<const std::string_view> documents)
      : kind_(RowKind::records), text_views_(documents), fields_(&fields) {}

  RowKind kind() const { return kind_; }
  const CsrView& numbers() const { return X_; }
  std::vector<std::string_view> documents() const;
  const RecordFields& fields() const { return *fields_; }  // of records only
  /// The columns of the fields if the rows come from Examples, which know them; null otherwise.
  const RecordSelection* selection() const { return selection_; }

 private:
  RowKind kind_ = RowKind::numbers;
  CsrView X_;
  std::span<const std::string> texts_;
  std::span<const std::string_view> text_views_;
  const RecordFields* fields_ = nullptr;
  const RecordSelection* selection_ = nullptr;
};

}  // namespace margrove
