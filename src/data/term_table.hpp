#pragma once
// A hash table of terms, which numbers them in the order in which they come.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace margrove {

/// A term of a text: words with a blank between them, or characters of one word.
struct Term {
  std::string_view characters;
  bool is_run = false;  // of characters of a word

  /// As in vocabularies: runs of characters stand in apostrophes, which words do not have.
  std::string name() const;
  static Term of_name(std::string_view name);
};

namespace detail {

template <class Number>
std::uint64_t load(const char* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

/// At most eight bytes as a number: different ones for different bytes of the same size. The two
/// loads may overlap.
inline std::uint64_t pack(std::string_view bytes) {
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

inline std::uint64_t mix(std::uint64_t number) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;  // 2^64 / the golden ratio
  number *= kMultiplier;
  return (number ^ number >> 32U) * kMultiplier;
}

}  // namespace detail

/// A term of at most eight bytes, as most runs of characters are, lies in its slot, so that it is
/// found with one access to memory. The bytes of longer ones lie one after the other in a text. At
/// least half of the slots are free, 16 bytes each; collisions go to the next slot.
class TermTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  /// A table that holds `num_terms` terms without growing.
  explicit TermTable(std::size_t num_terms = 0);
  std::size_t size() const { return terms_.size(); }
  /// The bytes of a short term, a hash of a long one. O(bytes of the term).
  static std::uint64_t key_of(const Term& term);
  /// The number of the term, or kNone.
  std::uint32_t find(const Term& term, std::uint64_t key) const {
    return slots_[place_of(key, term)].number;
  }
  std::uint32_t find(const Term& term) const { return find(term, key_of(term)); }
  /// The number of the term, which is added with the next number if it is new.
  std::uint32_t find_or_add(const Term& term, std::uint64_t key);
  std::uint32_t find_or_add(const Term& term) { return find_or_add(term, key_of(term)); }
  /// Lets the memory of the term's slot be fetched, because it is looked up soon.
  void prefetch(const Term& term, std::uint64_t key) const {
    __builtin_prefetch(&slots_[first_place(key, kind_of(term))]);
  }
  /// The term of a number. It is valid until the next one is added.
  Term term(std::uint32_t number) const;

 private:
  struct Slot {
    std::uint64_t key;  // key_of(term)
    std::uint32_t number;
    std::uint32_t kind;  // the size, times 2, plus 1 for a run of characters
  };
  struct Bytes {
    std::size_t begin;
    std::uint32_t kind;
  };
  static constexpr std::size_t kInline = sizeof(Slot::key);

  static std::uint32_t kind_of(const Term& term) {
    return static_cast<std::uint32_t>(term.characters.size() * 2 + (term.is_run ? 1 : 0));
  }
  /// The slot of the term, or the free slot where it belongs.
  std::size_t place_of(std::uint64_t key, const Term& term) const;
  std::size_t first_place(std::uint64_t key, std::uint32_t kind) const {
    return static_cast<std::size_t>(detail::mix(key ^ (std::uint64_t{kind} << 56U)) >> shift_);
  }
  void grow();

  std::vector<Slot> slots_;  // a power of 2
  int shift_;                // 64 - log2 of the number of slots
  std::vector<Bytes> terms_;
  std::string text_;
};

// These are done for each term of each text, and so are inline.

inline std::uint64_t TermTable::key_of(const Term& term) {
  std::string_view bytes = term.characters;
  if (bytes.size() <= kInline) return detail::pack(bytes);
  std::uint64_t hash = bytes.size();
  for (; bytes.size() > kInline; bytes.remove_prefix(kInline)) {
    hash = detail::mix(hash ^ detail::load<std::uint64_t>(bytes.data()));
  }
  return detail::mix(hash ^ detail::pack(bytes));
}

inline Term TermTable::term(std::uint32_t number) const {
  const auto [begin, kind] = terms_[number];
  return {std::string_view(text_).substr(begin, kind / 2), kind % 2 == 1};
}

inline std::size_t TermTable::place_of(std::uint64_t key, const Term& term) const {
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

/// Calls visit(term, key) a few steps after the terms come, while memory fetches their slots of a
/// table.
template <class Visit>
class DelayedTerms {
 public:
  DelayedTerms(const TermTable& table, Visit visit) : table_(table), visit_(std::move(visit)) {}
  void add(const Term& term) {
    Keyed& place = terms_[num_added_ % kDelay];
    if (num_added_ >= kDelay) visit_(place.term, place.key);
    place = {term, TermTable::key_of(term)};
    table_.prefetch(place.term, place.key);
    ++num_added_;
  }
  /// Visits those that are left; terms need not be valid any longer.
  void finish() {
    for (std::size_t k = num_added_ > kDelay ? num_added_ - kDelay : 0; k < num_added_; ++k) {
      visit_(terms_[k % kDelay].term, terms_[k % kDelay].key);
    }
    num_added_ = 0;
  }

 private:
  static constexpr std::size_t kDelay = 16;
  struct Keyed {
    Term term;
    std::uint64_t key = 0;
  };
  const TermTable& table_;
  Visit visit_;
  std::array<Keyed, kDelay> terms_;
  std::size_t num_added_ = 0;
};

}  // namespace margrove
