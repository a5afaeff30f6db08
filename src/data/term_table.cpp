#include "data/term_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;  // 2^64 / the golden ratio

template <class Number>
std::uint64_t load(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

/// At most eight bytes as a number: different ones for different bytes of the same size. The two
/// loads may overlap.
std::uint64_t pack(std::string_view bytes) {
  const std::size_t size = bytes.size();
  const char* const data = bytes.data();
  if (size >= 4) {
    return load<std::uint32_t>(data) | load<std::uint32_t>(data + size - 4) << ((size - 4) * 8);
  }
  if (size >= 2) {
    return load<std::uint16_t>(data) | load<std::uint16_t>(data + size - 2) << ((size - 2) * 8);
  }
  return size == 1 ? load<std::uint8_t>(data) : 0;
}

std::uint64_t mix(std::uint64_t number) {
  number *= kMultiplier;
  return (number ^ number >> 32U) * kMultiplier;
}

}  // namespace

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

std::uint64_t TermTable::key_of(const Term& term) {
  std::string_view bytes = term.characters;
  if (bytes.size() <= kInline) return pack(bytes);
  std::uint64_t hash = bytes.size();
  for (; bytes.size() > kInline; bytes.remove_prefix(kInline)) {
    hash = mix(hash ^ load<std::uint64_t>(bytes.data()));
  }
  return mix(hash ^ pack(bytes));
}

std::size_t TermTable::first_place(std::uint64_t key, std::uint32_t kind) const {
  return static_cast<std::size_t>(mix(key ^ (std::uint64_t{kind} << 56U)) >> shift_);
}

std::size_t TermTable::place_of(std::uint64_t key, const Term& term) const {
  const std::uint32_t kind = kind_of(term);
  const std::size_t last = slots_.size() - 1;
  std::size_t place = first_place(key, kind);
  for (;; place = (place + 1) & last) {
    const Slot& slot = slots_[place];
    if (slot.number == kNone) return place;
    if (slot.key != key || slot.kind != kind) continue;
    if (term.characters.size() <= kInline) return place;
    if (this->term(slot.number).characters == term.characters) return place;
  }
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

Term TermTable::term(std::uint32_t number) const {
  const auto [begin, kind] = terms_[number];
  return {std::string_view(text_).substr(begin, kind / 2), kind % 2 == 1};
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
