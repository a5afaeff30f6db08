#include "margrove/tfidf.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/keep_first.hpp"
#include "base/work_meter.hpp"
#include "data/column_scale.hpp"
#include "data/csr_operations.hpp"
#include "data/number_rows.hpp"
#include "data/terms.hpp"
#include "data/text_views.hpp"
#include "data/words.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
/// The words of each row and how often they occur, columns ascending.
struct Entry {
  std::uint32_t column;
  std::uint32_t count;
};
void merge_equal(std::vector<Entry>& row, WorkMeter& meter) {
  sort_metered(
      row, [](const Entry& a, const Entry& b) { return a.column < b.column; }, meter);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (kept > 0 && row[kept - 1].column == row[k].column) {
      row[kept - 1].count += row[k].count;
    } else {
      row[kept++] = row[k];
    }
  }
  row.resize(kept);
}

/// The counts of a term in the training rows.
struct Term {
  std::size_t num_rows = 0;  // with it
  std::size_t last_row = 0;  // counted from 1
  double num_occurrences = 0;
};

float inverse_frequency(std::size_t num_rows, std::size_t num_rows_with_it,
                        const TfidfOptions& options) {
  const auto n = static_cast<double>(num_rows);
  const auto df = static_cast<double>(num_rows_with_it);
  const double idf = options.term_weights == TextTerms::Weights::bm25
                         ? std::log(1 + (n - df + 0.5) / (df + 0.5))
                         : std::log((1 + n) / (1 + df)) + 1;
  return static_cast<float>(idf);
}

void check_options(const TfidfOptions& options) {
  validate(options);
  require<InvalidOption>(
      !options.word_ngrams.is_none() || !options.char_ngrams.is_none(),
      "options word_ngrams and char_ngrams: both are none, but one must give the terms");
  const TfidfOptions defaults;
  const bool is_bm25 = options.term_weights == TextTerms::Weights::bm25;
  require<InvalidOption>(
      is_bm25 || (options.bm25_k1 == defaults.bm25_k1 && options.bm25_b == defaults.bm25_b),
      "options bm25_k1 and bm25_b: one is given, but they need term_weights bm25");
  require<InvalidOption>(!is_bm25 || options.sublinear_tf,
                         "option sublinear_tf is false, but term_weights bm25 has its own weight "
                         "of repeated terms; give bm25_k1 instead");
  require<InvalidOption>(options.hash_features > 0 || options.hash_seed == 0,
                         "option hash_seed is given, but it needs hash_features");
}

Preprocessing with_options(Preprocessing::Kind kind, const TfidfOptions& options) {
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

/// Which terms the options keep. `terms` are in the order that ends ties. Throws InvalidInput if
/// terms occur, but none is kept.
std::vector<bool> kept_terms(const std::vector<Term>& terms, std::size_t num_rows,
                             const TfidfOptions& options) {
  const auto smallest = static_cast<std::size_t>(options.min_document_frequency);
  const double largest = options.max_document_share * static_cast<double>(num_rows);
  std::vector<std::size_t> ranked;
  std::size_t num_occurring = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    num_occurring += terms[k].num_rows > 0;
    if (terms[k].num_rows < smallest || static_cast<double>(terms[k].num_rows) > largest) continue;
    ranked.push_back(k);
  }
  require(num_occurring == 0 || !ranked.empty(), "tfidf: of the ", num_occurring,
          " terms that occur none is kept, because min_document_frequency is ",
          options.min_document_frequency, " and max_document_share is ", options.max_document_share,
          "; lower the one or raise the other");
  if (options.max_terms > 0) {
    keep_first(ranked, static_cast<std::size_t>(options.max_terms),
               [&](std::size_t a, std::size_t b) {
                 return terms[a].num_rows > terms[b].num_rows ||
                        (terms[a].num_rows == terms[b].num_rows && a < b);
               });
  }
  std::vector<bool> kept(terms.size(), false);
  for (const std::size_t k : ranked) kept[k] = true;
  return kept;
}

double mean_length(const std::vector<Term>& terms, const std::vector<bool>& kept,
                   std::size_t num_rows, const TfidfOptions& options) {
  if (options.term_weights != TextTerms::Weights::bm25) return 0;
  double length = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) length += kept[k] ? terms[k].num_occurrences : 0;
  return num_rows > 0 ? length / static_cast<double>(num_rows) : 0;
}

