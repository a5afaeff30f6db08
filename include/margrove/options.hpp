#pragma once
// One table per options struct: its fields' names, ranges and help. Validation, --help, the Python
// signatures and the reference page all walk it; defaults live only in the struct.
//
//   struct SgdOptions {
//     double C = 1.0;
//     int max_passes = 100;
//     static auto fields() {
//       return std::tuple{
//           field("C", &SgdOptions::C, positive, "loss weight"),
//           field("max_passes", &SgdOptions::max_passes, at_least(1), "passes over the data"),
//       };
//     }
//   };

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/errors.hpp"

namespace margrove MARGROVE_API {

/// A range of numbers and its text.
struct Range {
  std::function<bool(double)> holds;
  std::string text;
};
inline const Range positive{[](double x) { return x > 0 && std::isfinite(x); }, "> 0"};
inline const Range non_negative{[](double x) { return x >= 0 && std::isfinite(x); }, ">= 0"};
Range at_least(double low);
Range between(double low, double high);  // both included

namespace detail {
/// The values of a text option.
struct Choices {
  std::vector<std::string> values;  // empty: any text
};
}  // namespace detail

/// One value of an enumeration and its name in options and files.
template <class E>
struct EnumName {
  E value;
  std::string_view name;
};
// Compilers without C++20's deduction for aggregates (clang 16) need it.
template <class E>
EnumName(E, std::string_view) -> EnumName<E>;
/// The names of all values of an enumeration, in the order of help pages. An enumeration that is an
/// option specialises it, before the struct that has the option:
///
///   template <>
///   inline constexpr auto kEnumNames<Solver> =
///       std::array{EnumName{Solver::bcfw, "bcfw"}, EnumName{Solver::sgd, "sgd"}};
template <class E>
inline constexpr auto kEnumNames = nullptr;
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires { kEnumNames<E>.size(); };

/// The name of `value`; every value must be in the table.
template <NamedEnum E>
std::string_view name_of(E value) {
  for (const auto& each : kEnumNames<E>) {
    if (each.value == value) return each.name;
  }
  return {};
}

namespace detail {
struct AnyText {};
/// The text of an option of type std::optional that has no number.
inline constexpr std::string_view kAutomatic = "auto";
template <class T>
inline constexpr bool kIsOptionalNumber = false;
template <class Number>
inline constexpr bool kIsOptionalNumber<std::optional<Number>> = std::is_arithmetic_v<Number>;
template <class T>
concept OptionalNumber = kIsOptionalNumber<T>;
/// A type of option with a text of its own, such as the rule of the node weights: parse() throws
/// InvalidOption, and parse(to_text()) is the same value. If it has a member validate(), that is
/// called, too.
template <class T>
concept TextOption = requires(const T& value, std::string_view text) {
  { T::parse(text) } -> std::same_as<T>;
  { value.to_text() } -> std::same_as<std::string>;
};
}  // namespace detail

/// What front ends show of one option.
struct OptionInfo {
  std::string name;           // snake_case; the CLI writes --name with dashes
  std::string type;           // "number", "integer", "switch", "choice", "text"
  std::string default_value;  // as text
  std::string range;          // "> 0", "hinge | squared-hinge", ...
  std::string help;
};

template <class Struct, class Value, class Constraint>
struct Field {
  std::string_view name;
  Value Struct::*member;
  Constraint constraint;
  std::string help;
};

template <class Struct, class Value>
  requires std::is_arithmetic_v<Value>
Field<Struct, Value, Range> field(std::string_view name, Value Struct::*member, Range range,
                                  std::string help) {
  return {name, member, std::move(range), std::move(help)};
}
/// A number of the range, or none: `auto`.
template <class Struct, class Number>
  requires std::is_arithmetic_v<Number>
Field<Struct, std::optional<Number>, Range> field(std::string_view name,
                                                  std::optional<Number> Struct::*member,
                                                  Range range, std::string help) {
  range.text = concat(detail::kAutomatic, " or ", range.text);
  return {name, member, std::move(range), std::move(help)};
}
template <class Struct>
Field<Struct, bool, Range> field(std::string_view name, bool Struct::*member, std::string help) {
  return {name, member, Range{[](double) { return true; }, "true | false"}, std::move(help)};
}
template <class Struct>
Field<Struct, std::string, detail::Choices> field(std::string_view name,
                                                  std::string Struct::*member,
                                                  detail::Choices choices, std::string help) {
  return {name, member, std::move(choices), std::move(help)};
}
template <class Struct, NamedEnum E>
Field<Struct, E, detail::Choices> field(std::string_view name, E Struct::*member,
                                        std::string help) {
  detail::Choices choices;
  for (const auto& each : kEnumNames<E>) choices.values.emplace_back(each.name);
  return {name, member, std::move(choices), std::move(help)};
}
/// Only some values of an enumeration.
template <class Struct, NamedEnum E>
Field<Struct, E, detail::Choices> field(std::string_view name, E Struct::*member,
                                        std::initializer_list<E> allowed, std::string help) {
  detail::Choices choices;
  for (const E value : allowed) choices.values.emplace_back(name_of(value));
  return {name, member, std::move(choices), std::move(help)};
}
template <class Struct, detail::TextOption T>
Field<Struct, T, detail::AnyText> field(std::string_view name, T Struct::*member,
                                        std::string help) {
  return {name, member, detail::AnyText{}, std::move(help)};
}

namespace detail {
double parse_number(std::string_view option, std::string_view text);
std::int64_t parse_integer(std::string_view option, std::string_view text);
bool parse_switch(std::string_view option, std::string_view text);
std::string join(const std::vector<std::string>& values, std::string_view separator);
[[noreturn]] void fail_choice(std::string_view option, std::string_view value,
                              const std::vector<std::string>& allowed);

/// The value named `text` if it is among those allowed; throws InvalidOption otherwise.
template <NamedEnum E>
E parse_choice(std::string_view option, std::string_view text,
               const std::vector<std::string>& allowed) {
  for (const auto& each : kEnumNames<E>) {
    if (each.name != text) continue;
    for (const std::string& name : allowed) {
      if (name == text) return each.value;
    }
  }
  fail_choice(option, text, allowed);
}

/// `text` as a value whose range is not checked yet.
template <class Value, class Constraint>
Value parse_value(std::string_view option, std::string_view text, const Constraint& constraint) {
  if constexpr (std::is_same_v<Value, bool>) {
    return parse_switch(option, text);
  } else if constexpr (std::is_integral_v<Value>) {
    const std::int64_t parsed = parse_integer(option, text);
    require<InvalidOption>(std::in_range<Value>(parsed), "option ", option, " is ", text,
                           ", which is out of range");
    return static_cast<Value>(parsed);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(parse_number(option, text));
  } else if constexpr (OptionalNumber<Value>) {
    if (text == kAutomatic) return std::nullopt;
    return parse_value<typename Value::value_type>(option, text, constraint);
  } else if constexpr (detail::TextOption<Value>) {
    return Value::parse(text);
  } else if constexpr (NamedEnum<Value>) {
    return parse_choice<Value>(option, text, constraint.values);
  } else {
    return Value(text);
  }
}

/// The text of OptionInfo::type.
template <class Value>
constexpr std::string_view option_type(bool has_choices) {
  if (std::is_same_v<Value, bool>) return "switch";
  if (std::is_integral_v<Value>) return "integer";
  if (std::is_floating_point_v<Value>) return "number";
  if constexpr (OptionalNumber<Value>) return option_type<typename Value::value_type>(has_choices);
  return has_choices && !detail::TextOption<Value> ? "choice" : "text";
}
}  // namespace detail

/// The value named `text`. Throws InvalidOption listing all names.
template <NamedEnum E>
E parse_enum(std::string_view option, std::string_view text) {
  std::vector<std::string> names;
  for (const auto& each : kEnumNames<E>) names.emplace_back(each.name);
  return detail::parse_choice<E>(option, text, names);
}

/// The options of one algorithm behind one interface, so that front ends need not know the struct.
class OptionTable {
 public:
  /// Refers to `options`, which must outlive the table.
  template <class Struct>
  explicit OptionTable(Struct& options) : OptionTable(options, Struct::fields()) {}
  /// A table of the given fields, for structs of which not all fields belong to the table or some
  /// are known at run time only.
  template <class Struct, class... Fields>
  OptionTable(Struct& options, const std::tuple<Fields...>& fields) {
    const Struct defaults = Struct();
    std::apply([&](const auto&... each) { (add(options, defaults, each), ...); }, fields);
  }
  /// Appends another struct's options; both must outlive the table. Names must not repeat.
  /// help_prefix: put before each help text.
  void append(OptionTable other, std::string_view help_prefix = {});

