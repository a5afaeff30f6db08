#pragma once
// Features of texts that lie elsewhere in memory, in columns of Arrow or objects of Python: the
// text is not copied.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_features.hpp"
#include "data/records.hpp"
#include "margrove/control.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

inline std::vector<std::string_view> views_of(std::span<const std::string> texts) {
  return {texts.begin(), texts.end()};
}

// All of these throw OutOfTime where `control`, which may be null, asks to end.

/// Preprocessing::fit_text() and Preprocessing::apply() of texts. `needs_terms` is false where rows
/// have other features, so that texts may all be without terms.
Preprocessing fit_texts(std::span<const std::string_view> documents, const TfidfOptions& options,
                        bool needs_terms = true, RunControl* control = nullptr);
/// What fit_texts() returns, and what weigh_texts() makes of the same documents. The texts are cut
/// once where terms do not occur more often in them than `most_kept`, otherwise twice: what is kept
/// between takes four bytes for each.
struct FittedTexts {
  Preprocessing fitted;
  CsrMatrix X;
};
FittedTexts fit_and_weigh_texts(std::span<const std::string_view> documents,
                                const TfidfOptions& options, bool needs_terms = true,
                                RunControl* control = nullptr,
                                std::size_t most_kept = std::size_t{1} << 26U);
CsrMatrix weigh_texts(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control = nullptr);

/// The same without the vectors, for rows that have further columns before them.
FittedTexts fit_and_weigh_terms(std::span<const std::string_view> documents,
                                const TfidfOptions& options, bool needs_terms, RunControl* control,
                                std::size_t most_kept = std::size_t{1} << 26U);
CsrMatrix weigh_terms(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control);
/// X with the block of Preprocessing::vectors, if there is one, as its last columns; the first ones
/// are those of the terms. Throws InvalidInput unless the encoder is the one of the training.
CsrMatrix with_vectors(CsrMatrix X, const Preprocessing& fitted,
                       std::span<const std::string_view> documents, RunControl* control);

/// How a vector is joined to the features of a row.
struct VectorBlock {
  std::size_t num_terms;  // first columns, of the terms
  std::uint32_t width;
  double norm;        // that the vector gets, unless it is zero
  double term_scale;  // factor of the terms
};
/// Appends the rows of X from `first_row` on to `joined`, each with its vector, as long as there
/// are vectors. Zeros stay, so that all rows have all columns of the block. Throws InvalidInput for
/// numbers that are not finite.
void append_with_vectors(const CsrMatrix& X, std::size_t first_row, std::span<const float> vectors,
                         const VectorBlock& block, CsrMatrix& joined);

/// RecordFeatures::fit(), and what RecordFeatures::apply() makes of the same records, where
/// `documents` stand for the texts of `fields`. There are none if the selection has no text. Texts
/// are cut as fit_and_weigh_texts() does.
struct FittedRecords {
  RecordFeatures fitted;
  CsrMatrix X;
};
FittedRecords fit_and_apply_records(std::span<const std::string_view> documents,
                                    const RecordFields& fields, RecordSelection selection,
                                    const TfidfOptions& options, RunControl* control = nullptr);
/// RecordFeatures::apply() with such documents.
CsrMatrix apply_records(const RecordFeatures& fitted, std::span<const std::string_view> documents,
                        const RecordFields& fields, RunControl* control = nullptr);

}  // namespace margrove
