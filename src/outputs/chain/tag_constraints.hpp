#pragma once
// Which tags may follow each other where tags stand for spans.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "margrove/options.hpp"
#include "outputs/chain/chain.hpp"

namespace margrove {

/// The sequences of tags that a chain may answer with.
enum class TagScheme {
  automatic,  // bio or bioes if the training tags have that form and obey it everywhere
  none,       // any
  bio,        // I-X only after B-X or I-X
  bioes,      // a span is S-X, or B-X, any number of I-X, and E-X
};
template <>
inline constexpr auto kEnumNames<TagScheme> =
    std::array{EnumName{TagScheme::automatic, "auto"}, EnumName{TagScheme::none, "none"},
               EnumName{TagScheme::bio, "bio"}, EnumName{TagScheme::bioes, "bioes"}};

/// The transitions that a scheme forbids.
class TagConstraints {
 public:
  /// None.
  TagConstraints() = default;
  /// Those of bio or bioes, or none, for these tags. Throws InvalidOption, naming `constraints`,
  /// unless are_span_tags() and there are tags with which sequences can begin and end.
  TagConstraints(TagScheme scheme, std::span<const std::string> tags);

  TagScheme scheme() const { return scheme_; }
  bool is_empty() const { return scheme_ == TagScheme::none; }
  bool allows(std::span<const std::uint32_t> tags) const;
  /// Gives forbidden transitions the score -infinity. The workspace must have the scores of a
  /// sequence.
  void apply(ChainWorkspace& workspace) const;

 private:
  TagScheme scheme_ = TagScheme::none;
  std::size_t num_tags_ = 0;
  std::vector<bool> forbidden_;  // earlier tag x later tag
  std::vector<bool> not_first_, not_last_;
};

/// The constraints that the option names; `automatic` is resolved by the training sequences.
TagConstraints tag_constraints(TagScheme scheme, const SequenceData& data,
                               std::span<const std::string> tags);

}  // namespace margrove
