#include "margrove/tfidf.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "data/column_scale.hpp"
#include "data/csr_operations.hpp"
#include "data/utf8.hpp"
#include "data/words.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
struct WordRange {
  char32_t first;
  char32_t last;
};
struct LowerRun {
  char32_t first;
  char32_t last;
  std::uint32_t stride;
  std::int32_t shift;
};
#include "data/unicode_tables.inc"

/// The entry whose range may hold `c`: the last one that does not start after it.
template <class Entry, std::size_t kSize>
const Entry* find_range(const Entry (&table)[kSize], char32_t c) {
  const Entry* after = std::upper_bound(std::begin(table), std::end(table), c,
                                        [](char32_t x, const Entry& e) { return x < e.first; });
  if (after == std::begin(table) || c > (after - 1)->last) return nullptr;
  return after - 1;
}

bool is_word_character(char32_t c) { return find_range(kWordRanges, c) != nullptr; }

char32_t to_lower(char32_t c) {
  const LowerRun* run = find_range(kLowerRuns, c);
  if (run == nullptr || (c - run->first) % run->stride != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->shift);
}

/// The words of each row and how often they occur, columns ascending.
struct Entry {
  std::uint32_t column;
  std::uint32_t count;
};
void merge_equal(std::vector<Entry>& row) {
  std::sort(row.begin(), row.end(),
            [](const Entry& a, const Entry& b) { return a.column < b.column; });
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

float smooth_idf(std::size_t num_rows, std::size_t document_frequency) {
  const auto n = static_cast<double>(num_rows);
  const auto df = static_cast<double>(document_frequency);
  return static_cast<float>(std::log((1 + n) / (1 + df)) + 1);
}

double term_weight(double count, bool sublinear) { return sublinear ? 1 + std::log(count) : count; }

/// Appends the row, scaled to unit norm; entries of weight 0 are left out.
class RowWriter {
 public:
  explicit RowWriter(CsrMatrix& X) : X_(X) {}
  void add(FeatureId column, double weight) {
    if (weight == 0) return;
    columns_.push_back(column);
    weights_.push_back(weight);
  }
  void finish_row() {
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
  CsrMatrix& X_;
  std::vector<FeatureId> columns_;
  std::vector<double> weights_;
  std::vector<float> values_;
};

void require_count(std::size_t row, FeatureId column, float count) {
  require(count >= 0 && std::isfinite(count), "tfidf: count[", row, ", ", column, "] is ", count,
          ", but must be a number >= 0");
}
}  // namespace

namespace detail {
std::size_t next_word(std::string_view text, std::string& word) {
  word.clear();
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      const bool upper = byte >= 'A' && byte <= 'Z';
      const bool inside =
          upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
      if (inside) {
        word += static_cast<char>(upper ? byte + ('a' - 'A') : byte);
      } else if (!word.empty()) {
        break;
      }
      ++at;
      continue;
    }
    const CodePoint c = decode_utf8(text.substr(at));
    if (c.size > 0 && is_word_character(c.value)) {
      append_utf8(word, to_lower(c.value));
    } else if (!word.empty()) {
      break;
    }
    at += std::max<std::size_t>(c.size, 1);
  }
  return at;
}
}  // namespace detail

Preprocessing Preprocessing::fit_text(std::span<const std::string> documents,
                                      const TfidfOptions& options) {
  validate(options);
  struct Seen {
    std::size_t num_documents = 0;
    std::size_t last_document = 0;  // counted from 1
  };
  std::unordered_map<std::string, Seen> words;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for_each_word(documents[i], [&](std::string_view word) {
      Seen& seen = words[std::string(word)];
      if (seen.last_document == i + 1) return;
      seen.last_document = i + 1;
      ++seen.num_documents;
    });
  }
  Preprocessing fitted;
  fitted.kind = Kind::text_tfidf;
  fitted.sublinear_tf = options.sublinear_tf;
  const auto smallest = static_cast<std::size_t>(options.min_document_frequency);
  for (const auto& [word, seen] : words) {
    if (seen.num_documents >= smallest) fitted.vocabulary.push_back(word);
  }
  std::sort(fitted.vocabulary.begin(), fitted.vocabulary.end());
  for (const auto& word : fitted.vocabulary) {
    fitted.idf.push_back(smooth_idf(documents.size(), words[word].num_documents));
  }
  return fitted;
}

