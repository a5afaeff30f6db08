#pragma once
// Rows of numbers from the fields of records.

#include <cstdint>
#include <string>
#include <vector>

#include "data/records.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// Fitted on training rows and kept in models. The columns are, in this order: the weights of the
/// terms of the text (each row of unit norm); the numeric fields as they are; for each numeric
/// field that some training row lacks, 1 where it is missing; for each value of each categorical
/// field, 1 where the row has it; the vector of the text, or that of the columns of vectors. A
/// missing number becomes the mean of the training rows that have it. Values and terms that
/// training did not have are left out.
struct RecordFeatures {
  struct Numeric {
    float mean = 0;
    bool may_be_missing = false;  // some training row lacks it
  };

  RecordSelection selection;
  Preprocessing text;                                 // text_tfidf if there is text
  std::vector<Numeric> numeric;                       // of each field
  std::vector<std::vector<std::string>> categorical;  // values of each field, ascending by bytes

  /// The numbers that each column of vectors has in a row, and the share of the vector, of all of
  /// them, in the squared norm of a row of terms and vector, where the terms have norm
  /// sqrt(1 - share). Without text, the other columns stay as they are and count 1 each, so that
  /// the share is right on average where numbers have mean 0 and deviation 1; a vector alone has
  /// norm 1.
  std::vector<std::uint32_t> vector_widths;
  double vector_share = 0;

  static RecordFeatures fit(const RecordFields& fields, RecordSelection selection,
                            const TfidfOptions& options);
  /// `fields` must be those of the selection. O(bytes of text + rows * fields).
  CsrMatrix apply(const RecordFields& fields) const;

  std::uint32_t num_columns() const;
  /// The columns of the numeric fields, which may be scaled; the other columns may not.
  struct Range {
    FeatureId begin = 0;
    FeatureId end = 0;
  };
  Range numeric_columns() const;
  /// The last columns, which are those of a vector.
  std::uint32_t vector_width() const;
  /// "minilm", "embedding", "e1, ..., e384"; empty where rows have no vector.
  std::string vector_name() const;
  /// "word", "price", "price is missing", "colour = red".
  std::string column_name(FeatureId column) const;

  /// Throws InvalidInput unless the members fit together, as after loading them from a file.
  void check() const;
};

}  // namespace margrove
