#include "margrove/tfidf.hpp"

#include <algorithm>
#include <cmath>

#include "base/work_meter.hpp"
#include "data/column_scale.hpp"
#include "data/csr_operations.hpp"
#include "data/number_rows.hpp"
#include "data/stemmer.hpp"
#include "data/term_weights.hpp"
#include "data/text_views.hpp"
#include "data/words.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

void require_count(std::size_t row, FeatureId column, float count) {
  require(count >= 0 && std::isfinite(count), "tfidf: count[", row, ", ", column, "] is ", count,
          ", but must be a number >= 0");
}

/// The choice of terms and weights of a model.
void check_weights(const Preprocessing& fitted, bool has_words, bool has_idf) {
  const TextTerms& terms = fitted.terms;
  require(Stemmer::knows(terms.stem), "preprocessing: words are stemmed by the rules of '",
          terms.stem.language, "', but this build's Snowball library has only ",
          detail::join(TextTerms::Stem::languages(), ", "));
  require(has_words || terms.are_words(), "preprocessing: terms of texts are chosen without text");
  const Preprocessing::Vectors& vectors = fitted.vectors;
  require(vectors.width() == 0 || (has_words && vectors.share > 0 && vectors.share < 1),
          "preprocessing: vectors have the share ", vectors.share,
          ", but must have one in (0, 1), and text");
  require(!terms.words.is_none() || !terms.characters.is_none(),
          "preprocessing: both kinds of n-grams are none");
  for (std::size_t k = 1; k < terms.stop_words.size(); ++k) {
    require(terms.stop_words[k - 1] < terms.stop_words[k], "preprocessing: stop word ", k,
            " is not after the one before it");
  }
  const bool is_bm25 = fitted.term_weights == TextTerms::Weights::bm25;
  require(has_idf || !is_bm25, "preprocessing: term weights are bm25, but there are no terms");
  if (!is_bm25) return;
  const auto is_valid = [](double x) { return std::isfinite(x) && x >= 0; };
  require(is_valid(fitted.bm25_k1) && is_valid(fitted.bm25_b) && fitted.bm25_b <= 1 &&
              is_valid(fitted.average_length),
          "preprocessing: bm25 has k1 ", fitted.bm25_k1, ", b ", fitted.bm25_b,
          " and average length ", fitted.average_length,
          ", but must have numbers >= 0, b at most 1");
}

}  // namespace

Preprocessing Preprocessing::fit_text(std::span<const std::string> documents,
                                      const TfidfOptions& options) {
  return fit_texts(views_of(documents), options);
}

std::string Preprocessing::term_name(FeatureId column) const {
  if (column >= idf.size()) {
    return concat("vector ", column - idf.size() + 1, " of ", vectors.facts.name);
  }
  return column < hashes.size() ? concat("hash ", hashes[column]) : vocabulary[column];
}

Preprocessing Preprocessing::fit_counts(const CsrView& counts, const TfidfOptions& options) {
  return margrove::fit_counts(counts, options, nullptr);
}

Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options, RunControl* control) {
  check_tfidf(options);
  const TfidfOptions defaults;
  require<InvalidOption>(
      options.word_ngrams == defaults.word_ngrams && options.char_ngrams == defaults.char_ngrams &&
          options.min_ngram_frequency == defaults.min_ngram_frequency && options.stop_words.empty(),
      "options word_ngrams, char_ngrams, min_ngram_frequency and stop_words: one is given, but "
      "they "
      "are for texts, and the rows hold counts");
  require<InvalidOption>(
      options.normal_form == defaults.normal_form && options.casing == defaults.casing,
      "options normal_form and casing: one is given, but they are for texts, and the rows hold "
      "counts");
  require<InvalidOption>(options.stem.is_none(), "option stem is ", options.stem.language,
                         ", but it is for texts, and the rows hold counts");
  require<InvalidOption>(options.vectors == defaults.vectors && options.encoder == nullptr,
                         "option vectors is '", options.vectors,
                         "', but it is for texts, and the rows hold counts");
  require<InvalidOption>(options.hash_features == 0, "option hash_features is ",
                         options.hash_features, ", but it is for texts, and the rows hold counts");
  WorkMeter meter(control);
  std::vector<TermCount> terms(counts.num_columns());
  for (std::size_t i = 0; i < counts.num_rows(); ++i) {
    const SparseRow row = counts.row(i);
    meter.add(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
      require_count(i, row.columns[k], row.values[k]);
      TermCount& term = terms[row.columns[k]];
      term.num_occurrences += static_cast<double>(row.values[k]);
      term.num_rows += row.values[k] > 0 ? 1U : 0U;
    }
  }
  Preprocessing fitted = weighting_of(Preprocessing::Kind::count_tfidf, options);
  const auto kept = kept_terms(terms, counts.num_rows(), options, [](const auto&) {});
  fitted.idf.assign(terms.size(), 0.0F);
  for (const std::uint32_t k : kept) {
    fitted.idf[k] = inverse_frequency(counts.num_rows(), terms[k].num_rows, options);
  }
  fitted.average_length = mean_length(terms, kept, counts.num_rows(), options);
  return fitted;
}

