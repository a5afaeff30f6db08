#include "data/terms.hpp"

#include <algorithm>
#include <array>

#include "base/number_text.hpp"
#include "base/random.hpp"
#include "data/text_scan.hpp"
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
  single.normal_form = normal_form;
  single.casing = casing;
  return *this == single;
}

TermCutter::TermCutter(const TextTerms& choice, RunControl* control)
    : choice_(choice), meter_(control) {
  for (const std::string& word : choice.stop_words) {
    stop_words_.find_or_add({changes_forms(choice) ? in_form(word, choice, meter_) : word});
  }
  if (!choice.stem.is_none()) stemmer_.emplace(choice.stem);
}

void TermCutter::Words::clear() {
  text.assign(1, ' ');
  spans.clear();
}

void TermCutter::Words::add(std::string_view word) {
  spans.push_back({text.size(), text.size() + word.size()});
  text += word;
  text += ' ';
}

void TermCutter::Words::append_to_last(std::string_view more) {
  text.pop_back();
  text += more;
  spans.back().end = text.size();
  text += ' ';
}

void TermCutter::read_words(std::string_view text) {
  words_.clear();
  stems_.clear();
  has_runs_ = false;
  bool was_kept = false;
  std::string changed;
  if (changes_forms(choice_)) text = changed = in_form(text, choice_, meter_);
  for_each_word(text, choice_.word_rule, meter_, [&](std::string_view word, bool follows) {
    const bool follows_kept = follows && was_kept;
    was_kept = stop_words_.size() == 0 || stop_words_.find({word}) == TermTable::kNone;
    if (!was_kept) return;
    if (follows_kept && !has_runs_) runs_ = words_, has_runs_ = true;
    if (has_runs_ && follows_kept) runs_.append_to_last(word);
    if (has_runs_ && !follows_kept) runs_.add(word);
    words_.add(word);
    if (!stemmer_) return;
    meter_.add(word.size());
    stems_.add(stemmer_->stem(word));
  });
}

void TermCutter::read_characters(const Words& runs, const Span& word) {
  starts_.clear();
  for_metered(word.end - word.begin + 2, [&, first = word.begin - 1](std::size_t k) {
    const bool continues = (static_cast<unsigned char>(runs.text[first + k]) & 0xC0U) == 0x80U;
    if (!continues) starts_.push_back(first + k);
  });
  starts_.push_back(word.end + 1);
}

std::vector<std::string> read_stop_words(const std::string& path, TextTerms::WordRule rule) {
  std::vector<std::string> words;
  LineBlocks blocks(open_file(path), path);
  WorkMeter meter;
  detail::for_each_line(blocks, [&](const detail::Line& line) {
    detail::require_text(line);
    if (line.text.starts_with('#')) return;
    for_each_word(line.text, rule, meter,
                  [&](std::string_view word, bool) { words.emplace_back(word); });
  });
  require(!words.empty(), path, ": the file has no words, but must have at least one");
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace margrove
