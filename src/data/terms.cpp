#include "data/terms.hpp"

#include <algorithm>
#include <array>

#include "base/number_text.hpp"
#include "base/random.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove {

TextTerms::Lengths TextTerms::Lengths::parse(std::string_view text) {
  if (text == "none") return none();
  const std::size_t dash = text.find('-');
  const auto first = read_number<int>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : read_number<int>(text.substr(dash + 1));
  require<InvalidOption>(
      first && last && *first >= 1 && *last >= *first && *last <= kLongest,
      "n-grams: lengths are '", text,
      "', but must be none, N or FIRST-LAST, with 1 <= FIRST <= LAST <= ", kLongest);
  return {*first, *last};
}

std::string TextTerms::Lengths::to_text() const {
  if (is_none()) return "none";
  return first == last ? concat(first) : concat(first, "-", last);
}

/// FNV-1a, whose result is mixed and mapped to [0, num_hashes) by a multiplication.
std::uint32_t TextTerms::hash_of(std::string_view term) const {
  constexpr std::uint64_t kOffset = 0xcbf29ce484222325ULL, kPrime = 0x100000001b3ULL;
  std::uint64_t hash = kOffset;
  for (const char c : term) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  std::uint64_t state = hash ^ hash_seed;
  return static_cast<std::uint32_t>(((splitmix64(state) >> 32U) * num_hashes) >> 32U);
}

bool TextTerms::are_words() const {
  TextTerms single;
  single.word_rule = word_rule;
  return *this == single;
}

TermCutter::TermCutter(const TextTerms& choice, RunControl* control)
    : choice_(choice),
      meter_(control),
      single_words_(choice.words == TextTerms::Lengths{1, 1} && choice.characters.is_none() &&
                    choice.stop_words.empty() && choice.stem.is_none()),
      stop_words_(choice.stop_words.begin(), choice.stop_words.end()) {
  if (!choice.stem.is_none()) stemmer_.emplace(choice.stem);
}

void TermCutter::read_words(std::string_view text) {
  words_.clear();
  ends_.clear();
  for_each_word(text, choice_.word_rule, meter_, [&](std::string_view word) {
    if (!stop_words_.empty() && stop_words_.contains(word)) return;
    if (!ends_.empty()) words_ += ' ';
    words_ += word;
    ends_.push_back(words_.size());
  });
}

void TermCutter::stem_words() {
  other_words_.clear();
  other_ends_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    meter_.add(end - begin);
    if (begin > 0) other_words_ += ' ';
    other_words_ += stemmer_->stem(std::string_view(words_).substr(begin, end - begin));
    other_ends_.push_back(other_words_.size());
    begin = end + 1;
  }
  std::swap(words_, other_words_);
  std::swap(ends_, other_ends_);
}

void TermCutter::read_characters(std::string_view word) {
  word_.assign(1, ' ');
  word_ += word;
  word_ += ' ';
  starts_.clear();
  for (std::size_t at = 0; at < word_.size();) {
    const std::size_t stop = std::min(word_.size(), at + WorkMeter::kWorkBetweenQuestions);
    meter_.add(stop - at);
    while (at < stop) {
      starts_.push_back(at);
      at += decode_utf8(std::string_view(word_).substr(at)).size;
    }
  }
  starts_.push_back(word_.size());
}

std::vector<std::string> read_stop_words(const std::string& path, TextTerms::WordRule rule) {
  std::vector<std::string> words;
  LineBlocks blocks(open_file(path), path);
  WorkMeter meter;
  detail::for_each_line(blocks, [&](const detail::Line& line) {
    detail::require_text(line);
    if (line.text.starts_with('#')) return;
    for_each_word(line.text, rule, meter, [&](std::string_view word) { words.emplace_back(word); });
  });
  require(!words.empty(), path, ": the file has no words, but must have at least one");
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace margrove
