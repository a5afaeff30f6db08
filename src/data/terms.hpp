#pragma once
// The terms of texts. Training, prediction and explanations all cut texts here.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_meter.hpp"
#include "data/stemmer.hpp"
#include "data/term_table.hpp"
#include "data/words.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// Cuts texts into terms. It refers to the choice, which must outlive it, and asks a control while
/// it works, also within a word.
class TermCutter {
 public:
  /// `control` may be null.
  explicit TermCutter(const TextTerms& choice, RunControl* control = nullptr);

  /// Calls visit(term) for each term, as often as it occurs. The terms are valid until the next
  /// text. In runs of characters, words that follow each other without anything between, as
  /// ideographs do, are one. A word that has at most N characters, borders included, gives itself
  /// once for all lengths from N on, as scikit-learn's char_wb does. Throws OutOfTime where the
  /// control asks to end. O(bytes * lengths of n-grams).
  template <class Visit>
  void for_each(std::string_view text, const Visit& visit) {
    read_words(text);
    const Words& stems = stemmer_ ? stems_ : words_;
    for (int n = choice_.words.first; n <= choice_.words.last && n > 0; ++n) {
      const auto length = static_cast<std::size_t>(n);
      const std::size_t count = stems.spans.size();
      for_metered(count < length ? 0 : count - length + 1, [&](std::size_t k) {
        visit(Term{stems.between(stems.spans[k].begin, stems.spans[k + length - 1].end)});
      });
    }
    if (choice_.characters.is_none()) return;
    const Words& runs = has_runs_ ? runs_ : words_;
    for (const Span& word : runs.spans) for_each_run(runs, word, visit);
  }

 private:
  struct Span {
    std::size_t begin, end;
  };
  /// Words with a blank around each.
  struct Words {
    std::string text;
    std::vector<Span> spans;

    void clear();
    void add(std::string_view word);
    void append_to_last(std::string_view more);
    std::string_view between(std::size_t begin, std::size_t end) const {
      return std::string_view(text).substr(begin, end - begin);
    }
  };
  /// Sets words_ to the words that are no stop words, stems_ to their stems if there are any, and
  /// runs_ to the words with those that follow each other without anything between joined, if there
  /// are such.
  void read_words(std::string_view text);
  /// Sets starts_ to where the characters of a word and of the blanks beside it start, and to the
  /// end of the last.
  void read_characters(const Words& runs, const Span& word);

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
  void for_each_run(const Words& runs, const Span& word, const Visit& visit) {
    read_characters(runs, word);
    const std::size_t num_characters = starts_.size() - 1;
    const auto last = static_cast<std::size_t>(choice_.characters.last);
    for (auto n = static_cast<std::size_t>(choice_.characters.first); n <= last; ++n) {
      const std::size_t length = std::min(n, num_characters);
      for_metered(num_characters - length + 1, [&](std::size_t k) {
        visit(Term{runs.between(starts_[k], starts_[k + length]), /*is_run=*/true});
      });
      if (length == num_characters) return;
    }
  }

  const TextTerms& choice_;
  WorkMeter meter_;
  TermTable stop_words_;
  std::optional<Stemmer> stemmer_;
  Words words_, stems_, runs_;       // of the present text
  bool has_runs_ = false;            // otherwise the words are the runs
  std::vector<std::size_t> starts_;  // of the present word
};

/// The words of a file of text, each found as in documents; lines that start with '#' are skipped.
/// Throws InvalidInput "file:line:column: ..." for a line that is no text, and for a file without
/// words.
std::vector<std::string> read_stop_words(const std::string& path,
                                         TextTerms::WordRule rule = TextTerms::WordRule::scripts);

}  // namespace margrove
