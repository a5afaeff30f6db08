#pragma once
// Words of documents, and rows of unit norm.

#include <string>
#include <string_view>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// Calls visit(word) for every maximal run of letters, digits and underscores of valid UTF-8,
/// lower-cased character by character; Unicode's letters and digits, not only ASCII's. The word is
/// valid during the call only.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit);

/// Scales every row to unit L2 norm; rows of zeros stay.
void normalize_rows(CsrMatrix& X);

namespace detail {
/// Appends the lower-cased next word of `text` to nothing: clears `word`, fills it, and returns the
/// bytes used; `word` is empty at the end of the text.
std::size_t next_word(std::string_view text, std::string& word);
}  // namespace detail

template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  std::string word;
  for (;;) {
    text.remove_prefix(detail::next_word(text, word));
    if (word.empty()) return;
    visit(std::string_view(word));
  }
}

}  // namespace margrove