  std::vector<OptionInfo> list() const;
  bool has(std::string_view name) const;
  /// Throws InvalidOption: unknown name (listing the known ones), not a number, out of range.
  void set(std::string_view name, std::string_view value);
  /// The present value as text that set() takes back to the same value.
  std::string get(std::string_view name) const;
  /// Whether set() has set it.
  bool is_given(std::string_view name) const;
  /// Throws InvalidOption naming the first option that is out of range.
  void validate() const;

 private:
  struct Entry {
    OptionInfo info;
    std::function<void(std::string_view)> set;
    std::function<std::string()> get;
    std::function<void()> validate;
    bool is_given = false;
  };
  std::size_t place_of(std::string_view name) const;  // in entries_; throws for an unknown name

  // A field may belong to a base class of Struct.
  template <class Struct, class Owner, class Value, class Constraint>
  void add(Struct& options, const Struct& defaults, const Field<Owner, Value, Constraint>& f) {
    Value* value = &(options.*f.member);
    const std::string name(f.name);
    Entry e;
    std::string range;
    if constexpr (std::is_same_v<Constraint, Range>) {
      range = f.constraint.text;
    } else if constexpr (std::is_same_v<Constraint, detail::Choices>) {
      range = detail::join(f.constraint.values, " | ");
    }
    e.info = {name, std::string(detail::option_type<Value>(!range.empty())),
              to_text(defaults.*f.member), range, f.help};
    const auto check = [value, name, constraint = f.constraint] {
      if constexpr (std::is_same_v<Constraint, Range>) {
        require<InvalidOption>(is_in(constraint, *value), "option ", name, " is ", to_text(*value),
                               ", but must be ", constraint.text);
      } else if constexpr (std::is_same_v<Constraint, detail::Choices>) {
        const std::string text = to_text(*value);
        const auto& allowed = constraint.values;
        if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
          detail::fail_choice(name, text, allowed);
        }
      } else if constexpr (requires { value->validate(); }) {
        std::ignore = std::tie(name, constraint);
        value->validate();
      } else {
        std::ignore = std::tie(value, name, constraint);  // any value is allowed
      }
    };
    e.set = [value, name, check, constraint = f.constraint](std::string_view text) {
      *value = detail::parse_value<Value>(name, text, constraint);
      check();
    };
    e.get = [value] { return to_text(*value); };
    e.validate = check;
    entries_.push_back(std::move(e));
  }

  template <class Number>
  static bool is_in(const Range& range, Number value) {
    return range.holds(static_cast<double>(value));
  }
  template <class Number>
  static bool is_in(const Range& range, const std::optional<Number>& value) {
    return !value || is_in(range, *value);
  }

  static std::string to_text(bool value) { return value ? "true" : "false"; }
  static std::string to_text(const std::string& value) { return value; }
  template <NamedEnum E>
  static std::string to_text(E value) {
    return std::string(name_of(value));
  }
  template <detail::TextOption T>
  static std::string to_text(const T& value) {
    return value.to_text();
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  static std::string to_text(Number value) {
    return concat(value);
  }
  template <class Number>
  static std::string to_text(const std::optional<Number>& value) {
    return value ? to_text(*value) : std::string(detail::kAutomatic);
  }

  std::vector<Entry> entries_;
};

/// Throws InvalidOption naming the first field of `options` that is out of range.
template <class Struct>
void validate(const Struct& options) {
  Struct copy = options;
  OptionTable(copy).validate();
}

}  // namespace margrove
