#pragma once
// From words or counts to weighted unit rows.

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

/// What is done to rows before training and again before prediction. Plain data, to be stored in
/// model files. Fitted on training rows only.
///
/// tf-idf: x_j = tf_j * idf_j, idf_j = ln((1 + rows) / (1 + rows with j)) + 1, then unit L2 norm.
/// Words or columns that were not in enough training rows are left out; rows without any known
/// word stay empty.
struct Preprocessing {
  enum class Kind : std::uint8_t { none, text_tfidf, count_tfidf, normalize };
  Kind kind = Kind::none;
  bool sublinear_tf = true;
  std::vector<std::string> vocabulary;  // text_tfidf: the word of each column, ascending by bytes
  std::vector<float> idf;               // of each column; count_tfidf: 0 for columns left out

  static Preprocessing fit_text(std::span<const std::string> documents,
                                const TfidfOptions& options = {});
  /// Throws InvalidInput naming row and column of a negative count.
  static Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options = {});
  static Preprocessing unit_norm();

  /// kind text_tfidf only.
  CsrMatrix apply(std::span<const std::string> documents) const;
  /// Any kind but text_tfidf. The result has as many columns as the training rows had, or as X for
  /// kinds without idf. Throws InvalidInput on a negative count (count_tfidf).
  CsrMatrix apply(const CsrView& X) const;

  /// Throws InvalidInput unless the members fit together, as after loading them from a file:
  /// vocabulary ascending, one finite idf >= 0 per word.
  void check() const;
};

}  // namespace margrove
