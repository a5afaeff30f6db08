#pragma once
// Preprocessing of rows: tf-idf weights of words or counts, unit rows, scaled columns.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

struct TfidfOptions {
  int min_document_frequency = 1;
  bool sublinear_tf = true;
  static auto fields() {
    return std::tuple{
        field("min_document_frequency", &TfidfOptions::min_document_frequency, at_least(1),
              "words in fewer training rows than this are dropped"),
        field("sublinear_tf", &TfidfOptions::sublinear_tf,
              "weigh a word that occurs t times by 1 + ln t instead of t"),
    };
  }
};

/// How columns of numbers are scaled: x_j becomes (x_j - centre_j) / spread_j. Rows are dense if at
/// least half of their cells in the columns that occur in training are not zero. Otherwise all
/// centres are 0, so that sparse rows stay sparse.
enum class ColumnScale : std::uint8_t {
  automatic,  // common or standard for dense rows that are not scaled yet, otherwise none
  none,
  standard,  // centre: the mean; spread: the standard deviation
  max_abs,   // centre: 0; spread: the largest absolute value
  robust,    // centre: the median; spread: the interquartile range / 1.349, about the deviation
  common,    // centre: the mean; spread: the largest root mean square of all columns
};
template <>
inline constexpr auto kEnumNames<ColumnScale> = std::array{
    EnumName{ColumnScale::automatic, "auto"},    EnumName{ColumnScale::none, "none"},
    EnumName{ColumnScale::standard, "standard"}, EnumName{ColumnScale::max_abs, "max-abs"},
    EnumName{ColumnScale::robust, "robust"},     EnumName{ColumnScale::common, "common"}};

/// Preprocessing of rows before training and prediction. Plain data that model files store. Fitted
/// on training rows only.
///
/// tf-idf: x_j = tf_j * idf_j, idf_j = ln((1 + rows) / (1 + rows with j)) + 1, then unit L2 norm.
/// Words or columns that were not in enough training rows are left out; rows without any known
/// word stay empty.
struct Preprocessing {
  enum class Kind : std::uint8_t { none, text_tfidf, count_tfidf, normalize, scale };
  Kind kind = Kind::none;
  /// Ascending: the columns of the rows that are kept and numbered anew, before all else; empty:
  /// all stay as they are.
  std::vector<FeatureId> columns;
  bool sublinear_tf = true;
  std::vector<std::string> vocabulary;  // text_tfidf: the word of each column, ascending by bytes
  std::vector<float> idf;               // of each column; count_tfidf: 0 for columns left out
  ColumnScale column_scale = ColumnScale::none;  // of kind scale: the rule of the next two
  std::vector<double> centre;                    // scale: of each column
  std::vector<double> spread;  // scale: of each column; 0: constant in training, left out

  static Preprocessing fit_text(std::span<const std::string> documents,
                                const TfidfOptions& options = {});
  /// Throws InvalidInput naming row and column of a negative count.
  static Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options = {});
  static Preprocessing unit_norm();
  /// Returns kind scale, or kind none where no column changes. `row_weights` (empty: all 1) count
  /// rows as repeated. `is_numeric` is 0 for columns that stay as they are (empty: all are scaled).
  /// Throws InvalidInput unless there is a weight for each row and a number for each column.
  /// O(nonzeros); robust also sorts each column.
  static Preprocessing fit_columns(const CsrView& X, ColumnScale scale,
                                   std::span<const double> row_weights = {},
                                   std::span<const std::uint8_t> is_numeric = {});

  /// Whether apply() gives rows of numbers back as they are.
  bool keeps_rows() const { return kind == Kind::none && columns.empty(); }

  /// Only for kind text_tfidf.
  CsrMatrix apply(std::span<const std::string> documents) const;
  /// For any kind but text_tfidf. The result has as many columns as the training rows had, or as X
  /// for the kinds none and normalize. Throws InvalidInput on a negative count (count_tfidf).
  CsrMatrix apply(const CsrView& X) const;

  /// Throws InvalidInput unless the members fit together, as after loading them from a file:
  /// vocabulary ascending, one finite idf >= 0 per word, finite centres and spreads >= 0, columns
  /// ascending.
  void check() const;
};

}  // namespace margrove
