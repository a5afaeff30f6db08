#include "data/words.hpp"

#include <algorithm>
#include <array>

#include "data/unicode.hpp"
#include "data/utf8.hpp"

namespace margrove {
namespace {

/// Sets `word` to the normal form of the lower case of the normal form of a text.
void write_canonical(std::string_view text, WorkMeter& meter, std::string& word) {
  std::u32string characters;
  while (!text.empty()) {
    meter.add();
    const CodePoint c = decode_utf8(text);
    if ((use_of(c.value) & kUnseen) == 0) characters += c.value;
    text.remove_prefix(c.size);
  }
  compose(characters, meter);
  std::transform(characters.begin(), characters.end(), characters.begin(), to_lower);
  compose(characters, meter);
  word.clear();
  for (const char32_t c : characters) append_utf8(word, c);
}

/// Of the letters and digits of ASCII and of '_'; 0 for all other bytes.
constexpr auto kInLowerCase = [] {
  std::array<char, 256> lower{};
  for (char c = 'a'; c <= 'z'; ++c) {
    lower[static_cast<unsigned char>(c)] = c;
    lower[static_cast<unsigned char>(c - 'a' + 'A')] = c;
  }
  for (char c = '0'; c <= '9'; ++c) lower[static_cast<unsigned char>(c)] = c;
  lower['_'] = '_';
  return lower;
}();

/// Appends the letters and digits of ASCII that stand from `at` on, in lower case, to a word;
/// returns where they end. They are appended a few together, which is faster than one by one.
std::size_t append_ascii(std::string_view text, std::size_t at, std::string& word) {
  std::array<char, 32> lower;
  for (std::size_t size = lower.size(); size == lower.size();) {
    const std::size_t most = std::min(lower.size(), text.size() - at);
    for (size = 0; size < most; ++size, ++at) {
      lower[size] = kInLowerCase[static_cast<unsigned char>(text[at])];
      if (lower[size] == 0) break;
    }
    word.append(lower.data(), size);
  }
  return at;
}

/// Appends a text without blanks in its form.
void append_in_form(std::string_view text, const TextTerms& terms, WorkMeter& meter,
                    std::string& out) {
  const bool is_turkish = terms.casing == TextTerms::Casing::turkish;
  std::u32string characters, changed;
  for (std::size_t at = 0; at < text.size();) {
    meter.add();
    const CodePoint c = decode_utf8(text.substr(at));
    at += std::max<std::size_t>(c.size, 1);
    characters += c.size > 0 ? c.value : U' ';
  }
  if (terms.normal_form == TextTerms::NormalForm::nfkc) {
    for (const char32_t c : characters) append_compatible(changed, c);
    std::swap(characters, changed);
  }
  compose(characters, meter);
  if (is_turkish) {
    std::ranges::replace(characters, U'I', U'\u0131');
    std::ranges::replace(characters, U'\u0130', U'i');
  } else if (terms.casing == TextTerms::Casing::fold) {
    changed.clear();
    for (const char32_t c : characters) append_folded(changed, c);
    std::swap(characters, changed);
    compose(characters, meter);
  }
  for (const char32_t c : characters) append_utf8(out, c);
}

constexpr CharacterUse kScripts = kAlone | kKatakana;

/// What a rule knows of characters.
CharacterUse used_by(TextTerms::WordRule rule) {
  if (rule == TextTerms::WordRule::letters) return kLetter;
  const bool has_scripts = rule == TextTerms::WordRule::scripts;
  return static_cast<CharacterUse>(has_scripts ? 0xFF : ~kScripts);
}

/// Whether a character is a letter that ends the word before it, whose last letter is of `script`.
bool begins_word(CharacterUse use, CharacterUse script) {
  if ((use & kLetter) == 0) return false;
  return ((use | script) & kAlone) != 0 || (use & kKatakana) != script;
}

}  // namespace

bool changes_forms(const TextTerms& terms) {
  return terms.normal_form != TextTerms::NormalForm::nfc ||
         terms.casing != TextTerms::Casing::lower;
}

std::string in_form(std::string_view text, const TextTerms& terms, WorkMeter& meter) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n\r\t"), text.size());
    append_in_form(text.substr(0, end), terms, meter, out);
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

namespace detail {
ReadBytes next_word(std::string_view text, TextTerms::WordRule rule, WorkMeter& meter,
                    std::string& word) {
  const CharacterUse used = used_by(rule);
  CharacterUse script = 0;  // of the last letter
  word.clear();
  std::size_t begin = 0, end = 0;  // of the word in the text
  std::size_t size = 0;            // of the word without joiners at its end
  bool may_change = false;
  std::size_t at = 0;
  std::size_t counted = 0;  // bytes that the meter knows of
  std::size_t stop = 0;     // where it is asked next
  for (;;) {
    if (at >= stop) {
      if (at >= text.size()) break;
      meter.add(at - counted);
      counted = at;
      stop = std::min(text.size(), at + WorkMeter::kWorkBetweenQuestions);
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if (kInLowerCase[byte] == 0) {
        if (!word.empty()) break;
        ++at;
        continue;
      }
      if (script != 0) break;
      if (word.empty()) begin = at;
      at = append_ascii(text.substr(0, stop), at, word);
      size = word.size();
      end = at;
      continue;
    }
    const CodePoint c = decode_utf8(text.substr(at));
    const CharacterUse known = c.size > 0 ? use_of(c.value) : CharacterUse{0};
    const auto use = static_cast<CharacterUse>(known & used);
    const auto num_bytes = std::max<std::size_t>(c.size, 1);
    if ((use & kUnseen) != 0) {
      at += num_bytes;
      continue;
    }
    const bool is_inside = (use & kLetter) != 0 || ((use & kMark) != 0 && !word.empty());
    const bool is_joiner = (use & kJoiner) != 0 && !word.empty();
    if (!word.empty() && begins_word(use, script)) break;
    if ((use & kLetter) != 0) script = use & kScripts;
    if (is_inside || is_joiner) {
      if (word.empty()) begin = at;
      append_utf8(word, to_lower(c.value));
      may_change |= (use & kMayChange) != 0;
    } else if (!word.empty()) {
      break;
    }
    at += num_bytes;
    if (is_inside) size = word.size(), end = at;
  }
  meter.add(at - counted + 1);  // a text without a word is work, too
  word.resize(size);
  if (may_change) write_canonical(text.substr(begin, end - begin), meter, word);
  return {begin, at};
}
}  // namespace detail

}  // namespace margrove
