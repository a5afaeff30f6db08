#include "margrove/common_options.hpp"

#include <cmath>

#include "base/automatic_number.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {

LossWeight LossWeight::parse(std::string_view text) {
  if (text == kAutomatic) return {};
  const LossWeight weight = parse_number("C", text);
  weight.validate();
  return weight;
}

std::string LossWeight::to_text() const { return automatic_number_text(value); }

void LossWeight::validate() const {
  require<InvalidOption>(!value || (*value > 0 && std::isfinite(*value)), "option C is ", to_text(),
                         ", but must be auto or > 0");
}

}  // namespace margrove::detail
