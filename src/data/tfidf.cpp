#include "margrove/tfidf.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

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
/// The counts of a term in the training rows.
struct TermCount {
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

/// The numbers of the terms that the options keep. `sort` brings numbers into the order in which
/// the terms become columns, which also ends ties. Throws InvalidInput if terms occur, but none is
/// kept.
template <class Sort>
std::vector<std::uint32_t> kept_terms(const std::vector<TermCount>& counts, std::size_t num_rows,
                                      const TfidfOptions& options, const Sort& sort) {
  const auto smallest = static_cast<std::size_t>(options.min_document_frequency);
  const double largest = options.max_document_share * static_cast<double>(num_rows);
  std::vector<std::uint32_t> kept;
  std::size_t num_occurring = 0;
  for (std::uint32_t k = 0; k < counts.size(); ++k) {
    const std::size_t rows = counts[k].num_rows;
    num_occurring += rows > 0;
    if (rows >= smallest && static_cast<double>(rows) <= largest) kept.push_back(k);
  }
  require(num_occurring == 0 || !kept.empty(), "tfidf: of the ", num_occurring,
          " terms that occur none is kept, because min_document_frequency is ",
          options.min_document_frequency, " and max_document_share is ", options.max_document_share,
          "; lower the one or raise the other");
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
                   std::size_t num_rows, const TfidfOptions& options) {
  if (options.term_weights != TextTerms::Weights::bm25) return 0;
  double length = 0;
  for (const std::uint32_t k : kept) length += counts[k].num_occurrences;
  return num_rows > 0 ? length / static_cast<double>(num_rows) : 0;
}

/// What stands for a term in the table: the term, or the bytes of its hash. A hash is valid until
/// the next one is asked for.
class TermKey {
 public:
  explicit TermKey(const TextTerms& terms) : terms_(terms) {}
  Term of(const Term& term) {
    return terms_.num_hashes == 0 ? term : of(terms_.hash_of(term.name()));
  }
  Term of(std::uint32_t hash) {
    hash_ = hash;
    return {{reinterpret_cast<const char*>(&hash_), sizeof(hash_)}};
  }
  static std::uint32_t hash_of(const Term& key) {
    std::uint32_t hash = 0;
    std::memcpy(&hash, key.characters.data(), sizeof(hash));
    return hash;
  }

 private:
  const TextTerms& terms_;
  std::uint32_t hash_ = 0;
};

/// The column of a term, by its name or by its hash.
class ColumnOfTerm {
 public:
  /// Makes a table of all terms only if the documents are long enough to repay it.
  ColumnOfTerm(const Preprocessing& fitted, std::span<const std::string_view> documents,
               WorkMeter& meter)
      : fitted_(fitted), key_(fitted.terms) {
    std::size_t num_bytes = 0;
    for (const std::string_view document : documents) num_bytes += document.size();
    if (num_bytes < fitted.idf.size()) return;
    table_ = TermTable(fitted.idf.size());
    for (const std::string& name : fitted.vocabulary) {
      meter.add();
      table_.find_or_add(Term::of_name(name));
    }
    for (const std::uint32_t hash : fitted.hashes) {
      meter.add();
      table_.find_or_add(key_.of(hash));
    }
  }
  const TermTable& table() const { return table_; }
  /// TermTable::kNone for a term that has no column.
  std::uint32_t find(const Term& term) {
    if (table_.size() > 0) return table_.find(key_.of(term));
    return fitted_.hashes.empty() ? place(fitted_.vocabulary, term.name())
                                  : place(fitted_.hashes, fitted_.terms.hash_of(term.name()));
  }

 private:
  template <class Key>
  static std::uint32_t place(const std::vector<Key>& keys, const Key& key) {
    const auto at = std::lower_bound(keys.begin(), keys.end(), key);
    if (at == keys.end() || *at != key) return TermTable::kNone;
    return static_cast<std::uint32_t>(at - keys.begin());
  }

  const Preprocessing& fitted_;
  TermKey key_;
  TermTable table_;
};

/// The first bytes of a term's name, whose order is that of the names where they differ.
std::uint64_t prefix_of(const Term& term) {
  std::uint64_t prefix = term.is_run ? '\'' : 0;
  std::size_t size = term.is_run ? 1 : 0;
  const auto append = [&](char byte) { prefix = prefix << 8U | static_cast<unsigned char>(byte); };
  for (const char byte : term.characters.substr(0, sizeof(prefix) - size)) {
    append(byte);
    ++size;
  }
  if (term.is_run && size < sizeof(prefix)) {
    append('\'');
    ++size;
  }
  return size == 0 ? 0 : prefix << (sizeof(prefix) - size) * 8;
}

/// Calls visit(term) for each term of a document, which `table` is to find.
template <class Visit>
void for_each_term(std::string_view document, TermCutter& cutter, const TermTable& table,
                   const Visit& visit) {
  DelayedTerms delayed(table, visit);
  cutter.for_each(document, [&](const Term& term) { delayed.add(term); });
  delayed.finish();
}

/// The terms of documents, or their hashes, with their counts.
struct CountedTerms {
  /// More than so many numbers are not kept: the texts are cut again.
  static constexpr std::size_t kMostOccurrences = std::size_t{1} << 28U;

