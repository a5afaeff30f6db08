#include "data/term_table.hpp"

#include <algorithm>
#include <bit>

#include "margrove/errors.hpp"

namespace margrove {

std::string Term::name() const {
  return is_run ? concat("'", characters, "'") : std::string(characters);
}

Term Term::of_name(std::string_view name) {
  if (name.size() < 2 || name.front() != '\'') return {name};
  return {name.substr(1, name.size() - 2), /*is_run=*/true};
}

TermTable::TermTable(std::size_t num_terms) {
  const std::size_t num_slots = std::bit_ceil(std::max<std::size_t>(num_terms * 2, 64));
  slots_.assign(num_slots, Slot{0, kNone, 0});
  shift_ = 64 - std::countr_zero(num_slots);
  terms_.reserve(num_terms);
}

std::uint32_t TermTable::find_or_add(const Term& term, std::uint64_t key) {
  const std::size_t place = place_of(key, term);
  if (slots_[place].number != kNone) return slots_[place].number;
  const auto number = static_cast<std::uint32_t>(terms_.size());
  slots_[place] = {key, number, kind_of(term)};
  terms_.push_back({text_.size(), kind_of(term)});
  text_ += term.characters;
  if (terms_.size() * 2 > slots_.size()) grow();
  return number;
}

void TermTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, Slot{0, kNone, 0});
  --shift_;
  const std::size_t last = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kNone) continue;
    std::size_t place = first_place(slot.key, slot.kind);
    while (slots_[place].number != kNone) place = (place + 1) & last;
    slots_[place] = slot;
  }
}

}  // namespace margrove