/// The place of a key, which is a term or a hash, in ascending keys. Keys are looked up by View.
template <class Key, class View>
class PlaceOf {
 public:
  /// Makes a table of all keys only if the documents are long enough to repay it.
  PlaceOf(const std::vector<Key>& keys, std::span<const std::string_view> documents,
          WorkMeter& meter)
      : keys_(keys) {
    std::size_t num_bytes = 0;
    for (const std::string_view document : documents) num_bytes += document.size();
    if (num_bytes < keys.size()) return;
    table_.reserve(keys.size());
    for (const Key& key : keys) {
      meter.add();
      table_.emplace(key, static_cast<std::uint32_t>(table_.size()));
    }
  }
  std::optional<std::uint32_t> find(View key) const {
    if (table_.empty()) {
      const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
      if (at == keys_.end() || *at != key) return std::nullopt;
      return static_cast<std::uint32_t>(at - keys_.begin());
    }
    const auto at = table_.find(key);
    if (at == table_.end()) return std::nullopt;
    return at->second;
  }

 private:
  const std::vector<Key>& keys_;
  std::unordered_map<View, std::uint32_t> table_;
};

/// The column of a term, by its name or by its hash.
class ColumnOfTerm {
 public:
  ColumnOfTerm(const Preprocessing& fitted, std::span<const std::string_view> documents,
               WorkMeter& meter)
      : terms_(fitted.terms),
        by_name_(fitted.vocabulary, documents, meter),
        by_hash_(fitted.hashes, documents, meter) {}
  std::optional<std::uint32_t> find(std::string_view term) const {
    return terms_.num_hashes > 0 ? by_hash_.find(terms_.hash_of(term)) : by_name_.find(term);
  }

 private:
  const TextTerms& terms_;
  PlaceOf<std::string, std::string_view> by_name_;
  PlaceOf<std::uint32_t, std::uint32_t> by_hash_;
};

/// Counts the terms of documents, or their hashes, by key in ascending order, and in `fitted` the
/// documents without terms.
template <class Key, class Table, class KeyOf>
std::vector<std::pair<Key, Term>> counted_terms(Preprocessing& fitted,
                                                std::span<const std::string_view> documents,
                                                const KeyOf& key_of, RunControl* control) {
  Table found;
  TermCutter cutter(fitted.terms, control);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    bool has_terms = false;
    cutter.for_each(documents[i], [&](std::string_view text) {
      has_terms = true;
      const auto key = key_of(text);
      auto at = found.find(key);
      if (at == found.end()) at = found.emplace(key, Term()).first;
      Term& term = at->second;
      ++term.num_occurrences;
      if (term.last_row == i + 1) return;
      term.last_row = i + 1;
      ++term.num_rows;
    });
    fitted.num_rows_without_terms += has_terms ? 0U : 1U;
  }
  WorkMeter meter(control);
  std::vector<std::pair<Key, Term>> terms;
  terms.reserve(found.size());
  for (auto& term : found) {
    meter.add();
    terms.push_back(std::move(term));
  }
  sort_metered(
      terms, [](const auto& a, const auto& b) { return a.first < b.first; }, meter);
  return terms;
}

/// Writes the terms that the options keep to `keys` and their weights to `fitted`.
template <class Key>
void keep_terms(std::vector<std::pair<Key, Term>> terms, std::size_t num_rows,
                const TfidfOptions& options, WorkMeter meter, std::vector<Key>& keys,
                Preprocessing& fitted) {
  std::vector<Term> counted;
  for (const auto& [key, term] : terms) {
    meter.add();
    counted.push_back(term);
  }
  const std::vector<bool> kept = kept_terms(counted, num_rows, options);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    meter.add();
    if (!kept[k]) continue;
    keys.push_back(std::move(terms[k].first));
    fitted.idf.push_back(inverse_frequency(num_rows, counted[k].num_rows, options));
  }
  fitted.average_length = mean_length(counted, kept, num_rows, options);
}

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
  void finish_row() {
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

 private:
  /// Counts become weights, as TextTerms::Weights defines them.
  void weigh() {
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
      } else if (fitted_.sublinear_tf) {
        w = 1 + std::log(w);
      }
      w *= static_cast<double>(fitted_.idf[columns_[k]]);
    }
  }

  void drop_zeros() {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      if (weights_[k] == 0) continue;
      columns_[kept] = columns_[k];
      weights_[kept++] = weights_[k];
    }
    columns_.resize(kept);
    weights_.resize(kept);
  }

  CsrMatrix& X_;
  const Preprocessing& fitted_;
  std::vector<FeatureId> columns_;
  std::vector<double> weights_;  // counts, until the row is finished
  std::vector<float> values_;
};

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

