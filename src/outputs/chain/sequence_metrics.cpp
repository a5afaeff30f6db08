#include "outputs/chain/sequence_metrics.hpp"

#include <algorithm>

namespace margrove {
namespace {

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

struct Tag {
  char prefix;  // 'O' outside
  std::string_view type;
};

Tag parse(std::string_view tag) {
  if (tag.empty()) return {'O', ""};
  if (const char prefix = span_prefix(tag); prefix != 0) {
    return {prefix, tag.size() > 2 ? tag.substr(2) : std::string_view()};
  }
  if (tag.size() > 2 && tag[1] == '-') return {tag[0], tag.substr(2)};
  return {'I', tag};
}

bool ends_chunk(Tag before, Tag now) {
  if (before.prefix == 'O') return false;
  if (before.prefix == 'E' || before.prefix == 'S' || before.prefix == ']') return true;
  return now.prefix == 'O' || now.prefix == 'B' || now.prefix == 'S' || now.prefix == '[' ||
         before.type != now.type;
}

bool begins_chunk(Tag before, Tag now) {
  if (now.prefix == 'O') return false;
  if (now.prefix == 'B' || now.prefix == 'S' || now.prefix == '[') return true;
  return before.prefix == 'O' || before.prefix == 'E' || before.prefix == 'S' ||
         before.prefix == ']' || before.type != now.type;
}

}  // namespace

char span_prefix(std::string_view tag) {
  if (tag == "O" || tag == "_") return 'O';
  if (tag.empty() || (tag.size() > 1 && (tag.size() < 3 || tag[1] != '-'))) return 0;
  constexpr std::string_view kPrefixes = "BIESLU", kMeant = "BIESES";
  const std::size_t k = kPrefixes.find(tag.front());
  return k == std::string_view::npos ? '\0' : kMeant[k];
}

std::vector<Span> spans_of(std::span<const std::string_view> tags) {
  std::vector<Span> spans;
  Tag before{'O', ""};
  bool is_open = false;
  for (std::size_t t = 0; t <= tags.size(); ++t) {
    const Tag now = t < tags.size() ? parse(tags[t]) : Tag{'O', ""};
    if (is_open && ends_chunk(before, now)) {
      spans.back().end = t;
      is_open = false;
    }
    if (begins_chunk(before, now)) {
      spans.push_back({t, t, std::string(now.type)});
      is_open = true;
    }
    before = now;
  }
  return spans;
}

bool are_span_tags(std::span<const std::string> tags) {
  const bool has_outside = std::ranges::find(tags, "O") != tags.end();
  bool any = false;
  for (const std::string& tag : tags) {
    const char prefix = span_prefix(tag);
    if (prefix == 0 || (prefix != 'O' && tag.size() == 1 && !has_outside)) return false;
    any = any || prefix != 'O';
  }
  return any;
}

void SequenceScores::add(std::span<const std::string_view> truth,
                         std::span<const std::string_view> predicted) {
  ++sentences;
  std::int64_t correct = 0;
  for (std::size_t t = 0; t < truth.size(); ++t) correct += truth[t] == predicted[t] ? 1 : 0;
  tokens += static_cast<std::int64_t>(truth.size());
  correct_tokens += correct;
  correct_sentences += correct == static_cast<std::int64_t>(truth.size()) ? 1 : 0;
  const auto expected = spans_of(truth), found = spans_of(predicted);
  true_spans += static_cast<std::int64_t>(expected.size());
  predicted_spans += static_cast<std::int64_t>(found.size());
  for (const Span& span : found) {
    correct_spans += std::binary_search(expected.begin(), expected.end(), span) ? 1 : 0;
  }
}

double SequenceScores::token_accuracy() const { return ratio(correct_tokens, tokens); }
double SequenceScores::sentence_accuracy() const { return ratio(correct_sentences, sentences); }
double SequenceScores::span_precision() const { return ratio(correct_spans, predicted_spans); }
double SequenceScores::span_recall() const { return ratio(correct_spans, true_spans); }
double SequenceScores::span_f1() const {
  return ratio(2 * correct_spans, predicted_spans + true_spans);
}

}  // namespace margrove
