#include "margrove/options.hpp"

#include "base/number_text.hpp"

namespace margrove {

Range at_least(double low) {
  return {[low](double x) { return x >= low && std::isfinite(x); }, concat(">= ", low)};
}

Range between(double low, double high) {
  return {[low, high](double x) { return x >= low && x <= high; },
          concat("in [", low, ", ", high, "]")};
}

namespace detail {
namespace {
template <class Number>
Number parse_whole(std::string_view option, std::string_view text, std::string_view what) {
  const auto value = read_number<Number>(text);
  require<InvalidOption>(value.has_value(), "option ", option, " is '", text, "', but must be ",
                         what);
  return *value;
}
}  // namespace

double parse_number(std::string_view option, std::string_view text) {
  return parse_whole<double>(option, text, "a number");
}

std::int64_t parse_integer(std::string_view option, std::string_view text) {
  return parse_whole<std::int64_t>(option, text, "a whole number");
}

bool parse_switch(std::string_view option, std::string_view text) {
  if (text == "true" || text == "1" || text.empty()) return true;
  require<InvalidOption>(text == "false" || text == "0", "option ", option, " is '", text,
                         "', but must be true or false");
  return false;
}

std::string join(const std::vector<std::string>& values, std::string_view separator) {
  std::string all;
  for (const auto& value : values) {
    if (!all.empty()) all += separator;
    all += value;
  }
  return all;
}

void fail_choice(std::string_view option, std::string_view value,
                 const std::vector<std::string>& allowed) {
  throw InvalidOption(
      concat("option ", option, " is '", value, "', but must be one of ", join(allowed, ", ")));
}
}  // namespace detail

void OptionTable::append(OptionTable other, std::string_view help_prefix) {
  for (auto& e : other.entries_) {
    if (has(e.info.name)) throw std::logic_error("option declared twice: " + e.info.name);
    e.info.help.insert(0, help_prefix);
    entries_.push_back(std::move(e));
  }
}

std::vector<OptionInfo> OptionTable::list() const {
  std::vector<OptionInfo> infos;
  for (const auto& e : entries_) infos.push_back(e.info);
  return infos;
}

bool OptionTable::has(std::string_view name) const {
  for (const auto& e : entries_) {
    if (e.info.name == name) return true;
  }
  return false;
}

std::size_t OptionTable::place_of(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& e : entries_) {
    if (e.info.name == name) return known.size();
    known.push_back(e.info.name);
  }
  throw InvalidOption(concat("unknown option ", name, "; known: ", detail::join(known, ", ")));
}

void OptionTable::set(std::string_view name, std::string_view value) {
  Entry& entry = entries_[place_of(name)];
  entry.set(value);
  entry.is_given = true;
}
std::string OptionTable::get(std::string_view name) const { return entries_[place_of(name)].get(); }
bool OptionTable::is_given(std::string_view name) const {
  return entries_[place_of(name)].is_given;
}

void OptionTable::validate() const {
  for (const auto& e : entries_) e.validate();
}

}  // namespace margrove
