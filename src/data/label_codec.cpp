#include "margrove/label_codec.hpp"

#include <algorithm>
#include <numeric>

#include "base/number_text.hpp"
#include "base/text_slots.hpp"
#include "data/natural_order.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr std::uint32_t kAlternatives = std::uint32_t{1} << 31U;  // the number of the first one
}  // namespace

LabelCodec::LabelCodec(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    require(!name.empty(), "labels: a label's name is empty");
    require(!find(name), "labels: the name '", name, "' occurs twice");
    add(name);
  }
}

const std::string& LabelCodec::name(LabelId id) const {
  require(id < names_.size(), "labels: label ", id, " has no name; there are ", names_.size(),
          " labels");
  return names_[id];
}

LabelId LabelCodec::add(std::string_view name) {
  if (const auto known = find(name)) return *known;
  const auto id = static_cast<LabelId>(names_.size());
  names_.emplace_back(name);
  enter(id);
  return id;
}

std::optional<LabelId> LabelCodec::find(std::string_view name) const {
  const auto text_of = [this](std::uint32_t number) { return text(number); };
  std::uint32_t found = find_number(slots_, name, text_of);
  if (found == kFreeSlot && are_numbers_) {
    if (const auto number = whole_number_text(name)) found = find_number(slots_, *number, text_of);
  }
  if (found == kFreeSlot) return std::nullopt;
  return found < kAlternatives ? found : alternatives_[found - kAlternatives].second;
}

std::string_view LabelCodec::text(std::uint32_t number) const {
  return number < kAlternatives ? names_[number] : alternatives_[number - kAlternatives].first;
}

void LabelCodec::enter(std::uint32_t number) {
  add_number(slots_, number, names_.size() + alternatives_.size(),
             [this](std::uint32_t each) { return text(each); });
}

void LabelCodec::add_alternative(std::string_view other, LabelId label) {
  require(!other.empty(), "labels: an alternative id is empty");
  require(!find(other), "labels: the alternative id '", other, "' stands for a label already");
  require(label < size(), "labels: the alternative id '", other, "' stands for label ", label,
          ", but there are ", size(), " labels");
  const auto number = static_cast<std::uint32_t>(alternatives_.size());
  alternatives_.emplace_back(other, label);
  enter(kAlternatives + number);
}

std::vector<LabelId> natural_order(const LabelCodec& codec, WorkMeter& meter) {
  std::vector<LabelId> order(codec.size());
  std::iota(order.begin(), order.end(), LabelId{0});
  std::vector<std::int64_t> numbers;
  for (const std::string& name : codec.names()) {
    meter.add();
    const auto number = read_number<std::int64_t>(name);
    if (!number) break;
    numbers.push_back(*number);
  }
  const bool all_numbers = numbers.size() == codec.size();
  const auto less = [&](LabelId a, LabelId b) {
    if (all_numbers && numbers[a] != numbers[b]) return numbers[a] < numbers[b];
    return codec.name(a) < codec.name(b);
  };
  sort_metered(order, less, meter);
  return order;
}

}  // namespace margrove
