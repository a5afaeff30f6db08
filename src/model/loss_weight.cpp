#include "model/loss_weight.hpp"

#include <cmath>

#include "base/automatic_number.hpp"
#include "data/column_scale.hpp"
#include "data/csr_operations.hpp"
#include "margrove/common_options.hpp"
#include "margrove/errors.hpp"

namespace margrove {

namespace detail {

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

}  // namespace detail

double automatic_loss_weight(const TrainingSet& data, LossWeightRule rule) {
  double squares = 0, rows = 0;
  for (std::size_t i = 0; i < data.X.num_rows(); ++i) {
    const double weight = data.row_weights.empty() ? 1 : data.row_weights[i];
    squares += weight * squared_norm(data.X.row(i));
    rows += weight;
  }
  const bool is_scaled =
      data.kernel_features != nullptr || has_scaled_columns(data.X, data.row_weights);
  const double exact = (is_scaled ? rule.of_scaled_columns : rule.of_other_rows) * rows / squares;
  if (!std::isfinite(exact) || exact <= 0 || (exact < 1 && !is_scaled)) return 1;
  // Rows of norm 1 have k, although their numbers are rounded.
  const double unit = std::pow(10, std::floor(std::log10(exact)) - 2);
  return std::round(exact / unit) * unit;
}

}  // namespace margrove
