#include "outputs/chain/tag_constraints.hpp"

#include <algorithm>
#include <limits>

#include "margrove/errors.hpp"
#include "outputs/chain/sequence_metrics.hpp"

namespace margrove {
namespace {

bool is_outside(const std::string& tag) { return tag == "O" || tag == "_"; }

/// Whether a tag goes on with a span that the tag before it has begun.
bool continues(TagScheme scheme, const std::string& tag) {
  const char prefix = span_prefix(tag);
  return prefix == 'I' || (scheme == TagScheme::bioes && prefix == 'E');
}
/// Whether a span goes on after a tag: whether it may, with bio, and whether it must, with bioes.
bool leaves_open(const std::string& tag) {
  const char prefix = span_prefix(tag);
  return prefix == 'B' || prefix == 'I';
}

bool may_follow(TagScheme scheme, const std::string& before, const std::string& now) {
  if (continues(scheme, now)) return leaves_open(before) && before.substr(1) == now.substr(1);
  return scheme == TagScheme::bio || !leaves_open(before);
}

}  // namespace

TagConstraints::TagConstraints(TagScheme scheme, std::span<const std::string> tags)
    : scheme_(scheme), num_tags_(tags.size()) {
  if (scheme == TagScheme::none) return;
  require<InvalidOption>(
      are_span_tags(tags), "option constraints is ", name_of(scheme),
      ", but not all tags are O or have a prefix B-, I-, E- or S- (in BILOU L- and "
      "U- for the last two)");
  for (const std::string& before : tags) {
    for (const std::string& now : tags) forbidden_.push_back(!may_follow(scheme, before, now));
    not_first_.push_back(continues(scheme, before));
    not_last_.push_back(scheme == TagScheme::bioes && leaves_open(before));
  }
  // Such a tag can stand at all places of a sequence.
  const bool has_neutral_tag = std::ranges::any_of(tags, [&](const std::string& tag) {
    return !continues(scheme, tag) && (scheme == TagScheme::bio || !leaves_open(tag));
  });
  require<InvalidOption>(has_neutral_tag, "option constraints is ", name_of(scheme),
                         ", but no tag may both begin and end a sequence");
}

bool TagConstraints::allows(std::span<const std::uint32_t> tags) const {
  if (is_empty() || tags.empty()) return true;
  if (not_first_[tags.front()] || not_last_[tags.back()]) return false;
  for (std::size_t t = 1; t < tags.size(); ++t) {
    if (forbidden_[tags[t - 1] * num_tags_ + tags[t]]) return false;
  }
  return true;
}

void TagConstraints::apply(ChainWorkspace& workspace) const {
  if (is_empty()) return;
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < num_tags_ * num_tags_; ++k) {
    if (forbidden_[k]) workspace.transitions[k] = kNever;
  }
  for (std::size_t k = 0; k < num_tags_; ++k) {
    if (not_first_[k]) workspace.start[k] = kNever;
    if (not_last_[k]) workspace.end[k] = kNever;
  }
  transpose_transitions(num_tags_, workspace);
}

TagConstraints tag_constraints(TagScheme scheme, const SequenceData& data,
                               std::span<const std::string> tags) {
  if (scheme != TagScheme::automatic) return {scheme, tags};
  if (!are_span_tags(tags)) return {};
  const bool has_ends = std::ranges::any_of(tags, [](const std::string& tag) {
    return span_prefix(tag) == 'E' || span_prefix(tag) == 'S';
  });
  const bool has_beginnings =
      std::ranges::any_of(tags, [](const std::string& tag) { return span_prefix(tag) == 'B'; });
  if (!has_beginnings && !has_ends) return {};  // every tag may follow every other one
  if (std::ranges::none_of(tags, is_outside)) return {};
  TagConstraints found(has_ends ? TagScheme::bioes : TagScheme::bio, tags);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!found.allows(data.tags_of(i))) return {};
  }
  return found;
}

}  // namespace margrove
