#pragma once
// A sentence as the parser sees it: hashes of its words.

#include <cstdint>
#include <string_view>
#include <vector>

namespace margrove {

/// Hashes of what is known of each word, on which features depend. Those of lemmas, morphology and
/// endings serve the relations only.
struct ParserSentence {
  std::vector<std::uint64_t> forms;
  std::vector<std::uint64_t> tags;
  std::vector<std::uint64_t> fine_tags;
  std::vector<std::uint64_t> lemmas;
  std::vector<std::uint64_t> morphology;
  std::vector<std::uint64_t> endings;
  std::size_t size() const { return forms.size(); }
};
/// A 64-bit hash that is the same on every platform.
std::uint64_t hash_text(std::string_view text);

}  // namespace margrove