  TermTable table;
  std::vector<TermCount> counts;  // by the numbers of the table
  /// The numbers of the terms of all documents as they occur, and where those of each document end;
  /// empty if they are not asked for or too many.
  std::vector<std::uint32_t> occurrences;
  std::vector<std::size_t> ends;

  /// Also counts, in `fitted`, the documents without terms.
  CountedTerms(Preprocessing& fitted, std::span<const std::string_view> documents,
               bool keeps_occurrences, RunControl* control) {
    TermCutter cutter(fitted.terms, control);
    TermKey key(fitted.terms);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      bool has_terms = false;
      for_each_term(documents[i], cutter, table, [&](const Term& term) {
        has_terms = true;
        const std::uint32_t number = table.find_or_add(key.of(term));
        if (number == counts.size()) counts.emplace_back();
        TermCount& count = counts[number];
        ++count.num_occurrences;
        count.num_rows += count.last_row == i + 1 ? 0U : 1U;
        count.last_row = i + 1;
        if (keeps_occurrences) occurrences.push_back(number);
      });
      fitted.num_rows_without_terms += has_terms ? 0U : 1U;
      if (keeps_occurrences) ends.push_back(occurrences.size());
      if (occurrences.size() > kMostOccurrences) {
        keeps_occurrences = false;
        occurrences = {};
        ends = {};
      }
    }
  }
};

