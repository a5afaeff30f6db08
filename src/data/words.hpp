#pragma once
// Words of documents, and rows of unit norm.

#include <string>
#include <string_view>

#include "base/work_meter.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// Calls visit(word, follows) for each word of a text, as TextTerms::WordRule defines them; invalid
/// bytes separate words. `follows` says that nothing stands between the word and the one before, as
/// between ideographs. The word is valid during the call only. The bytes are the work that `meter`
/// counts.
template <class Visit>
void for_each_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                   const Visit& visit);

/// Whether texts are brought into another form before they are cut into words.
bool changes_forms(const TextTerms& terms);
/// The text in the normal form and casing of these terms; invalid bytes are blanks. O(n log n).
std::string in_form(std::string_view text, const TextTerms& terms, WorkMeter& meter);

/// Scales every row to unit L2 norm; rows of zeros stay.
void normalize_rows(CsrMatrix& X);

namespace detail {
struct ReadBytes {
  std::size_t before;  // the word
  std::size_t all;
};
/// Sets `word` to the next word of `text`, or to an empty one at the end.
ReadBytes next_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                    std::string& word);
}  // namespace detail

template <class Visit>
void for_each_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                   const Visit& visit) {
  std::string word;
  for (bool is_first = true;; is_first = false) {
    const detail::ReadBytes read = detail::next_word(text, rule, meter, word);
    if (word.empty()) return;
    text.remove_prefix(read.all);
    visit(std::string_view(word), !is_first && read.before == 0);
  }
}

}  // namespace margrove
