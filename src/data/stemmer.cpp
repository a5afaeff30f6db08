#include "data/stemmer.hpp"

#include <libstemmer.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "base/similar_names.hpp"
#include "margrove/errors.hpp"

namespace margrove {

std::vector<std::string> TextTerms::Stem::languages() {
  std::vector<std::string> names;
  for (const char** name = sb_stemmer_list(); *name != nullptr; ++name) names.emplace_back(*name);
  std::sort(names.begin(), names.end());
  return names;
}

TextTerms::Stem TextTerms::Stem::parse(std::string_view text) {
  if (text == "none") return none();
  Stem stem{.language = std::string(text)};
  if (!text.empty() && Stemmer::knows(stem)) return stem;
  const std::vector<std::string> known = languages();
  throw InvalidOption(concat("option stem is '", text, "', but must be none or one of ",
                             detail::join(known, ", "), did_you_mean(text, known)));
}

bool Stemmer::knows(const TextTerms::Stem& choice) {
  const std::vector<std::string> known = TextTerms::Stem::languages();
  return choice.is_none() || std::binary_search(known.begin(), known.end(), choice.language);
}

void Stemmer::Delete::operator()(sb_stemmer* handle) const { sb_stemmer_delete(handle); }

Stemmer::Stemmer(const TextTerms::Stem& choice)
    : handle_(sb_stemmer_new(TextTerms::Stem::parse(choice.language).language.c_str(), "UTF_8")) {
  if (!handle_) throw std::bad_alloc();
}

std::string_view Stemmer::stem(std::string_view word) {
  if (word.size() > TextTerms::Stem::kLongest) return word;
  const sb_symbol* stem =
      sb_stemmer_stem(handle_.get(), reinterpret_cast<const sb_symbol*>(word.data()),
                      static_cast<int>(word.size()));
  if (stem == nullptr) throw std::bad_alloc();
  const int size = sb_stemmer_length(handle_.get());
  if (size == 0) return word;
  return {reinterpret_cast<const char*>(stem), static_cast<std::size_t>(size)};
}

}  // namespace margrove
