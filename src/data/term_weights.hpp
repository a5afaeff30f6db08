#pragma once
// The weights of terms: what their counts in the training rows say, and rows of weights.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/keep_first.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/errors.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// The counts of a term in the training rows.
struct TermCount {
  std::size_t num_rows = 0;  // with it
  std::size_t last_row = 0;  // counted from 1
  double num_occurrences = 0;
  bool is_ngram = false;  // of several words or of characters
};

/// The idf of a term that so many rows have.
float inverse_frequency(std::size_t num_rows, std::size_t num_rows_with_it,
                        const TfidfOptions& options);

/// Throws InvalidOption for options that are out of range or contradict each other.
void check_tfidf(const TfidfOptions& options);

/// Preprocessing of a tf-idf kind with what the options say of weights, and without terms.
Preprocessing weighting_of(Preprocessing::Kind kind, const TfidfOptions& options);

/// The numbers of the terms that the options keep. `sort` brings numbers into the order in which
/// the terms become columns, which also ends ties. Throws InvalidInput if terms occur, but none is
/// kept.
template <class Sort>
std::vector<std::uint32_t> kept_terms(const std::vector<TermCount>& counts, std::size_t num_rows,
                                      const TfidfOptions& options, const Sort& sort) {
  const auto smallest = static_cast<std::size_t>(options.min_document_frequency);
  const auto smallest_of_ngrams =
      std::max(smallest, static_cast<std::size_t>(options.min_ngram_frequency));
  const double largest = options.max_document_share * static_cast<double>(num_rows);
  std::vector<std::uint32_t> kept;
  std::size_t num_occurring = 0;
  for (std::uint32_t k = 0; k < counts.size(); ++k) {
    const std::size_t rows = counts[k].num_rows;
    num_occurring += rows > 0;
    if (rows < (counts[k].is_ngram ? smallest_of_ngrams : smallest)) continue;
    if (static_cast<double>(rows) <= largest) kept.push_back(k);
  }
  require(num_occurring == 0 || !kept.empty(), "tfidf: of the ", num_occurring,
          " terms that occur none is kept, because min_document_frequency is ",
          options.min_document_frequency, ", min_ngram_frequency ", options.min_ngram_frequency,
          " and max_document_share ", options.max_document_share,
          "; lower the first two or raise the last");
  sort(kept);
  const auto limit = static_cast<std::size_t>(options.max_terms);
  if (limit == 0 || kept.size() <= limit) return kept;
  std::vector<std::uint32_t> places(kept.size());
  std::iota(places.begin(), places.end(), 0U);
  keep_first(places, limit, [&](std::uint32_t a, std::uint32_t b) {
    const std::size_t rows_a = counts[kept[a]].num_rows, rows_b = counts[kept[b]].num_rows;
    return rows_a > rows_b || (rows_a == rows_b && a < b);
  });
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> most;
  for (const std::uint32_t place : places) most.push_back(kept[place]);
  return most;
}

/// The mean length of rows, of the kept terms.
double mean_length(const std::vector<TermCount>& counts, const std::vector<std::uint32_t>& kept,
                   std::size_t num_rows, const TfidfOptions& options);

/// Appends rows of weights, scaled to unit norm; entries of weight 0 are left out.
class RowWriter {
 public:
  RowWriter(CsrMatrix& X, const Preprocessing& fitted) : X_(X), fitted_(fitted) {}
  /// A term of the row, which occurs `count` > 0 times in it.
  void add(FeatureId column, double count) {
    if (fitted_.idf[column] == 0) return;
    columns_.push_back(column);
    weights_.push_back(count);
  }
  void finish_row();

 private:
  /// Counts become weights, as TextTerms::Weights defines them.
  void weigh();
  void drop_zeros();

  CsrMatrix& X_;
  const Preprocessing& fitted_;
  std::vector<FeatureId> columns_;
  std::vector<double> weights_;  // counts, until the row is finished
  std::vector<float> values_;
};

}  // namespace margrove
