#pragma once
// The training data of a method.

#include <any>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fit_state.hpp"
#include "data/record_features.hpp"
#include "data/views.hpp"
#include "kernel/kernel_features.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// Examples that are not rows, in the type of their reader's corpus.
class StructuredExamples {
 public:
  /// corpus.labels() becomes ModelParts::labels.
  template <class Corpus>
  explicit StructuredExamples(Corpus corpus)
      : size_(corpus.size()), codec_(corpus.labels()), corpus_(std::move(corpus)) {}

  std::size_t size() const { return size_; }
  const LabelCodec& codec() const { return codec_; }
  /// Null if the corpus has another type.
  template <class Corpus>
  const Corpus* get_if() const {
    return std::any_cast<Corpus>(&corpus_);
  }

 private:
  std::size_t size_;
  LabelCodec codec_;
  std::any corpus_;
};

struct ModelParts;

/// Rows, their labels and the structure of the labels, checked and preprocessed. Refers to arrays
/// of the caller. Without the intercept: methods append it (margrove/csr_matrix.hpp,
/// with_intercept).
struct TrainingSet {
  CsrView X;
  const LabelSets* labels = nullptr;         // ids of `codec`
  const LabelCodec* codec = nullptr;         // all labels of the hierarchy and of the data
  const LabelGraph* hierarchy = nullptr;     // over the ids of `codec`; null: none was given
  std::span<const double> row_weights;       // of each row's loss, >= 0; empty: all 1
  std::span<const View> views;               // of X; empty: one source
  std::span<const std::string> label_names;  // for people, in the order of `codec`; or none
  std::span<const std::string> other_names;  // of labels, one a line, likewise; or none
  const Preprocessing* texts = nullptr;      // of the texts whose terms are the first columns
  const RecordFeatures* records = nullptr;   // of the rows, if they were records
  const KernelFeatures* kernel_features = nullptr;  // of which X consists; null: none
  bool columns_are_scaled = false;                  // by the preprocessing
  const StructuredExamples* examples = nullptr;     // instead of X and labels
  std::string source = "training data";             // for messages
  std::span<const std::string> warnings;  // of the rows, which begin those of the training
  /// Labels that count as having rows although no row has them, because later runs may add some.
  std::span<const LabelId> expected_labels;
  /// Methods that cannot continue an earlier run start anew and leave no state.
  Continuation continuation;
  const ModelParts* start = nullptr;  // a model whose weights training starts from, or null
};

/// Of the texts whose terms are the first columns of rows: TrainingSet::texts. Null: there are
/// none.
const Preprocessing* texts_of(const std::optional<RecordFeatures>& records,
                              const Preprocessing& preprocessing);

/// Throws InvalidOption if rows have weights, for methods whose loss has none.
void require_no_row_weights(const TrainingSet& data, std::string_view method);

/// The arrays that a TrainingSet refers to, made from the results of readers.
struct LabelledRows {
  LabelCodec codec;  // in natural_order()
  LabelSets labels;
  LabelGraph hierarchy;
  bool has_hierarchy = false;
  std::vector<std::string> names;        // Hierarchy::names, in the order of `codec`
  std::vector<std::string> other_names;  // Hierarchy::other_names, likewise
};

/// Numbers the labels in natural order. With a hierarchy (may be null) the codec holds its nodes,
/// and a label that is not one of them throws InvalidInput naming label and row. Throws OutOfTime
/// where `control`, which may be null, asks to end. O(labels log labels + rows).
LabelledRows label_rows(const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy* hierarchy, const std::string& source,
                        RunControl* control = nullptr);

/// Rows whose features and labels are the same, as one row with the sum of their weights.
struct MergedRows {
  std::vector<std::uint32_t> rows;  // one of each group, in an order that the content decides
  std::vector<double> row_weights;  // of these
};
/// Rows of weight 0 are left out. A row of weight 2 and the row twice give the same data, bit for
/// bit, in whatever order the rows come. Returns nothing if there are no weights and no equal rows.
/// Throws InvalidInput if all weights are 0 or one is not a number >= 0, and OutOfTime where
/// `control`, which may be null, asks to end. O(nonzeros + rows log rows).
std::optional<MergedRows> merge_equal_rows(const CsrView& X, const LabelSets& labels,
                                           std::span<const double> row_weights,
                                           RunControl* control = nullptr);

/// The same labels in the numbers of another codec, for evaluation: a label that `target` does not
/// know gets a number from target.size() on, the same for each occurrence, and is counted.
struct TranslatedLabels {
  LabelSets labels;
  std::size_t num_unknown_labels = 0;  // distinct
  std::size_t num_rows_with_unknown = 0;
};
TranslatedLabels translate_labels(const LabelSets& labels, const LabelCodec& codec,
                                  const LabelCodec& target);

}  // namespace margrove
