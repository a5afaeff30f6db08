#pragma once
// Objects of JSON with many keys.

#include <cstddef>
#include <nlohmann/ordered_map.hpp>
#include <unordered_map>
#include <utility>

namespace margrove {

/// The members of an object in their order, as nlohmann::ordered_map, which compares a key with all
/// before it; here a key takes constant time. Members are added and found, but not erased.
template <class Key, class T, class Less, class Allocator>
class IndexedMap : public nlohmann::ordered_map<Key, T, Less, Allocator> {
  using Base = nlohmann::ordered_map<Key, T, Less, Allocator>;

 public:
  using typename Base::const_iterator;
  using typename Base::iterator;

  IndexedMap() = default;

  std::pair<iterator, bool> emplace(const Key& key, T&& value) {
    const std::size_t place = place_of(key);
    const bool is_new = place == this->size();
    if (is_new) {
      this->emplace_back(key, std::move(value));
      add_to_index();
    }
    return {this->begin() + static_cast<std::ptrdiff_t>(place), is_new};
  }
  T& operator[](const Key& key) { return emplace(key, T{}).first->second; }
  iterator find(const Key& key) {
    return this->begin() + static_cast<std::ptrdiff_t>(place_of(key));
  }
  const_iterator find(const Key& key) const {
    return this->begin() + static_cast<std::ptrdiff_t>(place_of(key));
  }

 private:
  static constexpr std::size_t kFew = 16;  // keys, which need no index

  /// The number of members if there is no such key.
  std::size_t place_of(const Key& key) const {
    if (!places_.empty()) {
      const auto found = places_.find(key);
      return found == places_.end() ? this->size() : found->second;
    }
    std::size_t place = 0;
    while (place < this->size() && !(this->data()[place].first == key)) ++place;
    return place;
  }
  void add_to_index() {
    if (this->size() <= kFew) return;
    for (std::size_t k = places_.size(); k < this->size(); ++k) {
      places_.emplace(this->data()[k].first, k);
    }
  }

  std::unordered_map<Key, std::size_t> places_;  // empty where the keys are few
};

}  // namespace margrove
