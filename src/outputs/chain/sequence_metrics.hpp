#pragma once
// Accuracy and span scores of predicted tags.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// A chunk of a sentence: tokens [begin, end) of one type.
struct Span {
  std::size_t begin, end;
  std::string type;
  auto operator<=>(const Span&) const = default;
};

/// The prefix of a tag of spans: B, I, E or S, where L and U of BILOU are E and S; O outside ("O"
/// and "_"), and 0 for other tags. A tag is PREFIX-TYPE or, in files with one type, PREFIX.
char span_prefix(std::string_view tag);

/// The chunks of IOB1, IOB2, IOE, IOBES and BILOU tags ("B-PER", "I-PER", "O", ..., or "B", "I",
/// "O"), read like the CoNLL evaluation script: a chunk begins at B, S and [, where the type
/// changes, and after E, S, ] and O. Any other tag without a dash is its own type.
std::vector<Span> spans_of(std::span<const std::string_view> tags);

/// Whether the tags stand for spans: every tag has a span_prefix(), and at least one is not
/// outside. Prefixes alone stand for spans only where there is the tag "O".
bool are_span_tags(std::span<const std::string> tags);

/// Counts over the sentences given to add().
class SequenceScores {
 public:
  /// One sentence; both spans have one entry per token.
  void add(std::span<const std::string_view> truth, std::span<const std::string_view> predicted);

  std::int64_t tokens = 0, correct_tokens = 0, sentences = 0, correct_sentences = 0;
  std::int64_t true_spans = 0, predicted_spans = 0, correct_spans = 0;

  // Quotients 0/0 are 0.
  double token_accuracy() const;
  double sentence_accuracy() const;
  double span_precision() const;
  double span_recall() const;
  double span_f1() const;
};

}  // namespace margrove