Preprocessing Preprocessing::fit_counts(const CsrView& counts, const TfidfOptions& options) {
  validate(options);
  std::vector<std::size_t> document_frequency(counts.num_columns(), 0);
  for (std::size_t i = 0; i < counts.num_rows(); ++i) {
    const SparseRow row = counts.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      require_count(i, row.columns[k], row.values[k]);
      document_frequency[row.columns[k]] += row.values[k] > 0 ? 1U : 0U;
    }
  }
  Preprocessing fitted;
  fitted.kind = Kind::count_tfidf;
  fitted.sublinear_tf = options.sublinear_tf;
  const auto smallest = static_cast<std::size_t>(options.min_document_frequency);
  for (const std::size_t df : document_frequency) {
    fitted.idf.push_back(df >= smallest ? smooth_idf(counts.num_rows(), df) : 0.0F);
  }
  return fitted;
}

Preprocessing Preprocessing::unit_norm() {
  Preprocessing fitted;
  fitted.kind = Kind::normalize;
  return fitted;
}

CsrMatrix Preprocessing::apply(std::span<const std::string> documents) const {
  require(kind == Kind::text_tfidf, "preprocessing: it was not fitted on text");
  std::unordered_map<std::string_view, std::uint32_t> column_of;
  column_of.reserve(vocabulary.size());
  for (const auto& word : vocabulary) {
    column_of.emplace(word, static_cast<std::uint32_t>(column_of.size()));
  }
  CsrMatrix X(static_cast<std::uint32_t>(vocabulary.size()));
  RowWriter writer(X);
  std::vector<Entry> row;
  for (const auto& document : documents) {
    row.clear();
    for_each_word(document, [&](std::string_view word) {
      const auto found = column_of.find(word);
      if (found != column_of.end()) row.push_back({found->second, 1});
    });
    merge_equal(row);
    for (const auto [column, count] : row) {
      writer.add(column, term_weight(count, sublinear_tf) * idf[column]);
    }
    writer.finish_row();
  }
  return X;
}

CsrMatrix Preprocessing::apply(const CsrView& X) const {
  require(kind != Kind::text_tfidf, "preprocessing: it was fitted on text, not on rows of numbers");
  if (!columns.empty()) {
    Preprocessing of_selected = *this;
    of_selected.columns.clear();
    CsrMatrix selected = select_columns(X, columns);
    return of_selected.keeps_rows() ? std::move(selected) : of_selected.apply(selected.view());
  }
  if (kind == Kind::scale) return scale_columns(X, centre, spread);
  if (kind != Kind::count_tfidf) {
    CsrMatrix same(X.num_columns());
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      same.append_row(X.row(i).columns, X.row(i).values);
    }
    if (kind == Kind::normalize) normalize_rows(same);
    return same;
  }
  CsrMatrix weighted(static_cast<std::uint32_t>(idf.size()));
  RowWriter writer(weighted);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow row = X.row(i);
    for (std::size_t k = 0; k < row.size() && row.columns[k] < idf.size(); ++k) {
      require_count(i, row.columns[k], row.values[k]);
      if (row.values[k] == 0) continue;
      writer.add(row.columns[k], term_weight(static_cast<double>(row.values[k]), sublinear_tf) *
                                     idf[row.columns[k]]);
    }
    writer.finish_row();
  }
  return weighted;
}

void Preprocessing::check() const {
  const bool has_words = kind == Kind::text_tfidf;
  const bool has_idf = has_words || kind == Kind::count_tfidf;
  require(has_words ? vocabulary.size() == idf.size() : vocabulary.empty(),
          "preprocessing: ", vocabulary.size(), " words, but ", idf.size(), " idf weights");
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
