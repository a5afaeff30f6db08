#pragma once
// The terms of texts. Training, prediction and explanations all cut texts here.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/work_meter.hpp"
#include "data/stemmer.hpp"
#include "data/words.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// A hash for lookups by text that make no copy of it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

/// Cuts texts into terms. It refers to the choice, which must outlive it, and asks a control while
/// it works, also within a word.
class TermCutter {
 public:
  /// `control` may be null.
  explicit TermCutter(const TextTerms& choice, RunControl* control = nullptr);

  /// Calls visit(term) for each term, as often as it occurs. The term is valid during the call
  /// only. A word that has at most N characters, borders included, gives itself once for all
  /// lengths from N on, as scikit-learn's char_wb does. Throws OutOfTime where the control asks to
  /// end. O(bytes * lengths of n-grams).
  template <class Visit>
  void for_each(std::string_view text, const Visit& visit) {
    if (single_words_) return for_each_word(text, choice_.word_rule, meter_, visit);
    read_words(text);
    if (stemmer_) stem_words();
    for (int n = choice_.words.first; n <= choice_.words.last && n > 0; ++n) {
      const auto length = static_cast<std::size_t>(n);
      for_metered(ends_.size() < length ? 0 : ends_.size() - length + 1, [&](std::size_t k) {
        const std::size_t begin = k == 0 ? 0 : ends_[k - 1] + 1;
        visit(std::string_view(words_).substr(begin, ends_[k + length - 1] - begin));
      });
    }
    if (choice_.characters.is_none()) return;
    if (stemmer_) std::swap(words_, other_words_), std::swap(ends_, other_ends_);
    for (std::size_t k = 0; k < ends_.size(); ++k) {
      const std::size_t begin = k == 0 ? 0 : ends_[k - 1] + 1;
      for_each_run(std::string_view(words_).substr(begin, ends_[k] - begin), visit);
    }
  }

 private:
  /// Sets words_ to the words that are no stop words, with a blank between them.
  void read_words(std::string_view text);
  /// Sets words_ to their stems, and other_words_ to what it was.
  void stem_words();
  /// Sets word_ to the word between blanks and starts_ to the bytes at which its characters start.
  void read_characters(std::string_view word);

  /// Calls work(k) for each k < count. It is outside of the inner loop that the meter is asked.
  template <class Work>
  void for_metered(std::size_t count, const Work& work) {
    for (std::size_t k = 0; k < count;) {
      const std::size_t stop = std::min(count, k + WorkMeter::kWorkBetweenQuestions);
      meter_.add(stop - k);
      for (; k < stop; ++k) work(k);
    }
  }

  template <class Visit>
  void for_each_run(std::string_view word, const Visit& visit) {
    read_characters(word);
    const std::size_t num_characters = starts_.size() - 1;
    const auto last = static_cast<std::size_t>(choice_.characters.last);
    for (auto n = static_cast<std::size_t>(choice_.characters.first); n <= last; ++n) {
      const std::size_t length = std::min(n, num_characters);
      for_metered(num_characters - length + 1, [&](std::size_t k) {
        run_.assign(1, '\'');
        run_.append(word_, starts_[k], starts_[k + length] - starts_[k]);
        run_ += '\'';
        visit(std::string_view(run_));
      });
      if (length == num_characters) return;
    }
  }

  const TextTerms& choice_;
  WorkMeter meter_;
  bool single_words_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> stop_words_;
  std::optional<Stemmer> stemmer_;
  // Of the present text and word.
  std::string words_, word_, run_, other_words_;
  std::vector<std::size_t> ends_, starts_, other_ends_;
};

/// The words of a file of text, each found as in documents; lines that start with '#' are skipped.
/// Throws InvalidInput "file:line:column: ..." for a line that is no text, and for a file without
/// words.
std::vector<std::string> read_stop_words(const std::string& path,
                                         TextTerms::WordRule rule = TextTerms::WordRule::marks);

}  // namespace margrove
