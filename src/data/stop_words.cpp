#include "data/stop_words.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/similar_names.hpp"
#include "data/terms.hpp"
#include "margrove/errors.hpp"
#include "margrove/options.hpp"

namespace margrove {
namespace {

struct StopWordList {
  std::string_view language;
  std::string_view words;  // a blank after each
};

#include "data/stop_words.inc"

const StopWordList* list_of(std::string_view language) {
  const StopWordList* const end = std::end(kStopWordLists);
  const StopWordList* const found =
      std::find_if(std::begin(kStopWordLists), end,
                   [&](const StopWordList& list) { return list.language == language; });
  return found == end ? nullptr : found;
}

}  // namespace

bool has_stop_words(std::string_view language) { return list_of(language) != nullptr; }

std::vector<std::string> stop_word_languages() {
  std::vector<std::string> languages;
  for (const StopWordList& list : kStopWordLists) languages.emplace_back(list.language);
  return languages;
}

std::vector<std::string> stop_words_of(std::string_view language) {
  const StopWordList* const list = list_of(language);
  if (list == nullptr) {
    const std::vector<std::string> known = stop_word_languages();
    throw InvalidOption(concat("stop words: the language is '", language, "', but must be one of ",
                               detail::join(known, ", "), did_you_mean(language, known)));
  }
  std::vector<std::string> words;
  WorkMeter meter;
  for_each_word(list->words, TextTerms::WordRule::scripts, meter,
                [&](std::string_view word, bool) { words.emplace_back(word); });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::vector<std::string> stop_words_of_choice(const std::string& language_or_file) {
  if (has_stop_words(language_or_file)) return stop_words_of(language_or_file);
  std::error_code unknown;
  if (!std::filesystem::exists(language_or_file, unknown)) {
    const std::string meant = did_you_mean(language_or_file, stop_word_languages());
    require(meant.empty(), language_or_file,
            ": cannot open: no such file, and no language of that "
            "name has stop words",
            meant);
  }
  return read_stop_words(language_or_file);
}

}  // namespace margrove
