#pragma once
// Labels are arbitrary strings outside and numbers from 0 inside.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

using LabelId = std::uint32_t;

/// A bijection between label names and [0, size()). Further ids may stand for labels.
class LabelCodec {
 public:
  LabelCodec() = default;
  /// Throws InvalidInput on a repeated or empty name.
  explicit LabelCodec(const std::vector<std::string>& names);

  /// What find() gives, or the next free id for a new name.
  LabelId add(std::string_view name);
  /// The label with this name or alternative id. Where the names are numbers, the spelling does not
  /// matter.
  std::optional<LabelId> find(std::string_view name) const;
  /// Makes `other` stand for a label. Throws InvalidInput if it is empty or stands for one already,
  /// or if there is no such label.
  void add_alternative(std::string_view other, LabelId label);
  /// Alternative ids and their labels, as they were added.
  std::span<const std::pair<std::string, LabelId>> alternatives() const { return alternatives_; }
  /// Says that the names are whole numbers as whole_number_text() writes them, so that find() takes
  /// every spelling of them: +1, 1.0.
  void set_are_numbers() { are_numbers_ = true; }
  bool are_numbers() const { return are_numbers_; }
  /// Throws InvalidInput if there is no such label.
  const std::string& name(LabelId id) const;
  std::span<const std::string> names() const { return names_; }
  std::size_t size() const { return names_.size(); }

 private:
  /// A name, or an alternative id. Numbers in slots_ are places of names_, then those of
  /// alternatives_ from kAlternatives on.
  std::string_view text(std::uint32_t number) const;
  void enter(std::uint32_t number);

  std::vector<std::string> names_;
  std::vector<std::pair<std::string, LabelId>> alternatives_;
  std::vector<std::uint32_t> slots_;
  bool are_numbers_ = false;
};

}  // namespace margrove
