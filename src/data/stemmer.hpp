#pragma once
// Stems of words, by the library of Snowball.

#include <memory>
#include <string_view>

#include "margrove/tfidf.hpp"

struct sb_stemmer;

namespace margrove {

/// Gives the stems of words of one language. It has a state: threads need one each.
class Stemmer {
 public:
  /// Throws InvalidOption listing all languages unless it knows this one.
  explicit Stemmer(const TextTerms::Stem& choice);

  /// The stem of a word as words.hpp gives them, valid until the next call: never empty. A word of
  /// more than TextTerms::Stem::kLongest bytes is its own stem, as the time may grow with the
  /// square of its length.
  std::string_view stem(std::string_view word);

  /// True also for none.
  static bool knows(const TextTerms::Stem& choice);

 private:
  struct Delete {
    void operator()(sb_stemmer* handle) const;
  };
  std::unique_ptr<sb_stemmer, Delete> handle_;
};

}  // namespace margrove
