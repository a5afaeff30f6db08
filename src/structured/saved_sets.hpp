#pragma once
// The active sets of block-coordinate Frank-Wolfe as arrays of a checkpoint.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/tensors.hpp"
#include "structured/dual_blocks.hpp"

namespace margrove {

// A labelling as 32-bit words. Types of outputs that are structs declare the same two functions
// beside themselves.
inline void append_words(std::uint32_t y, std::vector<std::uint32_t>& words) { words.push_back(y); }
template <std::unsigned_integral T>
void append_words(const std::vector<T>& y, std::vector<std::uint32_t>& words) {
  words.insert(words.end(), y.begin(), y.end());
}
/// False if the words are not those of a labelling.
inline bool read_words(std::span<const std::uint32_t> words, std::uint32_t& y) {
  if (words.size() != 1) return false;
  y = words[0];
  return true;
}
template <std::unsigned_integral T>
bool read_words(std::span<const std::uint32_t> words, std::vector<T>& y) {
  y.clear();
  for (const std::uint32_t word : words) {
    if (word > std::numeric_limits<T>::max()) return false;
    y.push_back(static_cast<T>(word));
  }
  return true;
}

template <class Labelling>
concept SavableLabelling = requires(Labelling& y, std::vector<std::uint32_t>& words) {
  append_words(std::as_const(y), words);
  { read_words(words, y) } -> std::same_as<bool>;
};

/// The dual variables after so many passes. Products and differences follow from the labellings.
template <SavableLabelling Labelling>
TensorMap saved_sets(std::span<const ActiveSet<Labelling>> sets, int passes) {
  std::vector<std::uint64_t> sets_end, words_end;
  std::vector<std::uint32_t> words;
  std::vector<double> duals, slopes, offsets;
  std::vector<std::uint8_t> idle;
  for (const ActiveSet<Labelling>& set : sets) {
    for (const Labelling& y : set.labellings) {
      append_words(y, words);
      words_end.push_back(words.size());
    }
    duals.insert(duals.end(), set.duals.begin(), set.duals.end());
    slopes.insert(slopes.end(), set.slopes.begin(), set.slopes.end());
    offsets.insert(offsets.end(), set.offsets.begin(), set.offsets.end());
    idle.insert(idle.end(), set.idle.begin(), set.idle.end());
    sets_end.push_back(duals.size());
  }
  TensorMap out("checkpoint");
  out.put_text("passes", concat(passes));
  out.put<std::uint64_t>("sets.end", sets_end);
  out.put<std::uint64_t>("labellings.end", words_end);
  out.put<std::uint32_t>("labellings.words", words);
  out.put<double>("duals", duals);
  out.put<double>("slopes", slopes);
  out.put<double>("offsets", offsets);
  out.put<std::uint8_t>("idle", idle);
  return out;
}

/// Puts the dual variables back and rebuilds the weights. Returns the passes made. Throws
/// ModelFileError if the arrays do not fit the number of examples or each other; that the
/// labellings are those of the model is not checked.
template <class Model, class Psi>
int restore_sets(const TensorMap& tensors, DualBlocks<Model, Psi>& blocks) {
  const auto sets_end = tensors.get<std::uint64_t>("sets.end", blocks.size());
  const auto duals = tensors.get<double>("duals");
  const auto slopes = tensors.get<double>("slopes", duals.size());
  const auto offsets = tensors.get<double>("offsets", duals.size());
  const auto idle = tensors.get<std::uint8_t>("idle", duals.size());
  const auto words_end = tensors.get<std::uint64_t>("labellings.end", duals.size());
  const auto words = tensors.get<std::uint32_t>("labellings.words");
  const auto check_ends = [&](const std::vector<std::uint64_t>& ends, std::size_t last) {
    tensors.check(std::ranges::is_sorted(ends) && (ends.empty() ? 0 : ends.back()) == last,
                  "the ends of its parts must ascend to ", last);
  };
  check_ends(sets_end, duals.size());
  check_ends(words_end, words.size());
  std::size_t k = 0, at = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (; k < sets_end[i]; ++k) {
      typename Model::Labelling y;
      tensors.check(read_words(std::span(words).subspan(at, words_end[k] - at), y), "labelling ", k,
                    " is not one of this model");
      at = words_end[k];
      blocks.add(i, std::move(y), slopes[k], offsets[k]);
      blocks.sets()[i].duals.back() = duals[k];
      blocks.sets()[i].idle.back() = idle[k];
    }
  }
  blocks.rebuild_weights();
  return static_cast<int>(tensors.whole_number("passes", std::numeric_limits<std::int32_t>::max()));
}

}  // namespace margrove
