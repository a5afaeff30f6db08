#pragma once

#include "margrove/tfidf.hpp"

namespace margrove::testing {

/// The options with single words as the only terms.
inline TfidfOptions of_words(TfidfOptions options = {}) {
  options.word_ngrams = {1, 1};
  options.char_ngrams = TextTerms::Lengths::none();
  return options;
}

}  // namespace margrove::testing