Preprocessing Preprocessing::unit_norm() {
  Preprocessing fitted;
  fitted.kind = Kind::normalize;
  return fitted;
}

CsrMatrix Preprocessing::apply(std::span<const std::string> documents) const {
  return weigh_texts(*this, views_of(documents));
}

CsrMatrix Preprocessing::apply(const CsrView& X) const {
  return apply_to_numbers(*this, X, nullptr);
}

CsrMatrix apply_to_numbers(const Preprocessing& fitted, const CsrView& X, RunControl* control) {
  using Kind = Preprocessing::Kind;
  require(fitted.kind != Kind::text_tfidf,
          "preprocessing: it was fitted on text, not on rows of numbers");
  if (!fitted.columns.empty()) {
    Preprocessing of_selected = fitted;
    of_selected.columns.clear();
    CsrMatrix selected = select_columns(X, fitted.columns);
    if (of_selected.keeps_rows()) return selected;
    return apply_to_numbers(of_selected, selected, control);
  }
  if (fitted.kind == Kind::scale) return scale_columns(X, fitted.centre, fitted.spread, control);
  WorkMeter meter(control);
  if (fitted.kind != Kind::count_tfidf) {
    CsrMatrix same(X.num_columns());
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      const SparseRow row = X.row(i);
      meter.add(row.size());
      same.append_row(row.columns, row.values);
    }
    if (fitted.kind == Kind::normalize) normalize_rows(same);
    return same;
  }
  const std::size_t num_columns = fitted.idf.size();
  CsrMatrix weighted(static_cast<std::uint32_t>(num_columns));
  RowWriter writer(weighted, fitted);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow row = X.row(i);
    meter.add(row.size());
    for (std::size_t k = 0; k < row.size() && row.columns[k] < num_columns; ++k) {
      require_count(i, row.columns[k], row.values[k]);
      if (row.values[k] != 0) writer.add(row.columns[k], static_cast<double>(row.values[k]));
    }
    writer.finish_row();
  }
  return weighted;
}

void Preprocessing::check() const {
  const bool has_words = kind == Kind::text_tfidf;
  const bool has_idf = has_words || kind == Kind::count_tfidf;
  const bool has_hashes = has_words && terms.num_hashes > 0;
  require(has_words && !has_hashes ? vocabulary.size() == idf.size() : vocabulary.empty(),
          "preprocessing: ", vocabulary.size(), " words, but ", idf.size(), " idf weights");
  require(has_hashes ? hashes.size() == idf.size() : hashes.empty(),
          "preprocessing: ", hashes.size(), " hashes, but ", idf.size(), " idf weights");
  for (std::size_t j = 0; j < hashes.size(); ++j) {
    require(hashes[j] < terms.num_hashes && (j == 0 || hashes[j - 1] < hashes[j]),
            "preprocessing: hash ", j, " is ", hashes[j], ", but must be less than ",
            terms.num_hashes, " and after the one before it");
  }
  require(has_idf || idf.empty(), "preprocessing: ", idf.size(),
          " idf weights, but must have none without tf-idf");
  for (std::size_t j = 0; j < idf.size(); ++j) {
    require(std::isfinite(idf[j]) && idf[j] >= 0, "preprocessing: idf[", j, "] is ", idf[j],
            ", but must be a number >= 0");
  }
  for (std::size_t j = 1; j < vocabulary.size(); ++j) {
    require(vocabulary[j - 1] < vocabulary[j], "preprocessing: word ", j,
            " of the vocabulary is not after the one before it");
  }
  check_weights(*this, has_words, has_idf);
  require(!has_words || columns.empty(), "preprocessing: columns are selected of texts");
  for (std::size_t j = 1; j < columns.size(); ++j) {
    require(columns[j - 1] < columns[j], "preprocessing: column ", j,
            " of those selected is not after the one before it");
  }
  require(centre.size() == spread.size() && (kind == Kind::scale || spread.empty()),
          "preprocessing: ", centre.size(), " centres, but ", spread.size(), " spreads");
  for (std::size_t j = 0; j < spread.size(); ++j) {
    require(std::isfinite(centre[j]) && std::isfinite(spread[j]) && spread[j] >= 0,
            "preprocessing: column ", j, " has centre ", centre[j], " and spread ", spread[j],
            ", but must have numbers, the spread >= 0");
  }
}

void normalize_rows(CsrMatrix& X) {
  const std::vector<double> norms = squared_norms(X);
  const auto pointers = X.view().row_pointers();
  const std::span<float> values = X.mutable_values();
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (norms[i] == 0) continue;
    const double scale = 1 / std::sqrt(norms[i]);
    for (auto k = pointers[i]; k < pointers[i + 1]; ++k) {
      auto& v = values[static_cast<std::size_t>(k)];
      v = static_cast<float>(v * scale);
    }
  }
}

}  // namespace margrove