Preprocessing fit_texts(std::span<const std::string_view> documents, const TfidfOptions& options,
                        bool needs_terms, RunControl* control) {
  check_options(options);
  Preprocessing fitted = with_options(Preprocessing::Kind::text_tfidf, options);
  fitted.terms = {.words = options.word_ngrams,
                  .characters = options.char_ngrams,
                  .stop_words = options.stop_words,
                  .num_hashes = static_cast<std::uint32_t>(options.hash_features),
                  .hash_seed = options.hash_seed,
                  .stem = options.stem};
  std::vector<std::string>& stop_words = fitted.terms.stop_words;
  std::sort(stop_words.begin(), stop_words.end());
  stop_words.erase(std::unique(stop_words.begin(), stop_words.end()), stop_words.end());
  const TextTerms& terms = fitted.terms;
  if (terms.num_hashes > 0) {
    auto counted = counted_terms<std::uint32_t, std::unordered_map<std::uint32_t, Term>>(
        fitted, documents, [&](std::string_view text) { return terms.hash_of(text); }, control);
    keep_terms(std::move(counted), documents.size(), options, WorkMeter(control), fitted.hashes,
               fitted);
  } else {
    using Table = std::unordered_map<std::string, Term, TextHash, std::equal_to<>>;
    auto counted = counted_terms<std::string, Table>(
        fitted, documents, [](std::string_view text) { return text; }, control);
    keep_terms(std::move(counted), documents.size(), options, WorkMeter(control), fitted.vocabulary,
               fitted);
  }
  const std::size_t num_rows = documents.size();
  require(!needs_terms || num_rows == 0 || fitted.num_rows_without_terms < num_rows,
          "tfidf: none of the ", num_rows,
          " texts has a term; words are made of letters and digits, word_ngrams is ",
          terms.words.to_text(), ", char_ngrams ", terms.characters.to_text(), " and ",
          stop_words.size(), " stop words are left out");
  return fitted;
}

Preprocessing Preprocessing::fit_text(std::span<const std::string> documents,
                                      const TfidfOptions& options) {
  return fit_texts(views_of(documents), options);
}

std::string Preprocessing::term_name(FeatureId column) const {
  return column < hashes.size() ? concat("hash ", hashes[column]) : vocabulary[column];
}

Preprocessing Preprocessing::fit_counts(const CsrView& counts, const TfidfOptions& options) {
  return margrove::fit_counts(counts, options, nullptr);
}

Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options, RunControl* control) {
  check_options(options);
  require<InvalidOption>(
      TextTerms{options.word_ngrams, options.char_ngrams, options.stop_words} == TextTerms(),
      "options word_ngrams, char_ngrams and stop_words: one is given, but they are for texts, and "
      "the rows hold counts");
  require<InvalidOption>(options.stem.is_none(), "option stem is ", options.stem.language,
                         ", but it is for texts, and the rows hold counts");
  require<InvalidOption>(options.hash_features == 0, "option hash_features is ",
                         options.hash_features, ", but it is for texts, and the rows hold counts");
  WorkMeter meter(control);
  std::vector<Term> terms(counts.num_columns());
  for (std::size_t i = 0; i < counts.num_rows(); ++i) {
    const SparseRow row = counts.row(i);
    meter.add(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
      require_count(i, row.columns[k], row.values[k]);
      Term& term = terms[row.columns[k]];
      term.num_occurrences += static_cast<double>(row.values[k]);
      term.num_rows += row.values[k] > 0 ? 1U : 0U;
    }
  }
  Preprocessing fitted = with_options(Preprocessing::Kind::count_tfidf, options);
  const std::vector<bool> kept = kept_terms(terms, counts.num_rows(), options);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    fitted.idf.push_back(kept[k] ? inverse_frequency(counts.num_rows(), terms[k].num_rows, options)
                                 : 0.0F);
  }
  fitted.average_length = mean_length(terms, kept, counts.num_rows(), options);
  return fitted;
}

Preprocessing Preprocessing::unit_norm() {
  Preprocessing fitted;
  fitted.kind = Kind::normalize;
  return fitted;
}

CsrMatrix weigh_texts(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control) {
  require(fitted.kind == Preprocessing::Kind::text_tfidf,
          "preprocessing: it was not fitted on text");
  WorkMeter meter(control);
  const ColumnOfTerm column_of(fitted, documents, meter);
  CsrMatrix X(static_cast<std::uint32_t>(fitted.idf.size()));
  RowWriter writer(X, fitted);
  TermCutter cutter(fitted.terms, control);
  std::vector<Entry> row;
  for (const std::string_view document : documents) {
    row.clear();
    cutter.for_each(document, [&](std::string_view term) {
      if (const auto column = column_of.find(term)) row.push_back({*column, 1});
    });
    merge_equal(row, meter);
    for (const auto [column, count] : row) writer.add(column, count);
    writer.finish_row();
  }
  return X;
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
