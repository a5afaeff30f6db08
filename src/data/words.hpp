#pragma once
// Words of documents, and rows of unit norm.

#include <string>
#include <string_view>

#include "base/work_meter.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// Calls visit(word) for each word of a text, as TextTerms::WordRule defines them; invalid bytes
/// separate words. The word is valid during the call only. The bytes are the work that `meter`
/// counts.
template <class Visit>
void for_each_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                   const Visit& visit);

/// Scales every row to unit L2 norm; rows of zeros stay.
void normalize_rows(CsrMatrix& X);

namespace detail {
/// Sets `word` to the next word of `text`, or to an empty one at the end; returns the bytes read.
std::size_t next_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                      std::string& word);
}  // namespace detail

template <class Visit>
void for_each_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                   const Visit& visit) {
  std::string word;
  for (;;) {
    text.remove_prefix(detail::next_word(text, rule, meter, word));
    if (word.empty()) return;
    visit(std::string_view(word));
  }
}

}  // namespace margrove
