#include "margrove/label_codec.hpp"

#include <algorithm>
#include <numeric>

#include "base/number_text.hpp"
#include "data/natural_order.hpp"
#include "margrove/errors.hpp"

namespace margrove {

LabelCodec::LabelCodec(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    require(!name.empty(), "labels: a label's name is empty");
    require(!find(name), "labels: the name '", name, "' occurs twice");
    add(name);
  }
}

LabelId LabelCodec::add(std::string_view name) {
  if (const auto known = find(name)) return *known;
  const auto id = static_cast<LabelId>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(names_.back(), id);
  return id;
}

std::optional<LabelId> LabelCodec::find(std::string_view name) const {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const auto number = are_numbers_ ? whole_number_text(name) : std::nullopt;
  const auto found = number ? ids_.find(*number) : ids_.end();
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void LabelCodec::add_alternative(std::string_view other, LabelId label) {
  require(!other.empty(), "labels: an alternative id is empty");
  require(!find(other), "labels: the alternative id '", other, "' stands for a label already");
  require(label < size(), "labels: the alternative id '", other, "' stands for label ", label,
          ", but there are ", size(), " labels");
  ids_.emplace(other, label);
  alternatives_.emplace_back(other, label);
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
