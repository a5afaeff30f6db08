#include "data/text_views.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/out_of_time.hpp"
#include "base/work_meter.hpp"
#include "data/term_weights.hpp"
#include "data/terms.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// A hash of a term as bytes that a table takes. It refers to the hash.
Term bytes_of(const std::uint32_t& hash) {
  return {{reinterpret_cast<const char*>(&hash), sizeof(hash)}};
}

std::uint32_t hash_of(const Term& bytes) {
  std::uint32_t hash = 0;
  std::memcpy(&hash, bytes.characters.data(), sizeof(hash));
  return hash;
}

/// What visit(term, key) gives of the term, or of its hash where the terms have columns by hashes.
template <class Visit>
std::uint32_t look_up(const TextTerms& terms, const Term& term, std::uint64_t key,
                      const Visit& visit) {
  if (terms.num_hashes == 0) return visit(term, key);
  const std::uint32_t hash = terms.hash_of(term.name());
  return visit(bytes_of(hash), TermTable::key_of(bytes_of(hash)));
}

/// The column of a term, by its name or by its hash.
class ColumnOfTerm {
 public:
  /// Makes a table of all terms only if the documents are long enough to repay it.
  ColumnOfTerm(const Preprocessing& fitted, std::span<const std::string_view> documents,
               WorkMeter& meter)
      : fitted_(fitted) {
    std::size_t num_bytes = 0;
    for (const std::string_view document : documents) num_bytes += document.size();
    if (num_bytes < fitted.idf.size()) return;
    table_ = TermTable(fitted.idf.size());
    DelayedTerms delayed(
        table_, [&](const Term& term, std::uint64_t key) { table_.find_or_add(term, key); });
    for (const std::string& name : fitted.vocabulary) {
      meter.add();
      delayed.add(Term::of_name(name));
    }
    delayed.finish();
    for (const std::uint32_t hash : fitted.hashes) {
      meter.add();
      table_.find_or_add(bytes_of(hash));
    }
  }
  const TermTable& table() const { return table_; }
  /// TermTable::kNone for a term that has no column.
  std::uint32_t find(const Term& term, std::uint64_t key) const {
    if (table_.size() > 0) {
      return look_up(fitted_.terms, term, key,
                     [&](const Term& found, std::uint64_t of) { return table_.find(found, of); });
    }
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

/// The order of the terms' names, which are made only where an apostrophe may decide.
bool is_before(const Term& a, const Term& b) {
  if (a.is_run || b.is_run) return a.name() < b.name();
  return a.characters < b.characters;
}

/// Whether a term is of several words or of characters.
bool is_ngram(const Term& term) {
  return term.is_run || term.characters.find(' ') != std::string_view::npos;
}

/// Calls visit(term, key) for each term of a document, which `table` is to find.
template <class Visit>
void for_each_term(std::string_view document, TermCutter& cutter, const TermTable& table,
                   const Visit& visit) {
  DelayedTerms delayed(table, visit);
  cutter.for_each(document, [&](const Term& term) { delayed.add(term); });
  delayed.finish();
}

/// The terms of documents, or their hashes, with their counts.
struct CountedTerms {
  TermTable table;
  std::vector<TermCount> counts;  // by the numbers of the table
  /// The numbers of the terms of all documents as they occur, and where those of each document end;
  /// empty if they are more than `most_kept`.
  std::vector<std::uint32_t> occurrences;
  std::vector<std::size_t> ends;

  /// Also counts, in `fitted`, the documents without terms.
  CountedTerms(Preprocessing& fitted, std::span<const std::string_view> documents,
               std::size_t most_kept, RunControl* control) {
    bool keeps_occurrences = most_kept > 0;
    TermCutter cutter(fitted.terms, control);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      bool has_terms = false;
      for_each_term(documents[i], cutter, table, [&](const Term& term, std::uint64_t key) {
        has_terms = true;
        const std::uint32_t number = look_up(
            fitted.terms, term, key,
            [&](const Term& found, std::uint64_t of) { return table.find_or_add(found, of); });
        if (number == counts.size()) {
          counts.push_back({.is_ngram = fitted.terms.num_hashes == 0 && is_ngram(term)});
        }
        TermCount& count = counts[number];
        ++count.num_occurrences;
        count.num_rows += count.last_row == i + 1 ? 0U : 1U;
        count.last_row = i + 1;
        if (occurrences.size() >= most_kept) keeps_occurrences = false;
        if (keeps_occurrences) occurrences.push_back(number);
      });
      fitted.num_rows_without_terms += has_terms ? 0U : 1U;
      if (keeps_occurrences) ends.push_back(occurrences.size());
    }
    if (!keeps_occurrences) {
      occurrences = {};
      ends = {};
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
          places.push_back({has_names ? prefix_of(key) : hash_of(key), number});
        }
        sort_metered(
            places,
            [&](const Place& a, const Place& b) {
              if (a.prefix != b.prefix || !has_names) return a.prefix < b.prefix;
              return is_before(terms.table.term(a.number), terms.table.term(b.number));
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
      fitted.hashes.push_back(hash_of(key));
    }
    fitted.idf.push_back(inverse_frequency(num_rows, terms.counts[number].num_rows, options));
  }
  fitted.average_length = mean_length(terms.counts, kept, num_rows, options);
  return kept;
}

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

/// The options as a model keeps them, without terms.
Preprocessing without_vocabulary(const TfidfOptions& options, RunControl* control) {
  check_tfidf(options);
  Preprocessing fitted = weighting_of(Preprocessing::Kind::text_tfidf, options);
  fitted.terms = {.words = options.word_ngrams,
                  .characters = options.char_ngrams,
                  .stop_words = options.stop_words,
                  .num_hashes = static_cast<std::uint32_t>(options.hash_features),
                  .hash_seed = options.hash_seed,
                  .stem = options.stem,
                  .normal_form = options.normal_form,
                  .casing = options.casing};
  if (options.vectors != "none" || options.encoder != nullptr) {
    require<InvalidOption>(options.encoder != nullptr, "option vectors is '", options.vectors,
                           "', but TfidfOptions::encoder, which makes them here, is null");
    fitted.vectors = {options.encoder->facts(control), options.vector_share, options.encoder};
    require(fitted.vectors.width() > 0, "option vectors: the encoder has vectors of 0 numbers");
  }
  std::vector<std::string>& stop_words = fitted.terms.stop_words;
  std::sort(stop_words.begin(), stop_words.end());
  stop_words.erase(std::unique(stop_words.begin(), stop_words.end()), stop_words.end());
  return fitted;
}

void require_same(const TextEncoder::Facts& trained, const TextEncoder::Facts& found) {
  require(found.digest == trained.digest && found.width == trained.width,
          "the model takes vectors of ", trained.width, " numbers of encoder ", trained.name,
          " with digest ", trained.digest, ", but encoder ", found.name, " has ", found.width,
          " and digest ", found.digest);
}

/// A vector of the given norm, with its zeros, so that all rows have all of its columns.
void append_scaled(std::span<const float> vector, double norm, FeatureId first,
                   std::vector<FeatureId>& columns, std::vector<float>& values) {
  double square = 0;
  for (const float x : vector) {
    require(std::isfinite(x), "a vector has the number ", x, ", but must be finite");
    square += double{x} * double{x};
  }
  const double scale = square > 0 ? norm / std::sqrt(square) : 0.0;
  for (std::size_t j = 0; j < vector.size(); ++j) {
    columns.push_back(first + static_cast<FeatureId>(j));
    values.push_back(static_cast<float>(scale * double{vector[j]}));
  }
}

/// Unless rows have other features.
void require_terms(Preprocessing& fitted, bool needs_terms, std::size_t num_rows) {
  if (fitted.vectors.width() > 0) fitted.num_rows_without_terms = 0;
  if (!needs_terms) return;
  const TextTerms& terms = fitted.terms;
  require(num_rows == 0 || fitted.num_rows_without_terms < num_rows, "tfidf: none of the ",
          num_rows, " texts has a term; words are made of letters and digits, word_ngrams is ",
          terms.words.to_text(), ", char_ngrams ", terms.characters.to_text(), " and ",
          terms.stop_words.size(), " stop words are left out");
}

}  // namespace

Preprocessing fit_texts(std::span<const std::string_view> documents, const TfidfOptions& options,
                        bool needs_terms, RunControl* control) {
  Preprocessing fitted = without_vocabulary(options, control);
  const CountedTerms terms(fitted, documents, /*most_kept=*/0, control);
  keep_terms(terms, documents.size(), options, WorkMeter(control), fitted);
  require_terms(fitted, needs_terms, documents.size());
  return fitted;
}

FittedTexts fit_and_weigh_texts(std::span<const std::string_view> documents,
                                const TfidfOptions& options, bool needs_terms, RunControl* control,
                                std::size_t most_kept) {
  FittedTexts result = fit_and_weigh_terms(documents, options, needs_terms, control, most_kept);
  result.X = with_vectors(std::move(result.X), result.fitted, documents, control);
  return result;
}

FittedTexts fit_and_weigh_terms(std::span<const std::string_view> documents,
                                const TfidfOptions& options, bool needs_terms, RunControl* control,
                                std::size_t most_kept) {
  FittedTexts result{without_vocabulary(options, control), {}};
  Preprocessing& fitted = result.fitted;
  CsrMatrix& X = result.X;
  const CountedTerms terms(fitted, documents, most_kept, control);
  WorkMeter meter(control);
  const auto kept = keep_terms(terms, documents.size(), options, meter, fitted);
  require_terms(fitted, needs_terms, documents.size());
  std::vector<std::uint32_t> columns(terms.counts.size(), TermTable::kNone);
  for (std::uint32_t j = 0; j < kept.size(); ++j) columns[kept[j]] = j;
  X = CsrMatrix(static_cast<std::uint32_t>(kept.size()));
  TermRowWriter writer(X, fitted);
  TermCutter cutter(fitted.terms, control);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (terms.ends.empty()) {
      for_each_term(documents[i], cutter, terms.table, [&](const Term& term, std::uint64_t key) {
        writer.add(columns[look_up(fitted.terms, term, key, [&](const Term& t, std::uint64_t of) {
          return terms.table.find(t, of);
        })]);
      });
    } else {
      const std::size_t begin = i == 0 ? 0 : terms.ends[i - 1];
      meter.add(terms.ends[i] - begin);
      for (std::size_t k = begin; k < terms.ends[i]; ++k) writer.add(columns[terms.occurrences[k]]);
    }
    writer.finish_row();
  }
  return result;
}

