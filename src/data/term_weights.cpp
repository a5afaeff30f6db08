#include "data/term_weights.hpp"

#include <cmath>

namespace margrove {

float inverse_frequency(std::size_t num_rows, std::size_t num_rows_with_it,
                        const TfidfOptions& options) {
  const auto n = static_cast<double>(num_rows);
  const auto df = static_cast<double>(num_rows_with_it);
  const double idf = options.term_weights == TextTerms::Weights::bm25
                         ? std::log(1 + (n - df + 0.5) / (df + 0.5))
                         : std::log((1 + n) / (1 + df)) + 1;
  return static_cast<float>(idf);
}

void check_tfidf(const TfidfOptions& options) {
  validate(options);
  require<InvalidOption>(
      !options.word_ngrams.is_none() || !options.char_ngrams.is_none(),
      "options word_ngrams and char_ngrams: both are none, but one must give the terms");
  require<InvalidOption>(options.terms != TextTerms::Choice::automatic,
                         "option terms is auto, but nothing is trained here on rows with labels, "
                         "which a search for terms needs; give word_ngrams and char_ngrams");
  const TfidfOptions defaults;
  const bool is_bm25 = options.term_weights == TextTerms::Weights::bm25;
  require<InvalidOption>(
      is_bm25 || (options.bm25_k1 == defaults.bm25_k1 && options.bm25_b == defaults.bm25_b),
      "options bm25_k1 and bm25_b: one is given, but they need term_weights bm25");
  require<InvalidOption>(!is_bm25 || options.sublinear_tf,
                         "option sublinear_tf is false, but term_weights bm25 has its own weight "
                         "of repeated terms; give bm25_k1 instead");
  require<InvalidOption>(
      options.hash_features == 0 || options.min_ngram_frequency == defaults.min_ngram_frequency,
      "option min_ngram_frequency is ", options.min_ngram_frequency,
      ", but with hash_features columns hold terms of all kinds");
  require<InvalidOption>(options.hash_features > 0 || options.hash_seed == 0,
                         "option hash_seed is given, but it needs hash_features");
}

Preprocessing weighting_of(Preprocessing::Kind kind, const TfidfOptions& options) {
  Preprocessing fitted;
  fitted.kind = kind;
  fitted.sublinear_tf = options.sublinear_tf;
  fitted.term_weights = options.term_weights;
  if (options.term_weights == TextTerms::Weights::bm25) {
    fitted.bm25_k1 = options.bm25_k1;
    fitted.bm25_b = options.bm25_b;
  }
  return fitted;
}

double mean_length(const std::vector<TermCount>& counts, const std::vector<std::uint32_t>& kept,
                   std::size_t num_rows, const TfidfOptions& options) {
  if (options.term_weights != TextTerms::Weights::bm25) return 0;
  double length = 0;
  for (const std::uint32_t k : kept) length += counts[k].num_occurrences;
  return num_rows > 0 ? length / static_cast<double>(num_rows) : 0;
}

void RowWriter::finish_row() {
  weigh();
  drop_zeros();
  double sum = 0;
  for (const double w : weights_) sum += w * w;
  const double scale = sum > 0 ? 1 / std::sqrt(sum) : 0;
  for (const double w : weights_) values_.push_back(static_cast<float>(w * scale));
  X_.append_row(columns_, values_);
  columns_.clear();
  weights_.clear();
  values_.clear();
}

void RowWriter::weigh() {
  const bool is_bm25 = fitted_.term_weights == TextTerms::Weights::bm25;
  double added = 0;  // BM25's k1 (1 - b + b * length / average length)
  if (is_bm25) {
    double length = 0;
    for (const double count : weights_) length += count;
    const double relative = fitted_.average_length > 0 ? length / fitted_.average_length : 1;
    added = fitted_.bm25_k1 * (1 - fitted_.bm25_b + fitted_.bm25_b * relative);
  }
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    double& w = weights_[k];
    if (is_bm25) {
      w = w * (fitted_.bm25_k1 + 1) / (w + added);
    } else if (fitted_.sublinear_tf && w != 1) {
      w = 1 + std::log(w);
    }
    w *= static_cast<double>(fitted_.idf[columns_[k]]);
  }
}

void RowWriter::drop_zeros() {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    if (weights_[k] == 0) continue;
    columns_[kept] = columns_[k];
    weights_[kept++] = weights_[k];
  }
  columns_.resize(kept);
  weights_.resize(kept);
}

}  // namespace margrove