/// Writes the terms that the options keep and their weights to `fitted`; returns their numbers.
std::vector<std::uint32_t> keep_terms(const CountedTerms& terms, std::size_t num_rows,
                                      const TfidfOptions& options, WorkMeter meter,
                                      Preprocessing& fitted) {
  const bool has_names = fitted.terms.num_hashes == 0;
  const auto kept =
      kept_terms(terms.counts, num_rows, options, [&](std::vector<std::uint32_t>& numbers) {
        // Comparisons of a few bytes of the name decide nearly always.
        struct Place {
          std::uint64_t prefix;
          std::uint32_t number;
        };
        std::vector<Place> places;
        places.reserve(numbers.size());
        for (const std::uint32_t number : numbers) {
          const Term key = terms.table.term(number);
          meter.add();
          places.push_back({has_names ? prefix_of(key) : TermKey::hash_of(key), number});
        }
        sort_metered(
            places,
            [&](const Place& a, const Place& b) {
              if (a.prefix != b.prefix || !has_names) return a.prefix < b.prefix;
              return terms.table.term(a.number).name() < terms.table.term(b.number).name();
            },
            meter);
        std::ranges::transform(places, numbers.begin(), &Place::number);
      });
  for (const std::uint32_t number : kept) {
    meter.add();
    const Term key = terms.table.term(number);
    if (has_names) {
      fitted.vocabulary.push_back(key.name());
    } else {
      fitted.hashes.push_back(TermKey::hash_of(key));
    }
    fitted.idf.push_back(inverse_frequency(num_rows, terms.counts[number].num_rows, options));
  }
  fitted.average_length = mean_length(terms.counts, kept, num_rows, options);
  return kept;
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
      } else if (fitted_.sublinear_tf && w != 1) {
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

/// Sorts numbers: by their digits of 11 bits, one after the other, where they are many.
void sort_numbers(std::vector<std::uint32_t>& numbers, std::vector<std::uint32_t>& scratch) {
  constexpr std::size_t kFew = 256;
  constexpr int kBits = 11;
  constexpr std::uint32_t kDigit = (1U << kBits) - 1;
  if (numbers.size() <= kFew) return std::sort(numbers.begin(), numbers.end());
  const std::uint32_t largest = *std::ranges::max_element(numbers);
  scratch.resize(numbers.size());
  for (int shift = 0; shift < 32 && (largest >> shift) > 0; shift += kBits) {
    std::array<std::size_t, kDigit + 1> places{};
    for (const std::uint32_t number : numbers) ++places[number >> shift & kDigit];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
    for (const std::uint32_t number : numbers) scratch[places[number >> shift & kDigit]++] = number;
    numbers.swap(scratch);
  }
}

/// Writes rows of terms.
class TermRowWriter {
 public:
  TermRowWriter(CsrMatrix& X, const Preprocessing& fitted) : writer_(X, fitted) {}
  /// The column of a term, as often as it occurs in the row; kNone has none.
  void add(std::uint32_t column) {
    if (column != TermTable::kNone) columns_.push_back(column);
  }
  void finish_row() {
    sort_numbers(columns_, scratch_);
    for (std::size_t k = 0; k < columns_.size();) {
      const std::size_t first = k;
      while (k < columns_.size() && columns_[k] == columns_[first]) ++k;
      writer_.add(columns_[first], static_cast<double>(k - first));
    }
    writer_.finish_row();
    columns_.clear();
  }

 private:
  RowWriter writer_;
  std::vector<FeatureId> columns_, scratch_;
};

void require_count(std::size_t row, FeatureId column, float count) {
  require(count >= 0 && std::isfinite(count), "tfidf: count[", row, ", ", column, "] is ", count,
          ", but must be a number >= 0");
}
/// The choice of terms and weights of a model.
void check_weights(const Preprocessing& fitted, bool has_words, bool has_idf) {
  const TextTerms& terms = fitted.terms;
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

namespace {

/// The options as a model keeps them, without terms.
Preprocessing without_vocabulary(const TfidfOptions& options) {
  check_options(options);
  Preprocessing fitted = with_options(Preprocessing::Kind::text_tfidf, options);
  fitted.terms = {.words = options.word_ngrams,
                  .characters = options.char_ngrams,
                  .stop_words = options.stop_words,
                  .num_hashes = static_cast<std::uint32_t>(options.hash_features),
                  .hash_seed = options.hash_seed};
  std::vector<std::string>& stop_words = fitted.terms.stop_words;
  std::sort(stop_words.begin(), stop_words.end());
  stop_words.erase(std::unique(stop_words.begin(), stop_words.end()), stop_words.end());
  return fitted;
}

void require_terms(const Preprocessing& fitted, std::size_t num_rows) {
  const TextTerms& terms = fitted.terms;
  require(num_rows == 0 || fitted.num_rows_without_terms < num_rows, "tfidf: none of the ",
          num_rows, " texts has a term; words are made of letters and digits, word_ngrams is ",
          terms.words.to_text(), ", char_ngrams ", terms.characters.to_text(), " and ",
          terms.stop_words.size(), " stop words are left out");
}

}  // namespace

Preprocessing fit_texts(std::span<const std::string_view> documents, const TfidfOptions& options,
                        bool needs_terms, RunControl* control) {
  Preprocessing fitted = without_vocabulary(options);
  const CountedTerms terms(fitted, documents, /*keeps_occurrences=*/false, control);
  keep_terms(terms, documents.size(), options, WorkMeter(control), fitted);
  if (needs_terms) require_terms(fitted, documents.size());
  return fitted;
}

FittedTexts fit_and_weigh_texts(std::span<const std::string_view> documents,
                                const TfidfOptions& options, bool needs_terms,
                                RunControl* control) {
  FittedTexts result{without_vocabulary(options), {}};
  auto& [fitted, X] = result;
  const CountedTerms terms(fitted, documents, /*keeps_occurrences=*/true, control);
  WorkMeter meter(control);
  const auto kept = keep_terms(terms, documents.size(), options, meter, fitted);
  if (needs_terms) require_terms(fitted, documents.size());
  std::vector<std::uint32_t> columns(terms.counts.size(), TermTable::kNone);
  for (std::uint32_t j = 0; j < kept.size(); ++j) columns[kept[j]] = j;
  X = CsrMatrix(static_cast<std::uint32_t>(kept.size()));
  TermRowWriter writer(X, fitted);
  TermCutter cutter(fitted.terms, control);
  TermKey key(fitted.terms);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (terms.ends.empty()) {
      for_each_term(documents[i], cutter, terms.table,
                    [&](const Term& term) { writer.add(columns[terms.table.find(key.of(term))]); });
    } else {
      const std::size_t begin = i == 0 ? 0 : terms.ends[i - 1];
      meter.add(terms.ends[i] - begin);
      for (std::size_t k = begin; k < terms.ends[i]; ++k) writer.add(columns[terms.occurrences[k]]);
    }
    writer.finish_row();
  }
  return result;
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
  Preprocessing fitted = with_options(Preprocessing::Kind::count_tfidf, options);
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

CsrMatrix weigh_texts(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control) {
  require(fitted.kind == Preprocessing::Kind::text_tfidf,
          "preprocessing: it was not fitted on text");
  WorkMeter meter(control);
  ColumnOfTerm column_of(fitted, documents, meter);
  CsrMatrix X(static_cast<std::uint32_t>(fitted.idf.size()));
  TermRowWriter writer(X, fitted);
  TermCutter cutter(fitted.terms, control);
  for (const std::string_view document : documents) {
    for_each_term(document, cutter, column_of.table(),
                  [&](const Term& term) { writer.add(column_of.find(term)); });
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