CsrMatrix weigh_texts(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control) {
  return with_vectors(weigh_terms(fitted, documents, control), fitted, documents, control);
}

CsrMatrix weigh_terms(const Preprocessing& fitted, std::span<const std::string_view> documents,
                      RunControl* control) {
  require(fitted.kind == Preprocessing::Kind::text_tfidf,
          "preprocessing: it was not fitted on text");
  WorkMeter meter(control);
  const ColumnOfTerm column_of(fitted, documents, meter);
  CsrMatrix X(static_cast<std::uint32_t>(fitted.idf.size()));
  TermRowWriter writer(X, fitted);
  TermCutter cutter(fitted.terms, control);
  for (const std::string_view document : documents) {
    for_each_term(document, cutter, column_of.table(), [&](const Term& term, std::uint64_t key) {
      writer.add(column_of.find(term, key));
    });
    writer.finish_row();
  }
  return X;
}

void append_with_vectors(const CsrMatrix& X, std::size_t first_row, std::span<const float> vectors,
                         const VectorBlock& block, CsrMatrix& joined) {
  const auto term_scale = static_cast<float>(block.term_scale);
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = first_row; !vectors.empty(); ++i) {
    const SparseRow row = X.row(i);
    columns.assign(row.columns.begin(), row.columns.end());
    values.assign(row.values.begin(), row.values.end());
    for (std::size_t e = 0; e < values.size() && columns[e] < block.num_terms; ++e) {
      values[e] *= term_scale;
    }
    append_scaled(vectors.first(block.width), block.norm, X.num_columns(), columns, values);
    joined.append_row(columns, values);
    vectors = vectors.subspan(block.width);
  }
}

CsrMatrix with_vectors(CsrMatrix X, const Preprocessing& fitted,
                       std::span<const std::string_view> documents, RunControl* control) {
  const auto& [facts, share, encoder] = fitted.vectors;
  if (facts.width == 0) return X;
  require(encoder != nullptr, "preprocessing: there is no encoder for its vectors of ", facts.name);
  require_same(facts, encoder->facts(control));
  constexpr std::size_t kTogether = 1024;
  const VectorBlock block{fitted.idf.size(), facts.width, std::sqrt(share), std::sqrt(1 - share)};
  CsrMatrix joined(X.num_columns() + facts.width);
  for (std::size_t begin = 0; begin < documents.size(); begin += kTogether) {
    const auto texts = documents.subspan(begin, std::min(kTogether, documents.size() - begin));
    const std::vector<float> vectors = encoder->encode(texts, control);
    end_if_out_of_time(control);
    require(vectors.size() == texts.size() * facts.width, "encoder ", facts.name, " made ",
            vectors.size(), " numbers of ", texts.size(), " texts, but must make ", facts.width,
            " of each");
    append_with_vectors(X, begin, vectors, block, joined);
  }
  return joined;
}

}  // namespace margrove
